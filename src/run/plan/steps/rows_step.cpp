// Softmax, and normalization over the last dimensions.
#include <algorithm>

#include "kernels/columns.h"
#include "kernels/rows.h"
#include "ops/convert.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

class SoftmaxStep final : public Step {
 public:
  SoftmaxStep(const BoundNode& node, int64_t dim, bool logarithm, Dtype dtype)
      : Step({&node}), dim_(dim), logarithm_(logarithm), dtype_(dtype) {}

  std::string_view name() const override { return "softmax"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* input = frame.tensor(first().arguments[0]);
    if (!has_elements(input, dtype_)) return false;
    const int64_t rank = input->dim();
    const auto wrapped = wrapped_dim(dim_, rank);
    if (!wrapped) return false;
    const auto dim = static_cast<int64_t>(*wrapped);
    // The channels of rearranged images are contiguous.
    const bool is_image =
        dim == 1 && rank > 2 && !input->is_contiguous() && is_channels_last(*input);
    Tensor out = is_image ? make_images(frame, input->sizes(), dtype_)
                          : frame.make(input->sizes(), {}, dtype_);
    if (is_image || dim == rank - 1)
      over_rows(frame, is_image ? *input : to_row_major(frame, *input), input->size(dim), out);
    else
      over_columns(frame, to_row_major(frame, *input), dim, out);
    frame.set(result(), std::move(out), is_image);
    return true;
  }

 private:
  void over_rows(Frame& frame, const Tensor& in, int64_t columns, Tensor& out) const {
    const kernels::RowShape shape{in.numel() / columns, columns, columns, columns};
    launch(frame, in, out, [=, logarithm = logarithm_](auto from, auto to, auto threads) {
      kernels::softmax_rows(logarithm, shape, from, to, threads);
    });
  }
  void over_columns(Frame& frame, const Tensor& in, int64_t dim, Tensor& out) const {
    kernels::ColumnShape shape{.rows = in.size(dim), .columns = 1};
    for (int64_t behind = dim + 1; behind < in.dim(); ++behind) shape.columns *= in.size(behind);
    shape.matrices = in.numel() / (shape.rows * shape.columns);
    launch(frame, in, out, [=, logarithm = logarithm_](auto from, auto to, auto threads) {
      kernels::softmax_columns(logarithm, shape, from, to, threads);
    });
  }
  static void launch(Frame& frame, const Tensor& in, Tensor& out, auto function) {
    const auto launch_as = [&]<class T>(T*) {
      frame.launch([=, from = in.data<T>(), to = out.data<T>(), threads = frame.threads()] {
        function(from, to, threads);
      });
    };
    in.dtype() == Dtype::float64 ? launch_as(static_cast<double*>(nullptr))
                                 : launch_as(static_cast<float*>(nullptr));
  }

  int64_t dim_;
  bool logarithm_;
  Dtype dtype_;  // float32 or float64
};

class NormStep final : public Step {
 public:
  // Weight and bias are row-major, and undefined if there are none.
  NormStep(Nodes nodes, const BoundArgument& input, bool subtracts_mean, Sizes normalized,
           Tensor weight, Tensor bias, double epsilon)
      : Step(std::move(nodes)),
        input_(input),
        subtracts_mean_(subtracts_mean),
        normalized_(std::move(normalized)),
        weight_(std::move(weight)),
        bias_(std::move(bias)),
        epsilon_(epsilon) {}

