// Copies that move elements and change nothing else, by rules for each dimension: padding, rolls,
// flips, repetition, shuffles of pixels and channels, nearest-neighbor resizing, and indexing by
// constants. Images stay channels last.
#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>

#include "kernels/dtypes/mapped_copy.h"
#include "ops/shape/borders.h"
#include "ops/signal/nearest.h"
#include "run/plan/layout.h"
#include "run/plan/planner.h"

namespace pt2::run {
namespace {

using kernels::kNowhere;
using Places = kernels::MappedCopy::Places;  // for each dimension of the result

// Sizes and strides of a tensor.
struct Shape {
  const Sizes& sizes;
  const Sizes& strides;
  int64_t rank() const { return static_cast<int64_t>(sizes.size()); }
};
// Returns nullopt if the operator refuses such sizes or treats them in another way.
using Rule = std::function<std::optional<Places>(const Shape& from)>;

// Returns the offset of element `position(i)` for each i; kNowhere for negative positions. Empty
// for dimensions that are too long to be listed.
template <class Position>
std::vector<int64_t> line(int64_t count, int64_t stride, const Position& position) {
  constexpr int64_t kMost = 1 << 22;
  if (count > kMost) return {};
  std::vector<int64_t> out(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t at = position(i);
    out[static_cast<size_t>(i)] = at < 0 ? kNowhere : at * stride;
  }
  return out;
}
Places unchanged(const Shape& from) {
  Places out;
  for (size_t i = 0; i < from.sizes.size(); ++i)
    out.push_back(line(from.sizes[i], from.strides[i], [](int64_t k) { return k; }));
  return out;
}

// Larger paddings could overflow the sizes of a call; no real program comes near.
constexpr int64_t kMostPad = 1 << 20;

enum class Edge : uint8_t { constant, reflected, repeated, circular };

// `pads` holds (before, after) pairs, the last dimension first.
std::optional<Places> padded(const Shape& from, const Sizes& pads, Edge edge) {
  const size_t count = pads.size() / 2;
  if (pads.size() % 2 != 0 || count > from.sizes.size()) return std::nullopt;
  const size_t around = from.sizes.size() - count;
  const bool is_spatial = edge == Edge::reflected || edge == Edge::repeated;
  if (is_spatial && around != 1 && around != 2) return std::nullopt;
  Places out = unchanged(from);
  for (size_t i = 0; i < count; ++i) {
    const size_t dim = from.sizes.size() - 1 - i;
    const int64_t before = pads[2 * i], after = pads[2 * i + 1], size = from.sizes[dim];
    const int64_t most = edge == Edge::reflected  ? size - 1
                         : edge == Edge::circular ? size
                                                  : kMostPad;
    const int64_t least = edge == Edge::circular ? 0 : -size;
    if (std::min(before, after) < least || std::max(before, after) > most ||
        before + size + after < 1)
      return std::nullopt;
    out[dim] = line(before + size + after, from.strides[dim], [&](int64_t k) {
      const int64_t position = k - before;
      switch (edge) {
        case Edge::constant:
          return ops::constant_border(position, size);
        case Edge::reflected:
          return ops::reflected_border(position, size);
        case Edge::repeated:
          return ops::repeated_border(position, size);
        case Edge::circular:
          break;
      }
      return (position + size) % size;
    });
  }
  return out;
}

std::optional<Places> rolled(const Shape& from, const Sizes& shifts, const Sizes& dims) {
  if (shifts.empty() || shifts.size() != dims.size()) return std::nullopt;
  Sizes total(from.sizes.size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto dim = wrapped_dim(dims[i], from.rank());
    if (!dim || from.sizes[*dim] == 0) return std::nullopt;
    total[*dim] = (total[*dim] + shifts[i] % from.sizes[*dim]) % from.sizes[*dim];
  }
  Places out = unchanged(from);
  for (size_t i = 0; i < total.size(); ++i)
    out[i] = line(from.sizes[i], from.strides[i],
                  [&](int64_t k) { return (k - total[i] + 2 * from.sizes[i]) % from.sizes[i]; });
  return out;
}

std::optional<Places> flipped(const Shape& from, const Sizes& dims) {
  Places out = unchanged(from);
  for (const int64_t each : dims) {
    const auto dim = wrapped_dim(each, from.rank());
    if (!dim || std::ranges::count_if(
                    dims, [&](int64_t d) { return wrapped_dim(d, from.rank()) == dim; }) > 1)
      return std::nullopt;
    std::ranges::reverse(out[*dim]);
  }
  return out;
}

std::optional<Places> repeated(const Shape& from, const Sizes& times) {
  if (times.size() < from.sizes.size() ||
      std::ranges::any_of(times, [](int64_t n) { return n < 1 || n > kMostPad; }))
    return std::nullopt;
  const size_t more = times.size() - from.sizes.size();
  Places out;
  for (size_t i = 0; i < times.size(); ++i) {
    const int64_t size = i < more ? 1 : from.sizes[i - more];
    const int64_t stride = i < more ? 0 : from.strides[i - more];
    if (size > INT32_MAX) return std::nullopt;
    out.push_back(line(times[i] * size, stride, [&](int64_t k) { return k % size; }));
  }
  return out;
}

// Images are the last three dimensions. Channels become pixels between pixels; with `back`, the
// reverse.
std::optional<Places> shuffled_pixels(const Shape& from, int64_t factor, bool back) {
  const size_t rank = from.sizes.size(), c = rank - 3, y = rank - 2, x = rank - 1;
  if (rank < 3 || factor < 1 || factor > kMostPad) return std::nullopt;
  const int64_t square = factor * factor, channels = from.sizes[c];
  Places out = unchanged(from);
  if (back) {
    if (from.sizes[y] % factor != 0 || from.sizes[x] % factor != 0) return std::nullopt;
    out[c] = line(channels * square, 1, [&](int64_t k) {
      return k / square * from.strides[c] + k % square / factor * from.strides[y] +
             k % factor * from.strides[x];
    });
    for (const size_t dim : {y, x})
      out[dim] =
          line(from.sizes[dim] / factor, from.strides[dim], [&](int64_t k) { return k * factor; });
    return out;
  }
  if (channels % square != 0) return std::nullopt;
  out[c] = line(channels / square, from.strides[c], [&](int64_t k) { return k * square; });
  for (const size_t dim : {y, x}) {
    const int64_t beside = (dim == y ? factor : 1) * from.strides[c];
    out[dim] = line(from.sizes[dim] * factor, 1, [&](int64_t k) {
      return k / factor * from.strides[dim] + k % factor * beside;
    });
  }
  return out;
}

std::optional<Places> shuffled_channels(const Shape& from, int64_t groups) {
  if (from.rank() < 3 || groups < 1 || from.sizes[1] % groups != 0) return std::nullopt;
  Places out = unchanged(from);
  out[1] = line(from.sizes[1], from.strides[1],
                [&](int64_t k) { return k % groups * (from.sizes[1] / groups) + k / groups; });
  return out;
}

// Repeats each element of a dimension `times` times.
std::optional<Places> repeated_elements(const Shape& from, int64_t dim, int64_t times) {
  const auto wrapped = wrapped_dim(dim, from.rank());
  if (!wrapped || times < 1 || times > kMostPad) return std::nullopt;
  const int64_t size = from.sizes[*wrapped];
  if (size > kMostPad) return std::nullopt;
  Places out = unchanged(from);
  out[*wrapped] =
      line(size * times, from.strides[*wrapped], [times](int64_t k) { return k / times; });
  return out;
}

// Nearest-neighbor resizing to `sizes`, or to the image's sizes times `scales`.
struct Nearest {
  size_t spatial = 0;
  bool exact = false;
  Sizes sizes;
  std::vector<std::optional<double>> scales;
};
std::optional<Places> nearest(const Shape& from, const Nearest& how) {
  if (from.sizes.size() != how.spatial + 2) return std::nullopt;
  Places out = unchanged(from);
  for (size_t i = 0; i < how.spatial; ++i) {
    const int64_t in = from.sizes[i + 2];
    const double wanted = how.sizes.empty() ? static_cast<double>(in) * how.scales[i].value_or(1)
                                            : static_cast<double>(how.sizes[i]);
    if (!(wanted >= 1 && wanted < 1 << 24)) return std::nullopt;
    const auto size = static_cast<int64_t>(wanted);
    const auto step = ops::resize_step<float>(in, size, how.scales[i]);
    // PyTorch has two kernels, which differ if sizes and scales disagree.
    if (step != ops::resize_step<float>(in, size, std::nullopt)) return std::nullopt;
    out[i + 2] = line(size, from.strides[i + 2],
                      [&](int64_t k) { return ops::nearest_element(k, step, in, how.exact); });
  }
  return out;
}

// Index tensors for dimensions first, first + 1, …, which broadcast with each other.
struct Picks {
  size_t first = 0;
  std::vector<Tensor> numbers;
};
std::optional<Places> picked(const Shape& from, const Picks& picks) {
  if (picks.first + picks.numbers.size() > from.sizes.size()) return std::nullopt;
  Sizes sizes;
  for (const Tensor& numbers : picks.numbers) {
    const auto both = ops::broadcast_sizes(std::array{sizes, numbers.sizes()});
    if (!both) return std::nullopt;
    sizes = *both;
  }
  Places chosen;
  for (const int64_t size : sizes) chosen.emplace_back(static_cast<size_t>(size), 0);
  if (chosen.empty()) chosen.push_back({0});
  for (size_t i = 0; i < picks.numbers.size(); ++i) {
    const Tensor& numbers = picks.numbers[i];
    const int64_t size = from.sizes[picks.first + i], stride = from.strides[picks.first + i];
    size_t along = 0;
    for (size_t dim = 0; dim < numbers.sizes().size(); ++dim) {
      if (numbers.sizes()[dim] == 1) continue;
      // An index tensor must vary along one dimension of the result only.
      if (numbers.sizes()[dim] != numbers.numel()) return std::nullopt;
      along = dim + (sizes.size() - numbers.sizes().size());
    }
    std::vector<int64_t>& line = chosen[along];
    for (size_t k = 0; k < line.size(); ++k) {
      const auto at = static_cast<size_t>(numbers.numel() == 1 ? 0 : k);
      const int64_t given = numbers.as<int64_t>()[at], number = given < 0 ? given + size : given;
      if (number < 0 || number >= size) return std::nullopt;
      line[k] += number * stride;
    }
  }
  Places out = unchanged(from);
  const auto begin = out.begin() + static_cast<std::ptrdiff_t>(picks.first);
  out.erase(begin, begin + std::ssize(picks.numbers));
  if (!sizes.empty())
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(picks.first), chosen.begin(),
               chosen.end());
  else if (!out.empty())
    for (int64_t& place : out[0]) place += chosen[0][0];
  else
    return std::nullopt;
  return out;
}

class MappedStep final : public Step {
 public:
  // A `filler` other than +0 is for float32; other dtypes are only filled with zeros.
  MappedStep(Nodes nodes, Rule rule, double filler, std::shared_ptr<Room> room)
      : Step(std::move(nodes)), rule_(std::move(rule)), filler_(filler), room_(std::move(room)) {}

