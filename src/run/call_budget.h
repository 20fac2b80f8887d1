// The memory and work that one call may take. Both grow with the bytes of the file and of the
// call's inputs: a small file stays cheap, and a large model needs no options.
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

// Returns the bytes of the records as stored in the file. For an early draft, adds the bytes of its
// tensors, which may be in files beside it.
uint64_t file_bytes(const Package& package, std::string_view model, const Payloads& payloads);

// Returns the bytes of the tensors' storages.
uint64_t bytes_of(std::span<const Value> values);

// Returns the bytes of the session's file, plus those of the inputs if its options let inputs raise
// limits.
uint64_t budget_bytes(const Session& session, std::span<const Value> inputs);

// Returns a new account, or the current one if that spans calls.
std::shared_ptr<MemoryAccount> open_account(const Limits& limits, uint64_t bytes);

// Returns the current account if it spans calls; else null.
std::shared_ptr<MemoryAccount> account_of_calls();

// Returns one account for calls on the same inputs whose results are held together: every call that
// runs while the account is current uses it. It allows the memory of one call of the most generous
// session, and the work of one call of each session. Returns the current account if that spans
// calls.
std::shared_ptr<MemoryAccount> open_account_of_calls(std::initializer_list<const Session*> sessions,
                                                     std::span<const Value> inputs);

// Returns one account for many calls, which together may compute `times` as much as one call.
std::shared_ptr<MemoryAccount> open_account_of_calls(const Limits& limits, uint64_t bytes,
                                                     uint64_t times);

// Returns `limits` with max_work scaled for one run.
Limits scaled_limits(Limits limits, uint64_t bytes);

}  // namespace pt2::run

#endif  // PT2_RUN_CALL_BUDGET_H
