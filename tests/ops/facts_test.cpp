// Facts about operators (ops/facts.h), compared with what the operators do on recorded and made-up
// calls.
#include "ops/facts.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "ops/conformance.h"
#include "ops/memory_format.h"
#include "ops/pointwise/copying.h"
#include "ops/random_calls.h"
#include "ops/row_calls.h"
#include "ops/shape/view.h"
#include "ops/table.h"

namespace pt2::ops {
namespace {

bool is_statistic(const Parameter& parameter) {
  return parameter.name == "running_mean" || parameter.name == "running_var";
}

// True if the results of the call must share memory with its arguments according to the row.
// Nothing (nullopt) if the row does not decide.
std::optional<bool> expected_sharing(const OpDef& def, const Observed& seen) {
  const Signature& signature = *def.signature;
  const auto argument = [&](std::string_view name) -> const Value& {
    static const Value kNone;
    const Parameter* found = signature.find(name);
    return found == nullptr
               ? kNone
               : seen.arguments[static_cast<size_t>(found - signature.parameter_array)];
  };
  const auto is_true = [](const Value& value) { return value.is<bool>() && *value.get_if<bool>(); };
  const auto* self = seen.arguments.empty() ? nullptr : seen.arguments[0].get_if<Tensor>();
  const auto* result = seen.results.empty() ? nullptr : seen.results[0].get_if<Tensor>();
  switch (def.facts.sharing) {
    case Sharing::possibly:
      return std::nullopt;
    case Sharing::as_signed:
      return signature.is_mutable() ? std::nullopt : std::optional(def.is_view());
    case Sharing::always:
      return true;
    case Sharing::where_strides_allow:
      return view_strides(*self, result->sizes()).has_value();
    case Sharing::unless_cast: {
      const auto* format = argument("memory_format").get_if<MemoryFormat>();
      if (format != nullptr && *format != MemoryFormat::preserve) return std::nullopt;
      return self->dtype() == result->dtype() && !is_true(argument("copy"));
    }
    case Sharing::unless_complex:
      if (dtype_category(self->dtype()) == DtypeCategory::complex) return std::nullopt;
      return true;
    case Sharing::unless_contiguous: {
      const auto* format = argument("memory_format").get_if<MemoryFormat>();
      if (format != nullptr && *format != MemoryFormat::contiguous) return std::nullopt;
      return self->is_contiguous();
    }
    case Sharing::unless_dropping:
      return !is_true(argument("train")) || *argument("p").get_if<double>() == 0;
  }
  return std::nullopt;
}

// Compares a row with observations of all its calls.
class RowJudge {
 public:
  explicit RowJudge(const Row& row)
      : row_(row),
        def_(*row.def),
        signature_(*row.def->signature),
        wrote_(signature_.parameter_count) {}

  void judge() {
    for (const Arguments& call : row_.calls)
      if (const auto seen = observe(def_, call)) judge(call, *seen);
    // Recurrent networks apply dropout between layers; the recorded ones have one layer only.
    const bool has_one_layer = signature_.find("num_layers") != nullptr;
    EXPECT_TRUE(drew_ == def_.may_draw || (def_.may_draw && has_one_layer))
        << row_.target
        << (drew_ ? " draws, which its row does not say" : " was never seen to draw");
    judge_writes();
    judge_sharing();
  }

 private:
  // True if the call changes the argument's sizes, as squeeze_ and resize_ do without a write.
  static bool changes_sizes(const Observed& seen, size_t i) {
    const auto* before = seen.arguments[i].get_if<Tensor>();
    const auto* after = seen.results.size() == 1 ? seen.results[0].get_if<Tensor>() : nullptr;
    return before != nullptr && after != nullptr && before->sizes() != after->sizes() &&
           shares_memory(seen.results[0], seen.arguments[i]);
  }

