// An expanded tensor may have any number of elements in little memory, so a small file may ask for
// hours of work. Limits::max_work bounds the work of kernels in both engines.
#include <gtest/gtest.h>

#include "base/memory_account.h"
#include "run/graph_maker.h"
#include "run/plan/plan.h"
#include "run/plan/workspace.h"

namespace pt2::run {
namespace {

constexpr uint64_t kMostWork = 1'000'000;

struct Call {
  std::string target;
  std::vector<Sizes> operands;
  std::vector<Argument> more;
  Dtype dtype = Dtype::float32;
};

Argument integers(const Sizes& numbers) {
  ArgumentList list{ListKind::ints, {}};
  for (const int64_t number : numbers) list.items.emplace_back(number);
  return Argument(std::move(list));
}

Value expanded(Dtype dtype, const Sizes& sizes) {
  const Tensor one = Tensor::zeros(dtype, {1});
  return Value(Tensor::view_of(one.storage(), dtype, sizes, Sizes(sizes.size(), 0), 0).value());
}

// Runs a call. If `weights`, the plan takes all operands but the first as weights.
Result<std::vector<Value>> run(const Call& call, bool planned, bool weights) {
  GraphMaker maker;
  std::vector<NamedArgument> arguments;
  std::vector<Value> inputs, constants;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    arguments.push_back(named("", maker.input("x" + std::to_string(i))));
    inputs.push_back(expanded(call.dtype, call.operands[i]));
    constants.push_back(weights && i > 0 ? inputs.back() : Value());
  }
  for (const Argument& argument : call.more) arguments.push_back(named("", argument));
  maker.graph.set_outputs(
      {Argument(maker.call("torch.ops.aten." + call.target, std::move(arguments)))});
  PT2_TRY(const auto bound, bind_graph(maker.graph));
  const MemoryAccount::Scope scope(std::make_shared<MemoryAccount>(1 << 30, kMostWork));
  ops::Context context;
  Executor executor(context, {.max_work = kMostWork});
  if (!planned) return executor.run(*bound, std::move(inputs));
  const auto plan = make_plan(*bound, constants, std::vector<bool>(constants.size(), true));
  Workspace workspace(1);
  return plan->run(std::move(inputs), {}, executor, workspace);
}

TEST(WorkLimit, LoopsCountThatSizesDoNotShow) {
  // Operands and results together have fewer elements than the limit.
  const Call calls[] = {
      {"mm.default", {{500, 500}, {500, 500}}, {}},
      {"mm.default", {{300, 300}, {300, 300}}, {}, Dtype::int64},
      {"mm.default", {{500, 500}, {500, 500}}, {}, Dtype::bfloat16},
      {"bmm.default", {{4, 256, 256}, {4, 256, 256}}, {}},
      {"linear.default", {{500, 500}, {500, 500}}, {}},
      {"conv2d.default", {{1, 16, 64, 64}, {16, 16, 15, 15}}, {}},
      {"conv2d.default", {{1, 1, 256, 256}, {1, 1, 63, 63}}, {}},
      {"conv2d.default", {{1, 16, 64, 64}, {16, 16, 15, 15}}, {}, Dtype::float64},
      {"conv_transpose2d.input", {{1, 16, 64, 64}, {16, 16, 15, 15}}, {}},
      {"conv3d.default", {{1, 4, 16, 32, 32}, {8, 4, 9, 9, 9}}, {}},
      {"scaled_dot_product_attention.default",
       {{1, 1, 2000, 16}, {1, 1, 2000, 16}, {1, 1, 2000, 16}},
       {}},
      {"avg_pool2d.default", {{1, 1, 400, 400}}, {integers({31}), integers({1})}},
      {"max_pool2d.default", {{1, 1, 400, 400}}, {integers({31}), integers({1})}},
      {"linalg_svdvals.default", {{200, 200}}, {}},
      {"inverse.default", {{200, 200}}, {}},
      {"cdist.default", {{500, 500}, {500, 500}}, {Argument(3.0)}},
      {"matrix_exp.default", {{200, 200}}, {}},
      {"_int_mm.default", {{500, 500}, {500, 500}}, {}, Dtype::int8},
      {"pdist.default", {{300, 300}}, {}},
      {"special_legendre_polynomial_p.n_scalar", {{1000}}, {Argument(60000.0)}},
      {"special_modified_bessel_k0.default", {{1000}}, {}},
      {"linalg_eigvals.default", {{80, 80}}, {}},
      {"isin.Tensor_Tensor", {{3000}, {3000}}, {}},
      {"gcd.default", {{3000}, {3000}}, {}, Dtype::int64},
      {"sort.default", {{60000}}, {}},
      {"_standard_gamma.default", {{15000}}, {}},
      {"tan.default", {{150000}}, {}},
      {"mvlgamma.default", {{100}}, {Argument(int64_t{100'000})}},
      {"fft_fft.default", {{50'021}}, {}},
      {"adaptive_avg_pool2d.default", {{1, 1, 4000, 1}}, {integers({1, 4000})}},
      {"adaptive_avg_pool3d.default", {{1, 1, 4000, 1, 1}}, {integers({1, 1, 4000})}},
      {"upsample_bilinear2d.default",
       {{1, 1, 2000, 4}},
       {integers({2, 2000}), Argument(false)},
       Dtype::uint8},
      {"upsample_bilinear2d.default", {{1, 1, 2000, 4}}, {integers({2, 2000}), Argument(false)}},
      {"conv_transpose1d.default", {{1, 1, 3000}, {1, 1, 3000}}, {}},
      {"conv_transpose1d.default", {{1, 1, 3000}, {1, 1, 3000}}, {}, Dtype::bfloat16},
      {"cdist.default", {{100, 8}, {100, 8}}, {Argument(1.5)}},
      {"pow.Tensor_Tensor", {{10'000}, {10'000}}, {}, Dtype::complex64},
  };
  for (const Call& call : calls)
    for (const bool planned : {false, true})
      for (const bool weights : {false, true}) {
        const auto results = run(call, planned, weights);
        ASSERT_FALSE(results) << call.target << (planned ? " planned" : "");
        EXPECT_EQ(results.error().code, ErrorCode::limit) << results.error().text();
        EXPECT_NE(results.error().text().find("max_work"), std::string::npos)
            << call.target << results.error().text();
      }
}

// The step of a cell takes weights that have memory for their elements.
TEST(WorkLimit, ProductsOfRecurrentCellsCount) {
  const Sizes sizes[] = {{1000, 128}, {1000, 128}, {384, 128}, {384, 128}};
  GraphMaker maker;
  std::vector<NamedArgument> arguments;
  std::vector<Value> inputs, weights;
  for (const Sizes& each : sizes) {
    arguments.push_back(named("", maker.input("x" + std::to_string(inputs.size()))));
    inputs.emplace_back(Tensor::zeros(Dtype::float32, each));
    weights.push_back(inputs.size() > 2 ? inputs.back() : Value());
  }
  maker.graph.set_outputs(
      {Argument(maker.call("torch.ops.aten.gru_cell.default", std::move(arguments)))});
  const auto bound = bind_graph(maker.graph).value();
  const auto plan = make_plan(*bound, weights, std::vector<bool>(weights.size(), true));
  ASSERT_EQ(plan->steps[0]->name(), "recurrent");
  const MemoryAccount::Scope scope(std::make_shared<MemoryAccount>(1 << 30, kMostWork));
  ops::Context context;
  Executor executor(context, {.max_work = kMostWork});
  Workspace workspace(1);
  const auto results = plan->run(std::move(inputs), {}, executor, workspace);
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code, ErrorCode::limit) << results.error().text();
}

TEST(WorkLimit, ElementsOfOperandsCount) {
  const Call calls[] = {
      {"sum.default", {{2'000'000}}, {}},
      {"relu.default", {{2'000'000}}, {}},
      {"scaled_dot_product_attention.default",
       {{1, 1, 1, 1}, {1, 1, 2'000'000, 1}, {1, 1, 2'000'000, 1}},
       {}},
  };
  for (const Call& call : calls)
    for (const bool planned : {false, true}) {
      const auto results = run(call, planned, false);
      ASSERT_FALSE(results) << call.target;
      EXPECT_NE(results.error().text().find("max_work"), std::string::npos)
          << call.target << results.error().text();
    }
}

// Each round of a vmap counts one call of the operator, even if its element costs nothing.
TEST(WorkLimit, RoundsOfVmapCount) {
  GraphMaker maker;
  const ValueId x = maker.input("x");
  maker.open_vmap();
  const ValueId inside = maker.call("torch._functorch.predispatch._add_batch_dim",
                                    {named("", x), named("", int64_t{0}), named("", int64_t{1})});
  const ValueId result = maker.call("torch.ops.aten.sin.default", {named("", inside)});
  maker.graph.set_outputs(
      {Argument(maker.call("torch._functorch.predispatch._remove_batch_dim",
                           {named("", result), named("", int64_t{1}), named("", int64_t{1000}),
                            named("", int64_t{0})}))});
  const auto bound = bind_graph(maker.graph).value();
  ops::Context context;
  Executor executor(context, {.max_work = kMostWork});
  const auto results = executor.run(*bound, {expanded(Dtype::float32, {1000})});
  ASSERT_FALSE(results);
  EXPECT_EQ(results.error().code, ErrorCode::limit) << results.error().text();
}

TEST(WorkLimit, CountsDoNotOverflow) {
  const MemoryAccount::Scope scope(std::make_shared<MemoryAccount>(1 << 30, kMostWork));
  constexpr int64_t kLarge = int64_t{1} << 62;
  EXPECT_THROW(MemoryAccount::count_loops({kLarge, 4}, 2), WorkExceeded);
  EXPECT_THROW(MemoryAccount::count_work(UINT64_MAX), WorkExceeded);
  EXPECT_EQ(MemoryAccount::inner_work(), 0);
  MemoryAccount::count_loops({kLarge, 0, kLarge}, 2);
  MemoryAccount::count_work(kMostWork);
  EXPECT_THROW(MemoryAccount::count_work(1), WorkExceeded);
  ops::Context context;
  Executor executor(context, {.max_work = kMostWork});
  const Value wide = expanded(Dtype::uint8, {kLarge});
  EXPECT_FALSE(executor.count_elements(std::vector<Value>(4, wide)));
}

}  // namespace
}  // namespace pt2::run
