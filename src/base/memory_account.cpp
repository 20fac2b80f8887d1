#include "base/memory_account.h"

#include <algorithm>

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

std::shared_ptr<MemoryAccount> MemoryAccount::current() {
  return current_account == nullptr ? nullptr : *current_account;
}

void MemoryAccount::count_inner_operator() {
  if (current_account != nullptr)
    (*current_account)->inner_operators_.fetch_add(1, std::memory_order_relaxed);
}

uint64_t MemoryAccount::inner_operators() {
  if (current_account == nullptr) return 0;
  return (*current_account)->inner_operators_.load(std::memory_order_relaxed);
}

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
