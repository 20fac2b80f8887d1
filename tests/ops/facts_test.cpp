// What rows say of operators (ops/facts.h) against what the operators do on recorded calls.
#include "ops/facts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "ops/conformance.h"
#include "ops/pointwise/copying.h"
#include "ops/table.h"

namespace pt2::ops {
namespace {

template <class Visit>
void for_each_tensor(const Value& value, const Visit& visit) {
  if (const auto* tensor = value.get_if<Tensor>()) {
    if (tensor->defined()) visit(*tensor);
  } else if (const auto* list = value.get_if<Value::List>()) {
    for (const Value& item : *list) for_each_tensor(item, visit);
  }
}

bool shares_memory(const Value& a, const Value& b) {
  bool shares = false;
  for_each_tensor(a, [&](const Tensor& x) {
    for_each_tensor(b, [&](const Tensor& y) {
      shares = shares || (x.numel() > 0 && y.numel() > 0 && x.storage() == y.storage());
    });
  });
  return shares;
}

bool has_elements(const Value& value) {
  bool found = false;
  for_each_tensor(value, [&](const Tensor& tensor) { found = found || tensor.numel() > 0; });
  return found;
}

// 0, 1, 2 and so on.
Tensor counted(Sizes sizes) {
  Tensor out = Tensor::zeros(Dtype::float32, std::move(sizes));
  for (int64_t i = 0; i < out.numel(); ++i) out.data<float>()[i] = static_cast<float>(i);
  return out;
}

std::vector<std::string> bytes_of(const Value& value) {
  std::vector<std::string> out;
  for_each_tensor(value, [&](const Tensor& tensor) {
    const Storage& storage = *tensor.storage();
    out.emplace_back(reinterpret_cast<const char*>(storage.data()), storage.size());
  });
  return out;
}

// What was seen of a row in all its calls.
struct Seen {
  const OpDef* def = nullptr;
  int calls = 0;
  bool shared = false;
  bool drew = false;
  bool updated_statistics = false;
};

class Facts : public testing::Test {
 protected:
  // Calls every row on its recorded arguments and on some near them, and `judge` after each.
  static std::map<std::string, Seen> run_all() {
    std::map<std::string, Seen> all;
    for (const RecordedCall& call : read_recorded_folder(std::string(PT2_TEST_DATA) + "/ops")) {
      const Operator op = find_operator(call.target);
      if (op.form != Operator::Form::as_written) continue;
      Seen& seen = all[target_of(*op.def->signature)];
      seen.def = op.def;
      judge(op, call, seen);
      for (const RecordedCall& other : neighbours(op, call)) judge(op, other, seen);
    }
    return all;
  }

 private:
  // Where facts show that the recorded calls do not reach: layers that train and drop, or neither;
  // the dtype and the sizes that a tensor has already.
  static std::vector<RecordedCall> neighbours(const Operator& op, const RecordedCall& call) {
    std::vector<RecordedCall> out;
    const Tensor* first = nullptr;
    for (const Value& argument : call.arguments)
      if (first == nullptr) first = argument.get_if<Tensor>();
    const auto add = [&](auto change) {
      RecordedCall other = call;
      for (size_t i = 0; i < other.arguments.size(); ++i)
        change(op.signature().parameter_array[i], other.arguments[i]);
      out.push_back(std::move(other));
    };
    for (const bool trains : {false, true})
      for (const double probability : {0.0, 0.5})
        add([&](const Parameter& parameter, Value& value) {
          if (value.is<bool>()) value = Value(trains);
          if (value.is<double>() && parameter.type.base == BaseType::number)
            value = Value(probability);
        });
    add([](const Parameter&, Value& value) {
      if (value.is<int64_t>()) value = Value(int64_t{1});
    });
    if (first == nullptr) return out;
    add([&](const Parameter&, Value& value) {
      if (value.is<Dtype>()) value = Value(first->dtype());
    });
    add([](const Parameter& parameter, Value& value) {
      if (value.is<Tensor>()) value = Value(counted({2, 3}));
      if (value.is<bool>()) value = Value(true);
      if (parameter.name.starts_with("running_")) value = Value(Tensor::zeros(Dtype::float32, {3}));
      if (parameter.type.list && parameter.type.base == BaseType::integer)
        value = Value(Value::List{Value(int64_t{2}), Value(int64_t{3})});
    });
    return out;
  }

