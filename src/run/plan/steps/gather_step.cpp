// Rows picked by numbers: embedding, index_select.
#include "kernels/gather.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

class GatherStep final : public Step {
 public:
  GatherStep(const BoundNode& node, const BoundArgument& table, const BoundArgument& indices,
             bool is_embedding)
      : Step({&node}), table_(table), indices_(indices), is_embedding_(is_embedding) {}

  std::string_view name() const override { return "gather"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* table = frame.tensor(table_);
    const Tensor* indices = frame.tensor(indices_);
    if (table == nullptr || !table->defined() || table->numel() == 0 || indices == nullptr ||
        !indices->defined() || indices->numel() == 0 || (is_embedding_ && table->dim() != 2) ||
        (!is_embedding_ && (table->dim() < 1 || indices->dim() > 1)))
      return false;
    const bool is_wide = indices->dtype() == Dtype::int64;
    if (!is_wide && indices->dtype() != Dtype::int32) return false;
    // Rows of a table may lie apart, not what is in them.
    Sizes row_sizes(table->sizes().begin() + 1, table->sizes().end());
    Sizes row_strides(table->strides().begin() + 1, table->strides().end());
    const Tensor row = table->with_view(row_sizes, std::move(row_strides), table->storage_offset());
    if (!row.is_contiguous()) return false;
    Sizes sizes = is_embedding_ ? indices->sizes() : Sizes{indices->numel()};
    sizes.insert(sizes.end(), row_sizes.begin(), row_sizes.end());
    const auto numel = checked_numel(sizes);
    if (!numel) return false;
    const Tensor numbers = to_row_major(frame, *indices);
    Tensor out = frame.make(std::move(sizes), {}, table->dtype());
    const int64_t bytes = dtype_size(table->dtype());
    const kernels::Gathering gathering{.rows = numbers.numel(),
                                       .row_bytes = row.numel() * bytes,
                                       .table = table->raw_data(),
                                       .table_rows = table->size(0),
                                       .table_stride = table->stride(0) * bytes,
                                       .out = out.raw_data()};
    const bool found =
        frame.launch([gathering, is_wide, place = numbers.raw_data(), threads = frame.threads()] {
          return is_wide ? kernels::gather_rows(gathering, reinterpret_cast<const int64_t*>(place),
                                                threads)
                         : kernels::gather_rows(gathering, reinterpret_cast<const int32_t*>(place),
                                                threads);
        });
    // An index that is none is an error, which the reference kernel describes.
    if (!found) return false;
    frame.set(result(), std::move(out), false);
    return true;
  }

 private:
  const BoundArgument& table_;
  const BoundArgument& indices_;
  bool is_embedding_;
};

}  // namespace

StepPointer make_gather(const Planner& planner, const BoundNode& node) {
  const bool is_embedding = is_operator(node, "aten::embedding");
  if (!is_embedding && planner.integer(node, "dim") != 0) return nullptr;
  return std::make_unique<GatherStep>(
      node, *Planner::argument(node, is_embedding ? "weight" : "self"),
      *Planner::argument(node, is_embedding ? "indices" : "index"), is_embedding);
}

}  // namespace pt2::run
