#include "pt2/tools/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "base/memory_account.h"
#include "ir/graph_place.h"
#include "ir/target.h"
#include "run/call_budget.h"
#include "run/copy_of.h"
#include "run/index_choices.h"
#include "run/model_shared.h"

namespace pt2 {
namespace {

const Tensor* find_state(const Session& session, const std::string& name) {
  if (const Tensor* state = session.state(name)) return state;
  const auto index = session.shared().convention.find_recorded_state(name);
  const auto& specs = session.program().signature.input_specs;
  return index ? session.state(*specs[*index].target) : nullptr;
}

// True for operators that round to steps: an elementwise tolerance says little about their results.
bool is_quantizing(std::string_view target) {
  constexpr std::string_view kNamespaces[] = {"quantized_decomposed", "quantized", "torchao"};
  constexpr std::string_view kParts[] = {"quantize", "fake_quant"};
  const auto is_part = [&](std::string_view part) { return target.find(part) != target.npos; };
  return std::ranges::find(kNamespaces, target_namespace(target)) != std::end(kNamespaces) ||
         (target.starts_with(kAten) && std::ranges::any_of(kParts, is_part));
}

bool is_quantized(const Program& program) {
  for (const PlacedGraph& placed : placed_graphs(program))
    for (const NodeId id : placed.graph->nodes())
      if (is_quantizing(placed.graph->node(id).target)) return true;
  return false;
}

// Copies all inputs but read-only tensors: a session writes into the memory of inputs that the
// program mutates.
std::vector<Value> unshared(const std::vector<Value>& inputs) {
  std::vector<Value> out;
  for (const Value& value : inputs) {
    const auto* tensor = value.get_if<Tensor>();
    const bool is_safe =
        tensor != nullptr && tensor->defined() && tensor->storage()->is_read_only();
    out.push_back(is_safe ? value : copy_of(value));
  }
  return out;
}

// Returns the storages that a later call may write to.
std::unordered_set<const Storage*> state_storages(const Session& session) {
  std::unordered_set<const Storage*> storages;
  for (const InputSpec& spec : session.program().signature.input_specs)
    if (const Tensor* state = spec.target ? session.state(*spec.target) : nullptr)
      storages.insert(state->storage().get());
  return storages;
}

class CallCheck {
 public:
  // `choices` are the program's. `before` is the session as it was before the call, or empty if the
  // program makes no choices.
  CallCheck(const CompareOptions& options, CallReport& report,
            const std::vector<IndexChoice>& choices, std::optional<Session>& before)
      : options_(options), report_(report), choices_(choices), before_(before) {}

  Comparison check(const std::string& place, const Value* found, const RecordedValue& expected) {
    if (found == nullptr) {
      report_.differences.push_back(place + ": the program has no such value");
      return {};
    }
    const Comparison result = compare(*found, expected.value, options_,
                                      expected.reference ? &*expected.reference : nullptr);
    ++report_.compared;
    report_.largest_error = std::max(report_.largest_error, result.largest_error);
    if (result.sqnr) report_.sqnr = std::min(*result.sqnr, report_.sqnr.value_or(*result.sqnr));
    if (result.found_error && result.found_error >= report_.our_error.value_or(0)) {
      report_.our_error = result.found_error;
      report_.torch_error = result.expected_error;
    }
    if (!result.equal()) report_.differences.push_back(place + ": " + result.difference);
    add_remark(place, result.remark);
    if (!result.equal() && result.sqnr && !options_.min_sqnr) noisy_ = true;
    return result;
  }

  void check_all(const RecordedCall& call, const std::vector<Value>& outputs,
                 const std::vector<Value>& inputs, const Session& session) {
    if (outputs.size() != call.outputs.size())
      report_.differences.push_back(
          fmt::format("found {} outputs, expected {}", outputs.size(), call.outputs.size()));
    for (size_t i = 0; i < std::min(outputs.size(), call.outputs.size()); ++i) {
      const std::string place = fmt::format("out[{}]", i);
      const double largest_error = report_.largest_error;
      const Comparison result = check(place, &outputs[i], call.outputs[i]);
      if (!result.equal() && i < choices_.size() && !choices_[i].chooser.empty()) {
        differing_choices_.push_back(i);
        // A distance between indices is an error only if their choice is wrong.
        error_of_choices_ = std::max(error_of_choices_, result.largest_error);
        report_.largest_error = largest_error;
      }
      report_.rows += result.rows;
      report_.argmax_differs += result.argmax_differs;
    }
    for (const auto& [name, expected] : call.buffers) {
      const Tensor* state = find_state(session, name);
      const Value value = state == nullptr ? Value() : Value(*state);
      check("buffer " + name, state == nullptr ? nullptr : &value, expected);
    }
    for (const auto& [index, expected] : call.mutated_inputs)
      check(fmt::format("in[{}]", index), index < inputs.size() ? &inputs[index] : nullptr,
            expected);
    if (!differing_choices_.empty()) judge_choices(call, outputs);
    if (noisy_ && is_quantized(session.program()))
      report_.remarks.push_back(
          fmt::format("the program is quantized: a rounding may move an element by a whole step; "
                      "--min-sqnr compares by signal to noise, here {:.4g} dB",
                      *report_.sqnr));
  }

