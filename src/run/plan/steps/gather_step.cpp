// Rows picked by indices: embedding, index_select, x[indices].
#include "kernels/gather.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

// The tables and indices that an operator takes.
enum class Lookup : uint8_t {
  embedding,  // a matrix, any indices
  select,     // any table, at most one dimension of indices
  index,      // any table, any indices
};

class GatherStep final : public Step {
 public:
  GatherStep(const BoundNode& node, const BoundArgument& table, ValueId indices, Lookup lookup)
      : Step({&node}), table_(table), indices_(indices), lookup_(lookup) {}

  std::string_view name() const override { return "gather"; }

  Result<bool> run(Frame& frame) const override {
    const Tensor* table = frame.tensor(table_);
    const auto* indices = frame.values[static_cast<size_t>(indices_)].get_if<Tensor>();
    if (table == nullptr || !table->defined() || table->numel() == 0 || indices == nullptr ||
        !indices->defined() || indices->numel() == 0 || table->dim() < 1 ||
        (lookup_ == Lookup::embedding && table->dim() != 2) ||
        (lookup_ == Lookup::select && indices->dim() > 1))
      return false;
    const bool is_wide = indices->dtype() == Dtype::int64;
    if (!is_wide && indices->dtype() != Dtype::int32) return false;
    // Rows of a table may be apart, but each row must be contiguous.
    Sizes row_sizes(table->sizes().begin() + 1, table->sizes().end());
    Sizes row_strides(table->strides().begin() + 1, table->strides().end());
    const Tensor row = table->with_view(row_sizes, std::move(row_strides), table->storage_offset());
    if (!row.is_contiguous()) return false;
    Sizes sizes = lookup_ == Lookup::select ? Sizes{indices->numel()} : indices->sizes();
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
    // An index out of range is an error, which the reference kernel reports.
    if (!found) return false;
    frame.set(result(), std::move(out), false);
    return true;
  }

 private:
  const BoundArgument& table_;
  ValueId indices_;
  Lookup lookup_;
};

// Returns the first item of the list if all others are None; nullopt otherwise.
std::optional<ValueId> first_index(const BoundArgument& argument) {
  const auto* list =
      argument.dynamic == nullptr ? nullptr : argument.dynamic->get_if<ArgumentList>();
  if (list == nullptr || list->items.empty()) return std::nullopt;
  for (size_t i = 1; i < list->items.size(); ++i)
    if (!list->items[i].is<None>()) return std::nullopt;
  const auto* id = list->items[0].get_if<ValueId>();
  return id == nullptr ? std::nullopt : std::optional(*id);
}

}  // namespace

StepPointer make_gather(const Planner& planner, const BoundNode& node) {
  Lookup lookup = Lookup::index;
  if (is_operator(node, "aten::embedding")) lookup = Lookup::embedding;
  if (is_operator(node, "aten::index_select")) lookup = Lookup::select;
  if (lookup == Lookup::select && planner.integer(node, "dim") != 0) return nullptr;
  const BoundArgument& given =
      *Planner::argument(node, lookup == Lookup::select ? "index" : "indices");
  const auto indices = lookup == Lookup::index ? first_index(given) : Frame::value_id(given);
  if (!indices) return nullptr;
  return std::make_unique<GatherStep>(
      node, *Planner::argument(node, lookup == Lookup::embedding ? "weight" : "self"), *indices,
      lookup);
}

}  // namespace pt2::run