  std::string_view name() const override { return "mapped_copy"; }

  Result<bool> run(Frame& frame) const override {
    const BoundArgument& argument = first().arguments[0];
    const Tensor* from = frame.tensor(argument);
    if (from == nullptr || !from->defined() || from->numel() == 0 || from->is_wrapped_number() ||
        (std::bit_cast<uint64_t>(filler_) != 0 && from->dtype() != Dtype::float32))
      return false;
    const int64_t bytes = dtype_size(from->dtype());
    if (bytes > 16 || std::popcount(static_cast<uint64_t>(bytes)) != 1) return false;
    const auto id = Frame::value_id(argument);
    const auto copy = copy_of(*from, id && frame.is_rearranged(*id) && is_channels_last(*from));
    if (copy == nullptr) return false;
    Tensor out =
        frame.make(copy->sizes, copy->rearranged ? channels_last_strides(copy->sizes) : Sizes(),
                   from->dtype());
    frame.note_kept(copy->kernel.bytes());
    frame.launch([copy, in = from->raw_data(), to = out.raw_data(), threads = frame.threads()] {
      copy->kernel.run(in, to, threads);
    });
    frame.set(result(), std::move(out), copy->rearranged);
    return true;
  }

 private:
  // The prepared copy for operands of one layout, which later calls share.
  struct Copy {
    Sizes from_sizes, from_strides;
    int64_t bytes;  // for each element
    bool was_rearranged;
    Sizes sizes;
    bool rearranged;
    kernels::MappedCopy kernel;
  };

