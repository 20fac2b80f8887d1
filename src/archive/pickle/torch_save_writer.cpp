#include <algorithm>
#include <numeric>

#include "pt2/format/pickle_write.h"

namespace pt2 {
namespace {

constexpr std::string_view kRoot = "archive/";

// Returns the storages in the order of their records. v0 sorts the keys as text: 0, 1, 10, 11, 2.
std::vector<size_t> storage_order(size_t count, TorchSaveFormat format) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  if (format == TorchSaveFormat::v0)
    std::ranges::sort(order, {}, [](size_t key) { return std::to_string(key); });
  return order;
}

}  // namespace

// Imitates torch/serialization.py, _save; PyTorch's zip writer itself adds the last two records.
Result<void> write_torch_save(const Pickle& pickle, Sink& sink, TorchSaveFormat format,
                              const Limits& limits, const Origin* origin) {
  PT2_TRY(const PickledBytes pickled, write_pickle(pickle, limits));
  ZipWriter writer(sink, ZipStyle::torch, origin);
  const auto add = [&](std::string_view name, std::string_view text) {
    return writer.add(std::string(kRoot).append(name), text);
  };
  PT2_TRY_VOID(add("data.pkl", pickled.bytes));
  if (format == TorchSaveFormat::v1) {
    PT2_TRY_VOID(add(".format_version", "1"));
    PT2_TRY_VOID(add(".storage_alignment", "64"));
  }
  PT2_TRY_VOID(add("byteorder", "little"));
  for (const size_t key : storage_order(pickled.storages.size(), format)) {
    const Storage& storage = *pickled.storages[key];
    PT2_TRY_VOID(writer.add(std::string(kRoot).append("data/").append(std::to_string(key)),
                            std::span(storage.data(), storage.size())));
  }
  PT2_TRY_VOID(add("version", "3\n"));
  PT2_TRY_VOID(add(".data/serialization_id", writer.serialization_id()));
  return writer.finish();
}

}  // namespace pt2
