// The memory that one call may hold at a time, counted by storages and by the working memory of
// kernels. The account belongs to the thread, so functions far below the call need no parameter for
// it. Exceeding it throws std::bad_alloc, as if the machine had no more memory; the caller
// (ops::call, Session::run) turns that into an error `limit`. The account also bounds the work that
// kernels are about to do.
#ifndef PT2_BASE_MEMORY_ACCOUNT_H
#define PT2_BASE_MEMORY_ACCOUNT_H

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "pt2/result.h"

namespace pt2 {

// Thrown if a call would compute more than it may.
struct WorkExceeded {};

class MemoryAccount {
 public:
  // `max_work`: Limits::max_work. With `spans_calls`, calls made while the account is current use
  // it instead of accounts of their own, and together compute at most `max_work`.
  explicit MemoryAccount(uint64_t limit, uint64_t max_work = UINT64_MAX, bool spans_calls = false)
      : limit_(limit), max_work_(max_work), spans_calls_(spans_calls) {}
  // Throws std::bad_alloc, and counts nothing, if the bytes exceed the limit.
  void take(uint64_t bytes);
  void give_back(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t left() const;
  uint64_t limit() const { return limit_; }
  bool spans_calls() const { return spans_calls_; }
  // What further calls may compute, and the note of what a call has computed.
  uint64_t work_left() const;
  void add_call(uint64_t work) { work_of_calls_.fetch_add(work, std::memory_order_relaxed); }

  // The account of this thread's running call; null outside of one. Memory taken from it keeps it
  // alive.
  static std::shared_ptr<MemoryAccount> current();

  // Counts work, in elements, that the sizes of a node's operands and results do not show:
  // operators that run inside of others, products, windows. Call it before the work is done. Throws
  // WorkExceeded if the work exceeds the limit. Does nothing outside of a call.
  static void count_work(uint64_t elements);
  // Returns the work counted by count_work for all calls of the thread's account.
  static uint64_t inner_work();

  // Steps of an innermost loop that take as long as an element, which is about a nanosecond.
  static constexpr uint64_t kScalarSteps = 2;
  static constexpr int64_t kLanes = 16;
  // Counts multiply-adds of floats in nested loops of these extents. Kernels compute `lanes`
  // results side by side, if there are as many.
  static void count_products(std::initializer_list<int64_t> extents, int64_t lanes = kLanes) {
    constexpr uint64_t kVectors = 4;
    count_loops(extents, kVectors * static_cast<uint64_t>(std::clamp(lanes, int64_t{1}, kLanes)));
  }
  // Counts any nested loops.
  static void count_loops(std::initializer_list<int64_t> extents, uint64_t steps_for_element);

  // "max_tensor_bytes and max_tensor_ratio allow (1000 bytes)", for the current account.
  static std::string limit_text();
  // "the program computes more than max_work allows (1000 elements)".
  static std::string work_text(uint64_t max_work);
  static std::string work_text();

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
  uint64_t max_work_;
  bool spans_calls_;
  std::atomic<uint64_t> used_{0};  // a storage may end its life on another thread
  std::atomic<uint64_t> inner_work_{0};
  std::atomic<uint64_t> work_of_calls_{0};
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
  // Throws std::bad_alloc if the bytes exceed the limit.
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

// Returns the Result of `function`, or the error `limit` at `where` if it needs more memory, or
// computes more, than allowed.
template <class F>
auto within_memory(F&& function, std::string where = "") -> decltype(function()) {
  try {
    return function();
  } catch (const WorkExceeded&) {
    return Error{ErrorCode::limit, MemoryAccount::work_text(), std::move(where)};
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  return Error{ErrorCode::limit, "needs more memory than " + MemoryAccount::limit_text(),
               std::move(where)};
}

// Working memory whose size the arguments of a call decide.
template <class T>
using Scratch = std::vector<T, AccountedAllocator<T>>;

}  // namespace pt2

#endif  // PT2_BASE_MEMORY_ACCOUNT_H