  // Returns null if the operator refuses such sizes or they are too large.
  std::shared_ptr<const Copy> copy_of(const Tensor& from, bool was_rearranged) const {
    const int64_t bytes = dtype_size(from.dtype());
    const std::lock_guard lock(mutex_);
    if (last_ != nullptr && last_->from_sizes == from.sizes() &&
        last_->from_strides == from.strides() && last_->bytes == bytes &&
        last_->was_rearranged == was_rearranged)
      return last_;
    std::optional<Places> places = rule_({from.sizes(), from.strides()});
    if (!places || std::ranges::any_of(*places, &std::vector<int64_t>::empty)) return nullptr;
    Sizes sizes;
    for (const std::vector<int64_t>& each : *places) sizes.push_back(std::ssize(each));
    if (!checked_numel(sizes)) return nullptr;
    // In memory channels are the innermost dimension.
    const bool rearranged = was_rearranged && sizes.size() == from.sizes().size();
    if (rearranged) std::rotate(places->begin() + 1, places->begin() + 2, places->end());
    std::array<std::byte, 16> filler{};
    const auto number = static_cast<float>(filler_);
    std::memcpy(filler.data(), &number, sizeof number);
    auto copy = std::make_shared<const Copy>(
        Copy{from.sizes(), from.strides(), bytes, was_rearranged, std::move(sizes), rearranged,
             kernels::MappedCopy(*std::move(places), bytes, filler)});
    const auto bytes_of = [](const std::shared_ptr<const Copy>& each) {
      return each == nullptr ? 0 : static_cast<int64_t>(each->kernel.bytes());
    };
    if (room_->take(bytes_of(copy) - bytes_of(last_))) last_ = copy;
    return copy;
  }

  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Copy> last_;
  Rule rule_;
  double filler_;
  std::shared_ptr<Room> room_;
};

// Returns all integers of a list; nullopt if calls decide them or there are none.
std::optional<Sizes> list_of(const Planner& planner, const BoundNode& node, std::string_view name) {
  std::optional<Sizes> all = planner.integers(node, name);
  return all && !all->empty() ? std::move(all) : std::nullopt;
}

struct Found {
  Rule rule;
  double filler = 0;
  Step::Nodes before{};  // earlier nodes that the step includes
};

std::optional<Found> find_padding(const Planner& planner, const BoundNode& node) {
  constexpr struct {
    std::string_view name;
    Edge edge;
    size_t spatial;  // 0: any
  } kNames[] = {{"aten::constant_pad_nd", Edge::constant, 0},
                {"aten::_pad_circular", Edge::circular, 0},
                {"aten::reflection_pad1d", Edge::reflected, 1},
                {"aten::reflection_pad2d", Edge::reflected, 2},
                {"aten::reflection_pad3d", Edge::reflected, 3},
                {"aten::replication_pad1d", Edge::repeated, 1},
                {"aten::replication_pad2d", Edge::repeated, 2},
                {"aten::replication_pad3d", Edge::repeated, 3}};
  constexpr struct {
    std::string_view name;
    Edge edge;
  } kModes[] = {{"constant", Edge::constant},
                {"reflect", Edge::reflected},
                {"replicate", Edge::repeated},
                {"circular", Edge::circular}};
  std::optional<Edge> edge;
  std::optional<Sizes> pads;
  for (const auto& row : kNames) {
    if (!is_operator(node, row.name)) continue;
    edge = row.edge;
    pads = Planner::argument(node, "padding") == nullptr ? list_of(planner, node, "pad")
                                                         : list_of(planner, node, "padding");
    if (row.spatial != 0 && pads && pads->size() != 2 * row.spatial) return std::nullopt;
  }
  if (is_operator(node, "aten::pad")) {
    const auto* word = planner.constant_of<std::string>(node, "mode");
    for (const auto& row : kModes)
      if (word != nullptr && *word == row.name) edge = row.edge;
    pads = list_of(planner, node, "pad");
  }
  if (!edge || !pads) return std::nullopt;
  double filler = 0;
  if (Planner::argument(node, "value") != nullptr && !planner.is_none(node, "value")) {
    const auto value = planner.number(node, "value");
    if (!value || (*edge != Edge::constant && *value != 0)) return std::nullopt;
    filler = *value;
  }
  return Found{[pads = *pads, edge = *edge](const Shape& from) { return padded(from, pads, edge); },
               filler};
}

std::optional<Found> find_nearest(const Planner& planner, const BoundNode& node) {
  constexpr struct {
    std::string_view name;
    size_t spatial;
    bool exact;
  } kNames[] = {
      {"aten::upsample_nearest1d", 1, false},       {"aten::upsample_nearest2d", 2, false},
      {"aten::upsample_nearest3d", 3, false},       {"aten::_upsample_nearest_exact1d", 1, true},
      {"aten::_upsample_nearest_exact2d", 2, true}, {"aten::_upsample_nearest_exact3d", 3, true}};
  for (const auto& row : kNames) {
    const bool is_vec = is_operator(node, row.name, "vec");
    if (!is_vec && !is_operator(node, row.name)) continue;
    Nearest how{.spatial = row.spatial, .exact = row.exact};
    how.scales.resize(row.spatial);
    if (!planner.is_none(node, "output_size")) {
      const auto sizes = planner.integers(node, "output_size", row.spatial);
      if (!sizes) return std::nullopt;
      how.sizes = *sizes;
    } else {
      const auto* list = planner.constant_of<Value::List>(node, "scale_factors");
      if (list == nullptr || list->size() != row.spatial) return std::nullopt;
      for (size_t i = 0; i < row.spatial; ++i) how.scales[i] = number_of((*list)[i]);
      if (!std::ranges::all_of(how.scales, [](const auto& scale) { return scale.has_value(); }))
        return std::nullopt;
    }
    constexpr std::string_view kScales[][3] = {
        {"scales"}, {"scales_h", "scales_w"}, {"scales_d", "scales_h", "scales_w"}};
    for (size_t i = 0; !is_vec && i < row.spatial; ++i) {
      const std::string_view name = kScales[row.spatial - 1][i];
      if (planner.is_none(node, name)) continue;
      how.scales[i] = planner.number(node, name);
      if (!how.scales[i]) return std::nullopt;
    }
    return Found{[how](const Shape& from) { return nearest(from, how); }};
  }
  return std::nullopt;
}

// Matches indexing of adjacent dimensions by constant index tensors.
std::optional<Found> find_picks(const Planner& planner, const BoundNode& node) {
  if (!is_operator(node, "aten::index", "Tensor") &&
      !is_operator(node, "aten::_unsafe_index", "Tensor"))
    return std::nullopt;
  const BoundArgument* indices = Planner::argument(node, "indices");
  const auto* list =
      indices->dynamic == nullptr ? nullptr : indices->dynamic->get_if<ArgumentList>();
  if (list == nullptr) return std::nullopt;
  Picks picks;
  for (size_t i = 0; i < list->items.size(); ++i) {
    const Argument& item = list->items[i];
    if (item.is<None>()) continue;
    const auto* id = item.get_if<ValueId>();
    const Tensor* numbers = id == nullptr ? nullptr : planner.whole_numbers(*id);
    if (numbers == nullptr) return std::nullopt;
    if (picks.numbers.empty()) picks.first = i;
    if (i != picks.first + picks.numbers.size()) return std::nullopt;
    picks.numbers.push_back(numbers->contiguous());
  }
  if (picks.numbers.empty()) return std::nullopt;
  return Found{[picks](const Shape& from) { return picked(from, picks); }};
}

// True if the node swaps dimensions 1 and 2 of a tensor of `rank` dimensions.
bool exchanges_groups(const Planner& planner, const BoundNode& node, size_t rank) {
  if (is_operator(node, "aten::transpose", "int"))
    return planner.integer(node, "dim0") == 1 && planner.integer(node, "dim1") == 2;
  if (!is_operator(node, "aten::permute")) return false;
  Sizes order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[1], order[2]);
  return planner.integers(node, "dims", rank) == order;
}

