// What a call may hold and compute. Both grow with the bytes of the file and of the call's inputs,
// so that a small file stays cheap and a large model needs no option.
#ifndef PT2_RUN_CALL_BUDGET_H
#define PT2_RUN_CALL_BUDGET_H

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/memory_account.h"
#include "pt2/limits.h"
#include "pt2/package.h"
#include "pt2/value.h"

namespace pt2::run {

// Of the records as they lie in the file, which an early draft may have beside it.
uint64_t file_bytes(const Package& package, std::string_view model, const Payloads& payloads);

// Of the storages of tensors.
uint64_t bytes_of(std::span<const Value> values);

std::shared_ptr<MemoryAccount> open_account(const Limits& limits, uint64_t bytes);

// The same limits with the work that one run may do.
Limits scaled_limits(Limits limits, uint64_t bytes);

}  // namespace pt2::run

#endif  // PT2_RUN_CALL_BUDGET_H