  static void judge(const Operator& op, const RecordedCall& call, Seen& seen) {
    const OpDef& def = *op.def;
    const Signature& signature = op.signature();
    std::vector<std::vector<std::string>> before;
    for (const Value& argument : call.arguments) before.push_back(bytes_of(argument));
    Context context;
    const auto results = pt2::ops::call(op, context, call.arguments);
    if (!results) return;
    ++seen.calls;
    seen.drew = seen.drew || context.random_state.has_value();
    if (!signature.is_mutable()) {
      for (size_t i = 0; i < call.arguments.size(); ++i) {
        if (bytes_of(call.arguments[i]) == before[i]) continue;
        const std::string_view name = signature.parameter_array[i].name;
        const bool is_statistic = name == "running_mean" || name == "running_var";
        EXPECT_TRUE(is_statistic && !def.facts.updates_statistics_if.empty())
            << call.target << " writes to " << name << ", which its row does not say";
        seen.updated_statistics = seen.updated_statistics || is_statistic;
      }
    }
    for (const Value& result : *results)
      for (const Value& argument : call.arguments)
        if (shares_memory(result, argument)) seen.shared = true;
    const bool as_signed = def.facts.sharing == Sharing::as_signed;
    const bool has_its_own = as_signed && !def.is_view() && !signature.is_mutable();
    EXPECT_FALSE(has_its_own && seen.shared) << call.target << " gives memory of an argument back";
    if (!def.is_view() || (!as_signed && def.facts.sharing != Sharing::always)) return;
    for (size_t i = 0; i < call.arguments.size(); ++i)
      EXPECT_TRUE(!signature.parameter_array[i].aliased || !has_elements((*results)[0]) ||
                  shares_memory((*results)[0], call.arguments[i]))
          << call.target << " is no view of " << signature.parameter_array[i].name;
  }
};

TEST_F(Facts, AreWhatRecordedCallsDo) {
  const auto all = run_all();
  EXPECT_GT(all.size(), 800u);
  for (const auto& [target, seen] : all) {
    if (seen.calls == 0) continue;
    const pt2::ops::Facts& facts = seen.def->facts;
    // In PyTorch the result shares memory and is conjugated when it is read; here it is computed.
    const bool is_computed = target == "torch.ops.aten._conj.default";
    EXPECT_TRUE(facts.sharing == Sharing::as_signed || seen.shared || is_computed)
        << target << " was never seen to give memory of an argument back";
    // Recurrent layers drop between layers, and the recorded ones have one.
    const bool has_one_layer = seen.def->signature->find("num_layers") != nullptr;
    EXPECT_TRUE(!seen.def->may_draw || seen.drew || has_one_layer)
        << target << " was never seen to draw";
    EXPECT_TRUE(facts.updates_statistics_if.empty() || seen.def->signature->is_mutable() ||
                seen.updated_statistics)
        << target << " was never seen to update statistics";
  }
}

// f(2x) = 2 f(x): elements are doubled exactly.
TEST_F(Facts, LinearOperatorsAreLinear) {
  std::set<std::string> judged;
  for (const RecordedCall& call : read_recorded_folder(std::string(PT2_TEST_DATA) + "/ops")) {
    const Operator op = find_operator(call.target);
    if (op.form != Operator::Form::as_written || op.def->facts.slope != Slope::linear) continue;
    std::vector<Value> doubled = call.arguments;
    bool is_float = true;
    const auto twice = [&](Value& value) {
      auto* tensor = value.get_if<Tensor>();
      if (tensor == nullptr) {
        is_float = is_float && value.is_none();
        return;
      }
      is_float = is_float && tensor->dtype() == Dtype::float32;
      if (!is_float) return;
      Tensor copy = copy_as(*tensor, Dtype::float32, MemoryFormat::contiguous).value();
      for (int64_t i = 0; i < copy.numel(); ++i) copy.data<float>()[i] *= 2;
      value = Value(std::move(copy));
    };
    for (size_t i = 0; i < doubled.size(); ++i) {
      const std::string name(op.signature().parameter_array[i].name);
      if ((" " + std::string(op.def->facts.linear_in) + " ").find(" " + name + " ") ==
          std::string::npos)
        continue;
      if (auto* list = doubled[i].get_if<Value::List>()) {
        Value::List items = *list;
        for (Value& item : items) twice(item);
        doubled[i] = Value(std::move(items));
      } else {
        twice(doubled[i]);
      }
    }
    if (!is_float) continue;
    Context context;
    const auto once = pt2::ops::call(op, context, call.arguments);
    const auto both = pt2::ops::call(op, context, doubled);
    if (!once || !both) continue;
    const auto* a = (*once)[0].get_if<Tensor>();
    const auto* b = (*both)[0].get_if<Tensor>();
    if (a == nullptr || b == nullptr || a->dtype() != Dtype::float32 || a->numel() == 0) continue;
    judged.insert(call.target);
    const Tensor left = copy_as(*a, Dtype::float64, MemoryFormat::contiguous).value();
    const Tensor right = copy_as(*b, Dtype::float64, MemoryFormat::contiguous).value();
    for (int64_t i = 0; i < left.numel(); ++i) {
      const double expected = 2 * left.data<double>()[i], found = right.data<double>()[i];
      if (std::isnan(expected) && std::isnan(found)) continue;
      ASSERT_NEAR(found, expected, 1e-5 * (1 + std::abs(expected))) << call.target;
    }
  }
  EXPECT_GE(judged.size(), 24u);
}

// The overloads that AutocastCPU of torch 2.15 has kernels for
// (tests/scripts/autocast_operators.py).
TEST_F(Facts, AutocastTreatsWhatPyTorchsDoes) {
  std::ifstream file(std::string(PT2_TEST_DATA) + "/ops/autocast_cpu.txt");
  std::set<std::string, std::less<>> listed;
  for (std::string line; std::getline(file, line);) listed.insert(line);
  // Made of listed ones alone, and on no list.
  const std::set<std::string, std::less<>> composites = {"aten::bilinear", "aten::chain_matmul",
                                                         "aten::einsum", "aten::linalg_multi_dot",
                                                         "aten::tensordot"};
  EXPECT_GT(listed.size(), 100u);
  for (const auto& family : families())
    for (const OpDef& def : family.rows) {
      const Signature& signature = *def.signature;
      std::string name(signature.name);
      if (!signature.overload.empty()) name += "." + std::string(signature.overload);
      const bool treats = def.facts.autocast != AutocastRule::as_given;
      EXPECT_EQ(treats, composites.contains(name) || listed.contains(name)) << name;
    }
}

// Each has a formula, is another name, or says why not.
TEST_F(Facts, CompositesAreThoseOfPyTorch) {
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