  std::string_view name() const override { return subtracts_mean_ ? "layer_norm" : "rms_norm"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* input = frame.tensor(input_);
    if (!is_float(input) || input->sizes().size() < normalized_.size() ||
        !std::equal(normalized_.rbegin(), normalized_.rend(), input->sizes().rbegin()))
      return false;
    const Tensor rows = to_row_major(frame, *input);
    Tensor out = frame.make(input->sizes());
    int64_t columns = 1;
    for (const int64_t size : normalized_) columns *= size;
    const kernels::RowShape shape{rows.numel() / columns, columns, columns, columns};
    const float* weight = weight_.defined() ? weight_.data<float>() : nullptr;
    const float* bias = bias_.defined() ? bias_.data<float>() : nullptr;
    frame.launch([=, from = rows.data<float>(), to = out.data<float>(), epsilon = epsilon_,
                  subtracts_mean = subtracts_mean_, threads = frame.threads()] {
      if (subtracts_mean)
        kernels::layer_norm_rows(shape, from, weight, bias, epsilon, to, threads);
      else
        kernels::rms_norm_rows(shape, from, weight, epsilon, to, threads);
    });
    frame.set(result(), std::move(out), false);
    return true;
  }

 private:
  const BoundArgument& input_;
  bool subtracts_mean_;
  Sizes normalized_;
  Tensor weight_;
  Tensor bias_;
  double epsilon_;
};

bool is_same(const BoundArgument& a, const BoundArgument& b) {
  const auto id = Frame::value_id(a);
  return id && id == Frame::value_id(b);
}

// Returns the argument that the node squares; null for other nodes.
const BoundArgument* squared(const Planner& planner, const BoundNode& node) {
  const bool squares =
      is_operator(node, "aten::square") ||
      (is_operator(node, "aten::pow", "Tensor_Scalar") &&
       planner.number(node, "exponent") == 2.0) ||
      (is_operator(node, "aten::mul", "Tensor") && is_same(node.arguments[0], node.arguments[1]));
  return squares ? &node.arguments[0] : nullptr;
}

// Returns the sizes of the last dimensions if the node takes their mean, and of no others.
std::optional<Sizes> averaged_sizes(const Planner& planner, const BoundNode& node) {
  const TensorMeta* input = planner.record(node.arguments[0]);
  auto dims = planner.integers(node, "dim");
  if (!is_operator(node, "aten::mean", "dim") || planner.flag(node, "keepdim") != true ||
      !planner.is_none(node, "dtype") || input == nullptr ||
      input->dtype.dtype() != Dtype::float32 || !dims || dims->empty())
    return std::nullopt;
  const auto rank = static_cast<int64_t>(input->sizes.size());
  for (int64_t& dim : *dims) dim += dim < 0 ? rank : 0;
  std::ranges::sort(*dims);
  Sizes sizes;
  for (size_t i = 0; i < dims->size(); ++i) {
    const int64_t dim = rank - static_cast<int64_t>(dims->size() - i);
    if ((*dims)[i] != dim || dim < 0 || input->sizes[static_cast<size_t>(dim)].is_symbolic())
      return std::nullopt;
    sizes.push_back(input->sizes[static_cast<size_t>(dim)].literal());
  }
  return sizes;
}

// Returns the weight of these sizes that the node multiplies the result of `normed` with; nullopt
// for other nodes.
std::optional<Tensor> weight_after(const Planner& planner, const BoundNode& normed,
                                   const BoundNode& node, const Sizes& sizes) {
  if (!is_operator(node, "aten::mul", "Tensor")) return std::nullopt;
  const size_t other = Planner::takes(node.arguments[0], normed) ? 1 : 0;
  const auto id = Frame::value_id(node.arguments[other]);
  const Tensor* weight = id ? planner.floats(*id) : nullptr;
  if (weight == nullptr || weight->sizes() != sizes) return std::nullopt;
  return planner.row_major(*weight);
}

// Returns a weight or bias; undefined if there is none, nullopt if it is not known.
std::optional<Tensor> row_of(const Planner& planner, const BoundNode& node, std::string_view name,
                             const Sizes& sizes) {
  if (Planner::argument(node, name) == nullptr || planner.is_none(node, name)) return Tensor();
  const Tensor* found = planner.floats(node, name);
  if (found == nullptr || found->sizes() != sizes) return std::nullopt;
  return planner.row_major(*found);
}

}  // namespace