// Matches view(transpose(view(x))) of images, as models write channel_shuffle.
std::optional<Found> find_written_shuffle(const Planner& planner, const BoundNode& node) {
  const auto sizes_of = [&](const BoundNode& view) {
    return list_of(planner, view, Planner::argument(view, "size") == nullptr ? "shape" : "size");
  };
  if (!is_reshape(node)) return std::nullopt;
  Found out;
  const BoundNode* turned = planner.only_maker(node.arguments[0]);
  if (turned != nullptr &&
      (is_operator(*turned, "aten::contiguous") || is_operator(*turned, "aten::clone"))) {
    out.before.push_back(turned);
    turned = planner.only_maker(turned->arguments[0]);
  }
  const BoundNode* split = turned == nullptr || turned->arguments.empty()
                               ? nullptr
                               : planner.only_maker(turned->arguments[0]);
  if (split == nullptr || !is_reshape(*split)) return std::nullopt;
  const auto apart = sizes_of(*split), joined = sizes_of(node);
  if (!apart || !joined || joined->size() < 3 || apart->size() != joined->size() + 1 ||
      std::ranges::min(*apart) < 1 || !exchanges_groups(planner, *turned, apart->size()))
    return std::nullopt;
  const int64_t groups = (*apart)[1];
  if ((*joined)[1] % groups != 0 || (*apart)[2] != (*joined)[1] / groups ||
      (*apart)[0] != (*joined)[0] ||
      !std::equal(apart->begin() + 3, apart->end(), joined->begin() + 2))
    return std::nullopt;
  out.before.insert(out.before.begin(), {split, turned});
  out.rule = [groups, sizes = *joined](const Shape& from) {
    return from.sizes == sizes ? shuffled_channels(from, groups) : std::nullopt;
  };
  return out;
}