  void judge(const Arguments& call, const Observed& seen) {
    drew_ = drew_ || seen.drew;
    for (size_t i = 0; i < call.size(); ++i) {
      const Parameter& parameter = signature_.parameter_array[i];
      if (is_statistic(parameter) && has_elements(call[i])) judge_statistic(call, i, seen);
      if (parameter.mutated && changes_sizes(seen, i)) wrote_[i] = true;
      if (are_equal(call[i], seen.arguments[i])) continue;
      wrote_[i] = true;
      EXPECT_TRUE(parameter.mutated ||
                  (is_statistic(parameter) && !def_.facts.updates_statistics_if.empty()))
          << row_.target << " writes to " << parameter.name << ", which its row does not say";
    }
    bool shares = false, has_results = false;
    for (const Value& result : seen.results) {
      has_results = has_results || has_elements(result);
      for (const Value& argument : seen.arguments)
        shares = shares || shares_memory(result, argument);
    }
    if (!has_results) return;
    const std::optional<bool> expected = expected_sharing(def_, seen);
    if (expected && row_.shares_in_pytorch && *expected && !shares) return;  // see judge_sharing
    EXPECT_TRUE(!expected || *expected == shares)
        << row_.target << (shares ? " gives" : " does not give") << " memory of an argument back";
    (shares ? shared_ : copied_) = true;
  }

  // An argument with running statistics is written only if the flag that the row names is true.
  void judge_statistic(const Arguments& call, size_t index, const Observed& seen) {
    const Parameter* flag = signature_.find(def_.facts.updates_statistics_if);
    const bool wrote = !are_equal(call[index], seen.arguments[index]);
    if (flag == nullptr) {
      (wrote ? updated_ : kept_) = true;
      return;
    }
    const Value& given = call[static_cast<size_t>(flag - signature_.parameter_array)];
    EXPECT_TRUE(!wrote || *given.get_if<bool>()) << row_.target;
    updated_ = updated_ || wrote;
  }

  void judge_writes() const {
    for (size_t i = 0; i < wrote_.size(); ++i) {
      const Parameter& parameter = signature_.parameter_array[i];
      // _fused_adagrad_ declares it mutable, but on a CPU PyTorch does not write it.
      if (parameter.name == "state_steps") continue;
      EXPECT_TRUE(!parameter.mutated || wrote_[i] || def_.facts.sharing == Sharing::always)
          << row_.target << " was never seen to write to " << parameter.name;
    }
    const bool says_when = !def_.facts.updates_statistics_if.empty();
    EXPECT_TRUE(!says_when || updated_) << row_.target << " was never seen to update statistics";
    // Operators without a flag cannot state a condition.
    const bool has_flags =
        std::any_of(signature_.begin(), signature_.end(), [](const Parameter& parameter) {
          return parameter.type.base == BaseType::boolean && !parameter.type.list;
        });
    EXPECT_FALSE(!says_when && has_flags && updated_ && kept_)
        << row_.target << " updates statistics sometimes, and its row does not say when";
  }

  // If sharing depends on the arguments, both cases must occur. PyTorch conjugates and negates some
  // tensors lazily: its results share memory, while libpt2 computes new ones.
  void judge_sharing() const {
    const Sharing sharing = def_.facts.sharing;
    if (sharing == Sharing::as_signed) return;
    const bool is_possible = sharing == Sharing::possibly && signature_.may_alias();
    EXPECT_TRUE(shared_ || row_.shares_in_pytorch || is_possible)
        << row_.target << " was never seen to give memory of an argument back";
    // With `unless_complex`, copies occur only for conjugates of complex tensors.
    const bool may_always_share = sharing == Sharing::always || sharing == Sharing::possibly ||
                                  sharing == Sharing::unless_complex;
    EXPECT_TRUE(copied_ || may_always_share || row_.shares_in_pytorch)
        << row_.target << " was never seen to give memory of its own";
  }

