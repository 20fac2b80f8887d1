// The memory that one call may hold at a time, counted where it is taken: by storages and by the
// working memory of kernels. The account belongs to the thread, so that functions far below the
// call need no parameter for it, which one of them could forget to pass on. Exceeding it throws
// std::bad_alloc, as if the machine had no more memory; the caller (ops::call, Session::run) turns
// that into an error `limit`.
#ifndef PT2_BASE_MEMORY_ACCOUNT_H
#define PT2_BASE_MEMORY_ACCOUNT_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "pt2/result.h"

namespace pt2 {

class MemoryAccount {
 public:
  explicit MemoryAccount(uint64_t limit) : limit_(limit) {}
  // Throws std::bad_alloc, and counts nothing, when it would be too much.
  void take(uint64_t bytes);
  void give_back(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t left() const;
  uint64_t limit() const { return limit_; }

  // The account of this thread's running call; null outside of one. Memory taken from it keeps it
  // alive.
  static std::shared_ptr<MemoryAccount> current();

  // Operators that ran inside of other operators of the current call, which its graph does not show
  // (Limits::max_work). They count for every call of the thread's account; 0 outside of one.
  static void count_inner_operator();
  static uint64_t inner_operators();

  // "max_tensor_bytes and max_tensor_ratio allow (1000 bytes)", for the current account.
  static std::string limit_text();

  // Makes an account the current one while the object lives.
  class Scope {
   public:
    explicit Scope(std::shared_ptr<MemoryAccount> account);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    std::shared_ptr<MemoryAccount> account_;
    const std::shared_ptr<MemoryAccount>* outer_;
  };

 private:
  uint64_t limit_;
  std::atomic<uint64_t> used_{0};  // a storage may end its life on another thread
  std::atomic<uint64_t> inner_operators_{0};
};

// A charge for memory besides storages and working memory, returned when this goes out of scope.
class MemoryCharge {
 public:
  MemoryCharge() : account_(MemoryAccount::current()) {}
  ~MemoryCharge() {
    if (account_ != nullptr) account_->give_back(bytes_);
  }
  MemoryCharge(const MemoryCharge&) = delete;
  MemoryCharge& operator=(const MemoryCharge&) = delete;
  // Throws std::bad_alloc when it would be too much.
  void add(uint64_t bytes) {
    if (account_ == nullptr) return;
    account_->take(bytes);
    bytes_ += bytes;
  }

 private:
  std::shared_ptr<MemoryAccount> account_;
  uint64_t bytes_ = 0;
};

// Takes memory from the account that is current when the container is made.
template <class T>
class AccountedAllocator {
 public:
  using value_type = T;
  AccountedAllocator() : account_(MemoryAccount::current()) {}
  template <class U>
  AccountedAllocator(const AccountedAllocator<U>& other) : account_(other.account()) {}
  T* allocate(size_t count) {
    if (count > std::numeric_limits<size_t>::max() / sizeof(T)) throw std::bad_alloc();
    if (account_ != nullptr) account_->take(count * sizeof(T));
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* memory, size_t count) {
    std::allocator<T>().deallocate(memory, count);
    if (account_ != nullptr) account_->give_back(count * sizeof(T));
  }
  const std::shared_ptr<MemoryAccount>& account() const { return account_; }
  template <class U>
  bool operator==(const AccountedAllocator<U>& other) const {
    return account_ == other.account();
  }

 private:
  std::shared_ptr<MemoryAccount> account_;
};

// Returns the Result of `function`, or the error `limit` where it needs more memory than allowed.
template <class F>
auto within_memory(F&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return Error{ErrorCode::limit, "needs more memory than " + MemoryAccount::limit_text(), ""};
}

// Working memory whose size the arguments of a call decide.
template <class T>
using Scratch = std::vector<T, AccountedAllocator<T>>;

}  // namespace pt2

#endif  // PT2_BASE_MEMORY_ACCOUNT_H