 private:
  void add_remark(const std::string& place, const std::string& remark) {
    if (!remark.empty()) report_.remarks.push_back(place + ": " + remark);
  }

  // Near ties pass only if nothing else differs: with other values, they might not be ties.
  void judge_choices(const RecordedCall& call, const std::vector<Value>& outputs) {
    const std::vector<Tensor> values = values_to_choose(*before_, unshared(call.inputs), choices_);
    size_t ties = 0;
    for (const size_t i : differing_choices_) {
      const ChoiceVerdict verdict =
          judge_choice(choices_[i], outputs[i], call.outputs[i].value, values[i], options_);
      ties += verdict.is_tie;
      add_remark(fmt::format("out[{}]", i), verdict.text);
    }
    if (ties == report_.differences.size())
      report_.differences.clear();
    else
      report_.largest_error = std::max(report_.largest_error, error_of_choices_);
  }

  const CompareOptions& options_;
  CallReport& report_;
  const std::vector<IndexChoice>& choices_;
  std::optional<Session>& before_;
  std::vector<size_t> differing_choices_;  // indices of outputs
  double error_of_choices_ = 0;
  bool noisy_ = false;  // a value differs that has a signal-to-noise ratio, which did not decide
};

// Old releases do not check ranges at run time; libpt2 always does. The note of a recorded call
// says so where libpt2 refuses the call.
bool should_have_failed(const RecordedCall& call) {
  return call.note.starts_with("expected to fail");
}

}  // namespace

CallReport replay(Session& session, const RecordedCall& call, const CompareOptions& options) {
  CallReport report;
  std::vector<Value> inputs = unshared(call.inputs);
  session.seed(0);
  const std::vector<IndexChoice> choices = index_choices(session.program());
  std::optional<Session> before;
  if (std::ranges::any_of(choices, [](const auto& each) { return !each.chooser.empty(); }))
    before = session.fork();
  const Result<std::vector<Value>> outputs = session.run(inputs);
  if (!outputs) {
    report.error = outputs.error();
    const bool refused_before = call.error || should_have_failed(call);
    const ErrorCode code = outputs.error().code;
    if (refused_before && (code == ErrorCode::invalid || code == ErrorCode::argument))
      report.refusal = "refused, as recorded: " + outputs.error().text();
    else
      report.differences.push_back(outputs.error().text());
    return report;
  }
  if (call.error) {
    report.differences.push_back(
        fmt::format("it ran, where PyTorch raises {}: {}", call.error->type, call.error->text));
    return report;
  }
  CompareOptions settings = options;
  settings.values = settings.values && !call.random;
  CallCheck(settings, report, choices, before).check_all(call, *outputs, inputs, session);
  return report;
}

Result<RecordedCall> record_answers(Session& session, const RecordedCall& call) {
  RecordedCall out{.inputs = call.inputs, .keyword_names = call.keyword_names};
  std::vector<Value> inputs = unshared(call.inputs);
  session.seed(0);
  PT2_TRY(const std::vector<Value> outputs, session.run(inputs));
  const std::unordered_set<const Storage*> states = state_storages(session);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto* tensor = outputs[i].get_if<Tensor>();
    const bool is_state = tensor != nullptr && states.contains(tensor->storage().get());
    RecordedValue output{is_state ? copy_of(outputs[i]) : outputs[i], {}};
    if (i < call.outputs.size()) output.reference = call.outputs[i].reference;
    out.outputs.push_back(std::move(output));
  }
  for (const InputSpec& spec : session.program().signature.input_specs) {
    if (spec.kind != InputKind::buffer || !spec.target) continue;
    if (const Tensor* state = session.state(*spec.target))
      out.buffers.emplace_back(*spec.target, RecordedValue{copy_of(*state), {}});
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!compare(inputs[i], call.inputs[i], {.relative = 0.0, .absolute = 0.0}).equal())
      out.mutated_inputs.emplace_back(i, RecordedValue{inputs[i], {}});
  return out;
}

Result<CallReport> replay_beside(Session& session, Session& reference, const RecordedCall& call,
                                 const CompareOptions& options) {
  const MemoryAccount::Scope scope(run::open_account_of_calls({&session, &reference}, call.inputs));
  return within_memory([&]() -> Result<CallReport> {
    PT2_TRY(const RecordedCall answers, record_answers(reference, call));
    const Session before = session.fork();
    CallReport report = replay(session, answers, options);
    // What ran out for both results together says nothing about the second.
    const auto ran_out = [](const CallReport& each) {
      return each.error && each.error->code == ErrorCode::limit;
    };
    if (ran_out(report)) return *std::move(report.error);
    // The planned engine records the second call with inputs of the same sizes and repeats the
    // recording from the third on.
    for (const char* const call_name : {"second", "third"}) {
      if (!report.passed()) break;
      Session again = before.fork();
      CallReport repeated = replay(again, answers, options);
      if (repeated.passed() || ran_out(repeated)) continue;
      for (std::string& difference : repeated.differences)
        difference = fmt::format("{} call: {}", call_name, difference);
      report = std::move(repeated);
    }
    return report;
  });
}

}  // namespace pt2
