#include "tensor_files/weight_index.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/mapped_file.h"
#include "base/printable.h"
#include "base/text.h"

namespace pt2::tensor_files {
namespace {

namespace fs = std::filesystem;

// The names of tensors by the name of their shard; both point into the JSON.
using Shards = std::map<std::string_view, std::set<std::string_view>>;

Result<Shards> read_weight_map(const JsonValue& index) {
  const JsonValue* map = index.find("weight_map");
  if (map == nullptr || !map->is_object())
    return malformed(
        "the file is JSON without an object 'weight_map', so not the index of a model's files of "
        "weights");
  Shards shards;
  for (const auto& [name, file] : map->members) {
    const auto where = [&, key = std::string_view(name)] {
      return fmt::format(".weight_map['{}']", printable(key));
    };
    const Result<std::string_view> shard = file.get_string();
    if (!shard) return at(shard.error(), where());
    if (!is_file_name(*shard))
      return Error{
          ErrorCode::invalid,
          fmt::format("found '{}', expected a file of the index's folder", printable(*shard)),
          where()};
    shards[*shard].insert(name);
  }
  return shards;
}

// Adds the tensors of one shard that the index puts there.
Result<void> add_shard(const Record& record, std::set<std::string_view> names, const Limits& limits,
                       NamedTensors& out) {
  PT2_TRY(NamedTensors tensors, read_tensors(record, limits));
  for (auto& [name, tensor] : tensors)
    if (names.erase(name) > 0) out.emplace_back(std::move(name), std::move(tensor));
  if (names.empty()) return {};
  return Error{ErrorCode::invalid,
               fmt::format("the index names this file for '{}', which is not in it",
                           printable(*names.begin())),
               ""};
}

}  // namespace

Result<NamedTensors> read_weight_index(const Record& record, const std::string& path,
                                       const Limits& limits) {
  constexpr size_t kMostIndexBytes = 64 << 20;
  if (record.bytes.size() > kMostIndexBytes)
    return in_file({ErrorCode::limit,
                    fmt::format("found {} bytes of JSON, expected at most {}", record.bytes.size(),
                                kMostIndexBytes),
                    ""},
                   path);
  const Result<JsonValue> index = parse_json(record.text(), {.max_depth = 8});
  if (!index) return in_file(index.error(), path);
  const Result<Shards> shards = read_weight_map(*index);
  if (!shards) return in_file(shards.error(), path);
  NamedTensors tensors;
  for (const auto& [name, tensors_there] : *shards) {
    const std::string shard = (fs::path(path).parent_path() / fs::path(name)).string();
    PT2_TRY_VOID(check_is_file(shard));
    PT2_TRY(const Record content, map_file(shard));
    Result<void> added = add_shard(content, tensors_there, limits, tensors);
    if (!added) return in_file(std::move(added).error(), shard);
  }
  return tensors;
}

Result<std::string> find_weights_in(const std::string& folder) {
  // The order of preference is that of transformers.
  constexpr std::string_view kNames[] = {"model.safetensors",
                                         "model.safetensors.index.json",
                                         "pytorch_model.bin",
                                         "pytorch_model.bin.index.json",
                                         "diffusion_pytorch_model.safetensors",
                                         "diffusion_pytorch_model.safetensors.index.json"};
  for (const std::string_view name : kNames) {
    const fs::path path = fs::path(folder) / fs::path(name);
    std::error_code unknown;
    if (fs::is_regular_file(path, unknown)) return path.string();
  }
  return Error{ErrorCode::argument,
               fmt::format("found a folder without weights, expected one of {} in it, or a file",
                           fmt::join(kNames, ", ")),
               folder};
}

}  // namespace pt2::tensor_files
