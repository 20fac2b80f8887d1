// A repeated call gives the same bits, also when several threads make it concurrently. The
// reference executor itself runs on the calling thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "ops/conformance.h"
#include "ops/pointwise/copying.h"
#include "ops/table.h"

namespace pt2::ops {
namespace {

using Bytes = std::vector<std::byte>;

void append_bits(const Value& value, Bytes& out) {
  if (const auto* tensor = value.get_if<Tensor>()) {
    const size_t begin = out.size();
    out.resize(begin + static_cast<size_t>(tensor->nbytes()));
    copy_to_contiguous(*tensor, out.data() + begin);
  } else if (const auto* list = value.get_if<Value::List>()) {
    for (const Value& item : *list) append_bits(item, out);
  } else if (const auto* number = value.get_if<double>()) {
    const auto* bytes = reinterpret_cast<const std::byte*>(number);
    out.insert(out.end(), bytes, bytes + sizeof *number);
  } else {
    for (char c : value.type_text()) out.push_back(static_cast<std::byte>(c));
  }
}

// Copies an argument: calls may write to it, and threads must not see each other's writes.
Value copied(const Value& value) {
  if (const auto* tensor = value.get_if<Tensor>()) return Value(tensor->clone());
  if (const auto* list = value.get_if<Value::List>()) {
    Value::List items;
    for (const Value& item : *list) items.push_back(copied(item));
    return Value(std::move(items));
  }
  return value;
}

// Returns the bits of the call's results. Uninitialised memory is zero here, so even `empty` gives
// the same bits each time.
Bytes bits_of(const RecordedCall& call) {
  std::vector<Value> arguments;
  for (const Value& argument : call.arguments) arguments.push_back(copied(argument));
  Context context;
  context.seed = 7;
  Bytes out;
  const auto results = ops::call(find_operator(call.target), context, arguments);
  if (!results) return out;
  for (const Value& result : *results) append_bits(result, out);
  for (const Value& argument : arguments) append_bits(argument, out);
  return out;
}

TEST(Repetition, GivesTheSameBitsOnEveryThread) {
  const std::vector<RecordedCall> calls = read_recorded_folder(std::string(PT2_TEST_DATA) + "/ops");
  ASSERT_GT(calls.size(), 1000u);
  std::vector<Bytes> first;
  for (const RecordedCall& call : calls) first.push_back(bits_of(call));
  constexpr size_t kThreads = 4;
  std::vector<std::vector<std::string>> different(kThreads);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      // Each thread starts at a different call, so different operators run concurrently.
      for (size_t i = 0; i < calls.size(); ++i) {
        const size_t at = (i + t * calls.size() / kThreads) % calls.size();
        if (bits_of(calls[at]) != first[at]) different[t].push_back(calls[at].target);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& targets : different)
    for (const std::string& target : targets) ADD_FAILURE() << target << " differs";
}

}  // namespace
}  // namespace pt2::ops
