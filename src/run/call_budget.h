// The memory and work that one call may take. Both grow with the bytes of the file and of the
// call's inputs: a small file stays cheap, and a large model needs no option.
#ifndef PT2_RUN_CALL_BUDGET_H
#define PT2_RUN_CALL_BUDGET_H

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>

#include "base/memory_account.h"
#include "pt2/limits.h"
#include "pt2/model.h"
#include "pt2/package.h"
#include "pt2/value.h"

namespace pt2::run {

// The bytes of the records as stored in the file; for an early draft also those of its tensors,
// which may be in files beside it.
uint64_t file_bytes(const Package& package, std::string_view model, const Payloads& payloads);

// The bytes of the tensors' storages.
uint64_t bytes_of(std::span<const Value> values);

// The bytes of the session's file, and of the inputs if its options let them raise limits.
uint64_t budget_bytes(const Session& session, std::span<const Value> inputs);

// A new account, or the current one if that spans calls.
std::shared_ptr<MemoryAccount> open_account(const Limits& limits, uint64_t bytes);

// For calls on the same inputs whose results are held together: one account for all that run while
// it is current. It allows what the most generous session allows a single call.
std::shared_ptr<MemoryAccount> open_account_of_calls(std::initializer_list<const Session*> sessions,
                                                     std::span<const Value> inputs);

// `limits` with the work that one run may do.
Limits scaled_limits(Limits limits, uint64_t bytes);

}  // namespace pt2::run

#endif  // PT2_RUN_CALL_BUDGET_H
