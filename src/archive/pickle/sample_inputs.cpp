#include <fmt/format.h>

#include "archive/pickle/pickle_graph.h"
#include "base/printable.h"
#include "pt2/format/pickle.h"

namespace pt2 {
namespace {

// Paths are for human readers, so long keys are cut.
constexpr size_t kMaxKeyBytes = 64;

std::string key_step(const PickleValue& key) {
  if (key.is(PickleKind::string)) return fmt::format("['{}']", printable(key.text(), kMaxKeyBytes));
  if (key.is(PickleKind::integer)) return fmt::format("[{}]", key.as_int());
  if (key.is(PickleKind::boolean)) return key.as_bool() ? "[True]" : "[False]";
  return fmt::format("[<{}>]", pickle_kind_name(key.kind()));
}

class Flattener {
 public:
  Flattener(const PickleMemory& memory, uint32_t max_depth)
      : max_memory_(memory), max_depth_(max_depth) {}

  Result<void> visit(const PickleValue& value, const std::string& path, uint32_t depth) {
    PT2_TRY_VOID(charge(path, depth));
    if (value.is_dict()) return visit_pairs(value, path, depth, false);
    const bool opens = value.is_sequence() || (value.is(PickleKind::object) && !value.is_called());
    if (!opens) {
      leaves_.push_back({path, value});
      return {};
    }
    for (size_t i = 0; i < value.size(); ++i) {
      // The state of an object holds attributes by name.
      const bool attributes = value.is(PickleKind::object) && value[i].is_dict();
      PT2_TRY_VOID(attributes ? visit_pairs(value[i], path, depth + 1, true)
                              : visit(value[i], fmt::format("{}[{}]", path, i), depth + 1));
    }
    return {};
  }

  std::vector<SampleInput> take() { return std::move(leaves_); }

 private:
  Result<void> visit_pairs(const PickleValue& dict, const std::string& path, uint32_t depth,
                           bool attributes) {
    PT2_TRY_VOID(charge(path, depth));
    for (size_t i = 0; i < dict.dict_size(); ++i) {
      const PickleValue key = dict.key(i);
      // torch.export.register_dataclass makes no leaves of fields that are None.
      if (attributes && dict.value(i).is(PickleKind::none)) {
        PT2_TRY_VOID(charge(path, depth));
        continue;
      }
      const bool attribute = attributes && key.is(PickleKind::string);
      const std::string step =
          attribute ? "." + printable(key.text(), kMaxKeyBytes) : key_step(key);
      PT2_TRY_VOID(visit(dict.value(i), path + step, depth + 1));
    }
    return {};
  }

  // A pickle can contain one list twice in a second list, that one twice in a third, and so on: the
  // number of leaves doubles with every few bytes.
  Result<void> charge(const std::string& path, uint32_t depth) {
    if (depth > max_depth_)
      return Error{ErrorCode::limit,
                   fmt::format("nested deeper than max_pickle_depth {}", max_depth_), "args"};
    memory_ += sizeof(SampleInput) + path.size();
    if (memory_ <= max_memory_.max) return {};
    return Error{ErrorCode::limit, max_memory_.exceeded_text("the inputs take"), "args"};
  }

  const PickleMemory max_memory_;
  const uint32_t max_depth_;
  std::vector<SampleInput> leaves_;
  uint64_t memory_ = 0;
};

}  // namespace

Result<std::vector<SampleInput>> flatten_sample_inputs(const Pickle& pickle, const Limits& limits) {
  const PickleValue root = pickle.root();
  const PickleMemory& of_pickle = pickle.graph_->memory;
  Flattener flattener(of_pickle.max <= limits.max_pickle_memory
                          ? of_pickle
                          : PickleMemory{limits.max_pickle_memory},
                      limits.max_pickle_depth);
  if (root.is(PickleKind::none)) return flattener.take();
  if (!root.is(PickleKind::tuple) || root.size() != 2)
    return Error{
        ErrorCode::invalid,
        fmt::format("found {}, expected the tuple (args, kwargs)",
                    root.is(PickleKind::tuple) ? fmt::format("a tuple of {}", root.size())
                                               : std::string(pickle_kind_name(root.kind()))),
        ""};
  PT2_TRY_VOID(flattener.visit(root[0], "args", 0));
  PT2_TRY_VOID(flattener.visit(root[1], "kwargs", 0));
  return flattener.take();
}

}  // namespace pt2