StepPointer make_softmax(const Planner& planner, const BoundNode& node) {
  const auto dim = planner.integer(node, "dim");
  const bool converts = Planner::argument(node, "dtype") != nullptr
                            ? !planner.is_none(node, "dtype")
                            : planner.flag(node, "half_to_float") != false;
  if (!dim || converts) return nullptr;
  const std::string_view name = node.op.def->signature->name;
  const auto dtype = planner.recorded_dtype(node);
  // PyTorch rounds the sums of halves to their dtype here; the kernel keeps them in float32.
  const bool is_log = name.find("log_softmax") != std::string_view::npos;
  if (is_log && dtype && ops::is_half(*dtype)) return nullptr;
  const bool is_double = dtype == Dtype::float64;
  return std::make_unique<SoftmaxStep>(node, *dim, is_log,
                                       is_double ? Dtype::float64 : Dtype::float32);
}

StepPointer make_norm(const Planner& planner, const BoundNode& node) {
  const auto normalized = planner.integers(node, "normalized_shape");
  if (!normalized || normalized->empty() || !planner.only_first_result_used(node)) return nullptr;
  const bool is_rms = is_operator(node, "aten::rms_norm");
  // Without `eps` PyTorch takes the smallest number that changes 1 (ATen/native/layer_norm.cpp
  // rms_norm), in float32 or, for halves, in their own dtype.
  if (is_rms && planner.widens() && planner.is_none(node, "eps")) return nullptr;
  const auto epsilon = is_rms && planner.is_none(node, "eps")
                           ? std::optional<double>(std::numeric_limits<float>::epsilon())
                           : planner.number(node, "eps");
  if (!epsilon) return nullptr;
  auto weight = row_of(planner, node, "weight", *normalized);
  auto bias = row_of(planner, node, "bias", *normalized);
  if (!weight || !bias) return nullptr;
  return std::make_unique<NormStep>(Step::Nodes{&node}, node.arguments[0], !is_rms, *normalized,
                                    *std::move(weight), *std::move(bias), *epsilon);
}

// x * rsqrt(mean(x * x) + epsilon) * weight, as most language models write it and
// run_decompositions() writes aten::rms_norm (torch/_decomp). `node` takes the root.
StepPointer recompose_rms_norm(const Planner& planner, const BoundNode& node) {
  const bool inverts = is_operator(node, "aten::rsqrt");
  if (!inverts && !is_operator(node, "aten::sqrt")) return nullptr;
  const BoundNode* sum = planner.only_maker(node.arguments[0]);
  const bool adds = sum != nullptr && (is_operator(*sum, "aten::add", "Tensor") ||
                                       is_operator(*sum, "aten::add", "Scalar"));
  if (!adds || planner.number(*sum, "alpha") != 1.0) return nullptr;
  const auto epsilon = planner.number(*sum, "other");
  const BoundNode* mean = planner.only_maker(sum->arguments[0]);
  const auto sizes = epsilon && mean != nullptr ? averaged_sizes(planner, *mean) : std::nullopt;
  const BoundNode* square = sizes ? planner.only_maker(mean->arguments[0]) : nullptr;
  const BoundArgument* input = square == nullptr ? nullptr : squared(planner, *square);
  const BoundNode* normed = input == nullptr ? nullptr : planner.only_user(node);
  if (normed == nullptr || !is_operator(*normed, inverts ? "aten::mul" : "aten::div", "Tensor"))
    return nullptr;
  const BoundArgument &left = normed->arguments[0], &right = normed->arguments[1];
  const bool scales = (is_same(left, *input) && Planner::takes(right, node)) ||
                      (inverts && Planner::takes(left, node) && is_same(right, *input));
  if (!scales) return nullptr;
  Step::Nodes nodes{square, mean, sum, &node, normed};
  Tensor weight;
  if (const BoundNode* last = planner.only_user(*normed))
    if (auto found = weight_after(planner, *normed, *last, *sizes)) {
      weight = *std::move(found);
      nodes.push_back(last);
    }
  return std::make_unique<NormStep>(std::move(nodes), *input, false, *sizes, std::move(weight),
                                    Tensor(), *epsilon);
}

}  // namespace pt2::run