std::optional<Found> find_rule(const Planner& planner, const BoundNode& node) {
  if (auto shuffle = find_written_shuffle(planner, node)) return shuffle;
  if (is_operator(node, "aten::roll")) {
    const auto shifts = list_of(planner, node, "shifts"), dims = list_of(planner, node, "dims");
    if (!shifts || !dims) return std::nullopt;
    return Found{[=](const Shape& from) { return rolled(from, *shifts, *dims); }};
  }
  if (is_operator(node, "aten::flip")) {
    const auto dims = list_of(planner, node, "dims");
    if (!dims) return std::nullopt;
    return Found{[=](const Shape& from) { return flipped(from, *dims); }};
  }
  if (is_operator(node, "aten::repeat")) {
    const auto times = list_of(planner, node, "repeats");
    if (!times) return std::nullopt;
    return Found{[=](const Shape& from) { return repeated(from, *times); }};
  }
  if (is_operator(node, "aten::repeat_interleave", "self_int")) {
    const auto times = planner.integer(node, "repeats"), dim = planner.integer(node, "dim");
    if (!times || !dim || !planner.is_none(node, "output_size")) return std::nullopt;
    return Found{[=](const Shape& from) { return repeated_elements(from, *dim, *times); }};
  }
  const bool back = is_operator(node, "aten::pixel_unshuffle");
  if (back || is_operator(node, "aten::pixel_shuffle")) {
    const auto factor = planner.integer(node, back ? "downscale_factor" : "upscale_factor");
    if (!factor) return std::nullopt;
    return Found{[=](const Shape& from) { return shuffled_pixels(from, *factor, back); }};
  }
  if (is_operator(node, "aten::channel_shuffle") ||
      is_operator(node, "aten::native_channel_shuffle")) {
    const auto groups = planner.integer(node, "groups");
    if (!groups) return std::nullopt;
    return Found{[=](const Shape& from) { return shuffled_channels(from, *groups); }};
  }
  if (auto padding = find_padding(planner, node)) return padding;
  if (auto resize = find_nearest(planner, node)) return resize;
  return find_picks(planner, node);
}

}  // namespace

StepPointer make_mapped(const Planner& planner, const BoundNode& node) {
  std::optional<Found> found = find_rule(planner, node);
  if (!found) return nullptr;
  Step::Nodes nodes = std::move(found->before);
  nodes.push_back(&node);
  return std::make_unique<MappedStep>(std::move(nodes), std::move(found->rule), found->filler,
                                      planner.room());
}

}  // namespace pt2::run
