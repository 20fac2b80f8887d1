#include "base/memory_account.h"

#include <algorithm>

#include "base/platform.h"

namespace pt2 {
namespace {

constinit thread_local const std::shared_ptr<MemoryAccount>* current_account = nullptr;

}  // namespace

void MemoryAccount::take(uint64_t bytes) {
  uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (used > limit_ || bytes > limit_ - used) throw std::bad_alloc();
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
}

uint64_t MemoryAccount::left() const {
  return limit_ - std::min(limit_, used_.load(std::memory_order_relaxed));
}

uint64_t MemoryAccount::work_left() const {
  return max_work_ - std::min(max_work_, work_of_calls_.load(std::memory_order_relaxed));
}

std::shared_ptr<MemoryAccount> MemoryAccount::current() {
  return current_account == nullptr ? nullptr : *current_account;
}

void MemoryAccount::count_work(uint64_t elements) {
  if (current_account == nullptr) return;
  MemoryAccount& account = **current_account;
  const uint64_t done = account.inner_work_.load(std::memory_order_relaxed);
  if (done > account.max_work_ || elements > account.max_work_ - done) throw WorkExceeded();
  account.inner_work_.fetch_add(elements, std::memory_order_relaxed);
}

void MemoryAccount::count_loops(std::initializer_list<int64_t> extents,
                                uint64_t steps_for_element) {
  uint64_t steps = 1;
  for (const int64_t extent : extents) {
    if (extent <= 0) return;
    steps = saturating_product(steps, static_cast<uint64_t>(extent));
  }
  count_work(steps / steps_for_element);
}

uint64_t MemoryAccount::inner_work() {
  if (current_account == nullptr) return 0;
  return (*current_account)->inner_work_.load(std::memory_order_relaxed);
}

std::string MemoryAccount::work_text(uint64_t max_work) {
  return "the program computes more than max_work allows (" + std::to_string(max_work) +
         " elements)";
}

std::string MemoryAccount::work_text() { return work_text((*current_account)->max_work_); }

std::string MemoryAccount::limit_text() {
  if (current_account == nullptr) return "there is";
  return "max_tensor_bytes and max_tensor_ratio allow (" +
         std::to_string((*current_account)->limit()) + " bytes)";
}

MemoryAccount::Scope::Scope(std::shared_ptr<MemoryAccount> account)
    : account_(std::move(account)), outer_(current_account) {
  current_account = &account_;
}

MemoryAccount::Scope::~Scope() { current_account = outer_; }

}  // namespace pt2