  const Row& row_;
  const OpDef& def_;
  const Signature& signature_;
  std::vector<bool> wrote_;
  bool drew_ = false, shared_ = false, copied_ = false, updated_ = false, kept_ = false;
};

TEST(Facts, AreWhatCallsDo) {
  for (const Family& family : families())
    for (const OpDef& def : family.rows) {
      const Row row = row_of(def);
      EXPECT_FALSE(row.calls.empty()) << "nothing exercises " << row.target;
      RowJudge(row).judge();
    }
}

// True if the two results differ only at elements where each result equals its given tensor, that
// is, at elements that the call did not write.
bool differ_only_as(const std::array<Tensor, 2>& results, const std::array<Tensor, 2>& given) {
  const auto numbers = [](const Tensor& tensor) {
    return copy_as(tensor, Dtype::complex128, MemoryFormat::contiguous).value();
  };
  const Tensor first = numbers(results[0]), second = numbers(results[1]);
  const Tensor first_given = numbers(given[0]), second_given = numbers(given[1]);
  const auto equal = [](const Tensor& a, const Tensor& b, int64_t i) {
    const double x = a.data<double>()[i], y = b.data<double>()[i];
    return x == y || (std::isnan(x) && std::isnan(y));
  };
  for (int64_t i = 0; i < 2 * first.numel(); ++i)
    if (!equal(first, second, i) &&
        !(equal(first, first_given, i) && equal(second, second_given, i)))
      return false;
  return true;
}

// True if the elements that the call writes do not depend on self. Nothing (nullopt) if self is not
// a tensor with elements, or the call fails with other elements.
std::optional<bool> overwrites(const OpDef& def, const Arguments& call) {
  const auto* self = call.empty() ? nullptr : call[0].get_if<Tensor>();
  if (self == nullptr || self->numel() == 0) return std::nullopt;
  std::array<Tensor, 2> given, results;
  for (size_t i = 0; i < 2; ++i) {
    Arguments other = call;
    given[i] = with_other_elements(*self, i + 1);
    other[0] = Value(given[i]);
    const auto seen = observe(def, other);
    if (!seen || !seen->results[0].is<Tensor>()) return std::nullopt;
    results[i] = *seen->results[0].get_if<Tensor>();
    if (results[i].sizes() != self->sizes()) return std::nullopt;
  }
  return differ_only_as(results, given);
}

TEST(Facts, OperatorsThatOverwriteDoNotLookAtSelf) {
  for (const Row& row : rows_where([](const OpDef& def) { return def.facts.overwrites; })) {
    const Parameter* accumulate = row.def->signature->find("accumulate");
    int judged = 0;
    for (const Arguments& call : row.calls) {
      if (accumulate != nullptr &&
          *call[static_cast<size_t>(accumulate - row.def->signature->parameter_array)]
               .get_if<bool>())
        continue;
      const auto holds = overwrites(*row.def, call);
      EXPECT_TRUE(holds.value_or(true)) << row.target << " writes what depends on self";
      judged += holds.has_value() ? 1 : 0;
    }
    EXPECT_GT(judged, 0) << row.target;
  }
}

// True if `computed`, converted to the dtype of `written`, is close to `written`.
bool is_stored_as(const Value& computed, const Value& written) {
  const auto *from = computed.get_if<Value::List>(), *to = written.get_if<Value::List>();
  if (from != nullptr && to != nullptr) return std::ranges::equal(*from, *to, is_stored_as);
  const auto& expected = *written.get_if<Tensor>();
  const Tensor found =
      copy_as(*computed.get_if<Tensor>(), expected.dtype(), MemoryFormat::contiguous).value();
  return are_close(written, Value(found));
}

// True if a write to one element may change another one, of the same tensor or of another one in
// the list.
bool share_memory(const Value& value) {
  bool overlap = false;
  for_each_tensor(value, [&](const Tensor& tensor) {
    overlap = overlap || (tensor.numel() > 0 && may_overlap(tensor));
  });
  if (overlap) return true;
  const auto* list = value.get_if<Value::List>();
  for (size_t i = 0; list != nullptr && i < list->size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (shares_memory((*list)[i], (*list)[j])) return true;
  return false;
}

// True if the functional operator returns what the mutating one returns and writes. Nothing
// (nullopt) if one of them refuses the call.
std::optional<bool> gives_what_is_written(const OpDef& writing, const OpDef& functional,
                                          const Arguments& call) {
  if (share_memory(call[0])) return std::nullopt;
  // PyTorch has no arithmetic on 8-bit floats, so there is no right rounding to compare with.
  const auto* self = call[0].get_if<Tensor>();
  if (self != nullptr && dtype_category(self->dtype()) == DtypeCategory::floating &&
      dtype_size(self->dtype()) == 1)
    return std::nullopt;
  Arguments same;
  for (const Parameter& parameter : *functional.signature) {
    const Parameter* given = writing.signature->find(parameter.name);
    if (given == nullptr) given = &writing.signature->parameter_array[same.size()];
    same.push_back(call[static_cast<size_t>(given - writing.signature->parameter_array)]);
  }
  const auto written = observe(writing, call), computed = observe(functional, same);
  if (!written || !computed) return std::nullopt;
  // In-place operators on lists return nothing.
  const Value& result = written->results.empty() ? written->arguments[0] : written->results[0];
  if (!has_elements(result)) return std::nullopt;
  if (!is_stored_as(computed->results[0], result)) return false;
  // The last results of the functional form are the new values of the arguments that the other form
  // writes: running statistics and arguments that the signature marks as mutable.
  size_t next = computed->results.size();
  for (size_t i = writing.signature->parameter_count; i-- > 0 && next > 1;) {
    const Parameter& parameter = writing.signature->parameter_array[i];
    if (!is_statistic(parameter) && !parameter.mutated) continue;
    if (!are_close(written->arguments[i], computed->results[--next])) return false;
  }
  return true;
}

TEST(Facts, FunctionalFormsComputeWhatIsWritten) {
  for (const Row& row : rows_where([](const OpDef& def) { return def.signature->is_mutable(); })) {
    const size_t dot = row.target.rfind('.');
    const bool is_in_place = row.target[dot - 1] == '_';
    const std::string by_name =
        row.target.substr(0, dot - (is_in_place ? 1 : 0)) + row.target.substr(dot);
    const Operator same = find_operator(by_name);
    const std::string_view form = row.def->facts.functional_form;
    // Only resize_ makes the memory between the elements of self visible.
    const bool resizes = row.target.starts_with("torch.ops.aten.resize_");
    if (is_in_place && !resizes && same && !same.def->is_view() && !same.mutates()) {
      EXPECT_EQ(by_name, "torch.ops.aten." + std::string(form)) << row.target;
    }
    // Some functional forms are called NAME_functional.
    if (find_operator(row.target.substr(0, dot) + "_functional" + row.target.substr(dot))) {
      EXPECT_FALSE(form.empty()) << row.target;
    }
    if (form.empty()) continue;
    const Operator functional = find_operator("torch.ops.aten." + std::string(form));
    ASSERT_TRUE(functional) << row.target;
    int judged = 0;
    for (const Arguments& call : row.calls) {
      const auto holds = gives_what_is_written(*row.def, *functional.def, call);
      EXPECT_TRUE(holds.value_or(true))
          << call_text({row.target, call}) << " writes other values than " << form;
      judged += holds.has_value() ? 1 : 0;
    }
    EXPECT_GT(judged, 0) << row.target;
  }
}

std::set<std::string, std::less<>> lines_of(const std::string& file_name) {
  std::ifstream file(std::string(PT2_TEST_DATA) + "/ops/" + file_name);
  std::set<std::string, std::less<>> lines;
  for (std::string line; std::getline(file, line);) lines.insert(line);
  return lines;
}
// Among the operators that do not read self, PyTorch writes to tensors with overlapping elements
// for exactly the listed ones (tests/scripts/overwriting_operators.py).
TEST(Facts, OperatorsOverwriteWhatPyTorchsDo) {
  const auto listed = lines_of("overwriting.txt");
  EXPECT_GT(listed.size(), 5u);
  const auto is_listed = [&](const OpDef& def) {
    const std::string overload(def.signature->overload.empty() ? "default"
                                                               : def.signature->overload);
    return listed.contains(std::string(def.signature->name) + "_." + overload);
  };
  for (const Row& row : rows_where(is_listed)) {
    if (row.def->is_view() || row.def->facts.overwrites) continue;
    if (row.def->signature->find("beta") != nullptr) continue;  // 0 in the recorded calls
    int dependent = 0;
    for (const Arguments& call : row.calls)
      dependent += overwrites(*row.def, call).value_or(true) ? 0 : 1;
    EXPECT_GT(dependent, 0) << row.target << " writes the same whatever self holds";
  }
  for (const Row& row : rows_where([](const OpDef& def) { return def.facts.overwrites; }))
    EXPECT_TRUE(is_listed(*row.def)) << row.target;
}

// tests/scripts/operators_with_dtype_of_out.py writes the list.
TEST(Facts, OperatorsTakeTheDtypeOfOutAsPyTorchsDo) {
  const auto listed = lines_of("dtype_of_out.txt");
  EXPECT_GT(listed.size(), 5u);
  for (const Family& family : families())
    for (const OpDef& def : family.rows)
      EXPECT_EQ(def.facts.takes_dtype_of_out, listed.contains(schema_name(*def.signature)))
          << target_of(*def.signature);
}

// The overloads that AutocastCPU of torch 2.15 has kernels for
// (tests/scripts/autocast_operators.py).
TEST(Facts, AutocastTreatsWhatPyTorchsDoes) {
  const auto listed = lines_of("autocast_cpu.txt");
  // Not listed, but they pass all their operands to listed operators.
  const std::set<std::string, std::less<>> composites = {
      "aten::affine_grid_generator", "aten::chain_matmul",  "aten::einsum",
      "aten::linalg_multi_dot",      "aten::nll_loss_nd",   "aten::rnn_relu.data",
      "aten::rnn_relu.input",        "aten::rnn_relu_cell", "aten::rnn_tanh.data",
      "aten::rnn_tanh.input",        "aten::rnn_tanh_cell", "aten::tensordot"};
  EXPECT_GT(listed.size(), 100u);
  for (const auto& family : families())
    for (const OpDef& def : family.rows) {
      const std::string name = schema_name(*def.signature);
      const bool treats = def.facts.autocast != AutocastRule::as_given;
      EXPECT_EQ(treats, composites.contains(name) || listed.contains(name)) << name;
    }
}

// The row of each composite has a formula, names an equal operator, or states why it has neither.
TEST(Facts, CompositesAreThoseOfPyTorch) {
  std::ifstream file(std::string(PT2_TEST_DATA) + "/ops/composites.txt");
  std::set<std::string> composites;
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with('#')) composites.insert("torch.ops.aten." + line);
  ASSERT_GT(composites.size(), 500u);
  for (const Family& family : families())
    for (const OpDef& def : family.rows) {
      const std::string target = target_of(*def.signature);
      const Undecomposed reason = def.facts.undecomposed;
      const bool is_written = def.formula != nullptr || !def.facts.same_as.empty();
      if (composites.contains(target)) {
        EXPECT_NE(is_written, reason != Undecomposed::no)
            << target << " is a composite: it has a formula, or its row says why not";
      } else {
        EXPECT_EQ(reason, Undecomposed::no) << target << " is no composite";
      }
      const Signature& signature = *def.signature;
      const bool gives_numbers =
          std::any_of(signature.return_array, signature.return_array + signature.return_count,
                      [](const ArgumentType& type) { return type.base != BaseType::tensor; });
      EXPECT_TRUE(reason != Undecomposed::gives_numbers || gives_numbers) << target;
      if (!def.facts.same_as.empty()) {
        EXPECT_TRUE(find_operator("torch.ops.aten." + std::string(def.facts.same_as))) << target;
      }
    }
}

}  // namespace
}  // namespace pt2::ops
