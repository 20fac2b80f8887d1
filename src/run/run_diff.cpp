#include "pt2/tools/run_diff.h"

#include <algorithm>
#include <string_view>

#include "base/hash/text_hash.h"
#include "base/memory_account.h"
#include "ir/graph_place.h"
#include "pt2/tools/run_trace.h"
#include "run/call_budget.h"
#include "run/copy_of.h"
#include "run/model_shared.h"

namespace pt2 {
namespace {

// Compares numbers as tensors, so that their distance is reported.
Comparison compare_values(const Value& found, const Value& expected,
                          const CompareOptions& options) {
  const std::optional<Tensor> a = as_tensor(found), b = as_tensor(expected);
  return a && b ? compare(Value(*a), Value(*b), options) : compare(found, expected, options);
}

NodePlace place_of(const ObservedValue& observed) {
  NodePlace place = describe_node(observed.graph, observed.node);
  place.name = observed.name;
  return place;
}

class RunPair {
 public:
  RunPair(std::span<const std::pair<std::string, std::string>> pairs, const CompareOptions& options,
          RunDifference& out)
      : options_(options), out_(out) {
    for (const auto& [before, after] : pairs) {
      held_.try_emplace(before);
      before_of_.emplace(after, before);
    }
  }

  Result<void> hold(const ObservedValue& observed) {
    const auto found = held_.find(observed.name);
    if (found == held_.end())
      ++out_.unpaired;
    else
      // Copied, because a later node may write to it.
      found->second = Held{copy_of(observed.value), place_of(observed)};
    return {};
  }

  Result<void> meet(const ObservedValue& observed) {
    const auto name = before_of_.find(observed.name);
    const auto found = name == before_of_.end() ? held_.end() : held_.find(name->second);
    if (found == held_.end() || !found->second) {
      ++out_.unpaired;
      return {};
    }
    Comparison comparison = compare_values(observed.value, found->second->value, options_);
    if (out_.first) {
      ++out_.later;
      out_.later_differing += !comparison.equal();
    } else if (comparison.equal()) {
      ++out_.agreeing;
    } else {
      out_.first.emplace(RunDifference::First{std::move(found->second->place), place_of(observed),
                                              observed.value.type_text(), std::move(comparison)});
    }
    found->second.reset();
    return {};
  }

 private:
  struct Held {
    Value value;
    NodePlace place;
  };

  const CompareOptions& options_;
  RunDifference& out_;
  TextMap<std::string_view, std::optional<Held>> held_;  // by the name in the run before
  TextMap<std::string_view, std::string_view> before_of_;
};

Result<std::vector<Value>> observed_run(Session& session, std::span<const Value> inputs,
                                        Observer observer) {
  session.observe(std::move(observer));
  Result<std::vector<Value>> outputs = within_memory([&] {
    std::vector<Value> own;
    for (const Value& input : inputs) own.push_back(copy_of(input));
    return session.run(own);
  });
  session.observe({});
  if (!outputs)
    return in_file(std::move(outputs).error(), session.shared().package->archive().name());
  return outputs;
}

OutputDifference compare_output(const Value* before, const Value* after,
                                const CompareOptions& options) {
  if (before != nullptr && after != nullptr)
    return {.type = after->type_text(), .comparison = compare_values(*after, *before, options)};
  OutputDifference out{.type = (after != nullptr ? after : before)->type_text()};
  out.comparison.difference =
      after != nullptr ? "found an output, expected none" : "found no output, expected one";
  return out;
}

}  // namespace

bool RunDifference::outputs_equal() const {
  return std::ranges::all_of(
      outputs, [](const OutputDifference& output) { return output.comparison.equal(); });
}

Result<RunDifference> diff_runs(Session& before, Session& after, std::span<const Value> inputs,
                                std::span<const std::pair<std::string, std::string>> pairs,
                                const CompareOptions& options) {
  RunDifference out;
  RunPair runs(pairs, options, out);
  const MemoryAccount::Scope scope(run::open_account_of_calls({&before, &after}, inputs));
  PT2_TRY(const std::vector<Value> expected,
          observed_run(before, inputs,
                       [&](const ObservedValue& observed) { return runs.hold(observed); }));
  PT2_TRY(const std::vector<Value> found,
          observed_run(after, inputs,
                       [&](const ObservedValue& observed) { return runs.meet(observed); }));
  const auto name = [](const Session& session, size_t i) {
    const std::vector<ModelValue>& all = session.shared().convention.outputs;
    return i < all.size() ? all[i].name : std::string();
  };
  for (size_t i = 0; i < std::max(expected.size(), found.size()); ++i) {
    OutputDifference output = compare_output(i < expected.size() ? &expected[i] : nullptr,
                                             i < found.size() ? &found[i] : nullptr, options);
    output.before = name(before, i);
    output.after = name(after, i);
    out.outputs.push_back(std::move(output));
  }
  return out;
}

}  // namespace pt2
