#include "decode/exported_folder.h"

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "base/mapped_file.h"
#include "base/text.h"

namespace pt2::decode {
namespace {

namespace fs = std::filesystem;

// For manifests and settings: a larger file is a mistake.
constexpr size_t kMostJsonBytes = 16 << 20;

// Returns the JSON of a file in the folder; nullopt if the file does not exist.
Result<std::optional<JsonValue>> read_json(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return std::optional<JsonValue>();
  PT2_TRY_VOID(check_is_file(path.string()));
  PT2_TRY(const auto file, MappedFile::open(path.string()));
  const std::span<const std::byte> bytes = file->bytes();
  if (bytes.size() > kMostJsonBytes)
    return Error{ErrorCode::limit,
                 "found " + std::to_string(bytes.size()) + " bytes of JSON, expected at most " +
                     std::to_string(kMostJsonBytes),
                 path.string()};
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Result<JsonValue> json = parse_json(text, {.allow_non_finite = true});
  if (!json) return in_file(std::move(json).error(), path.string());
  if (!json->is_object())
    return Error{ErrorCode::malformed,
                 "found " + std::string(json_kind_name(json->kind)) + ", expected an object",
                 path.string()};
  return std::optional(*std::move(json));
}

// Returns the value of a member; nullopt if it is absent or null.
template <class T>
Result<std::optional<T>> optional_member(const JsonValue& json, std::string_view key,
                                         Result<T> (JsonValue::*get)() const) {
  const JsonValue* member = json.find(key);
  if (member == nullptr || member->is_null()) return std::optional<T>();
  Result<T> value = (member->*get)();
  if (!value) return at(std::move(value).error(), "." + std::string(key));
  return std::optional<T>(*value);
}

Result<std::string> text_member(const JsonValue& json, std::string_view key) {
  PT2_TRY(const auto text, optional_member(json, key, &JsonValue::get_string));
  return std::string(text.value_or(""));
}

Result<void> read_manifest(const JsonValue& manifest, const fs::path& folder, ExportedFolder& out) {
  PT2_TRY(out.format, text_member(manifest, "export_format"));
  if (out.format != "dynamo")
    return Error{ErrorCode::unsupported,
                 "found programs of the format '" + out.format +
                     "', expected 'dynamo': export with DynamoExporter",
                 ".export_format"};
  const JsonValue* components = manifest.find("components");
  if (components == nullptr || !components->is_object())
    return Error{ErrorCode::malformed, "found no object 'components'", ""};
  for (const auto& [name, component] : components->members) {
    const std::string where = ".components." + name;
    const Result<std::string> file = text_member(component, "file");
    if (!file) return at(file.error(), where);
    if (!is_file_name(*file))
      return Error{ErrorCode::invalid, "found '" + *file + "', expected a file of the folder",
                   where + ".file"};
    FolderProgram program{.name = name, .path = (folder / *file).string()};
    if (const Result<void> is_file = check_is_file(program.path); !is_file)
      return Error{is_file.error().code, is_file.error().message, where + ".file"};
    if (const JsonValue* metadata = component.find("metadata")) {
      Result<std::string> architecture = text_member(*metadata, "architecture");
      if (!architecture) return at(std::move(architecture).error(), where + ".metadata");
      program.architecture = *std::move(architecture);
    }
    out.programs.push_back(std::move(program));
  }
  return {};
}

Result<void> list_programs(const fs::path& folder, ExportedFolder& out) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (std::error_code gone; it->path().extension() == ".pt2" && it->is_regular_file(gone))
      out.programs.push_back({.name = it->path().stem().string(), .path = it->path().string()});
  if (error) return Error{ErrorCode::io, error.message(), folder.string()};
  std::ranges::sort(out.programs, {}, &FolderProgram::name);
  return {};
}

// Settings that change tokens, and their values that change nothing.
struct Unfollowed {
  std::string_view name;
  double neutral;
};
constexpr Unfollowed kUnfollowed[] = {
    {"num_beams", 1},
    {"num_beam_groups", 1},
    {"repetition_penalty", 1},
    {"length_penalty", 1},
    {"no_repeat_ngram_size", 0},
    {"encoder_no_repeat_ngram_size", 0},
    {"num_return_sequences", 1},
    {"min_length", 0},
    {"min_new_tokens", 0},
    {"min_p", 0},
    {"typical_p", 1},
    {"epsilon_cutoff", 0},
    {"eta_cutoff", 0},
    {"encoder_repetition_penalty", 1},
    {"guidance_scale", 1},
    {"penalty_alpha", 0},
};
// Settings whose every value changes tokens.
constexpr std::string_view kUnfollowedValues[] = {"bad_words_ids",
                                                  "suppress_tokens",
                                                  "begin_suppress_tokens",
                                                  "forced_bos_token_id",
                                                  "forced_eos_token_id",
                                                  "sequence_bias",
                                                  "stop_strings",
                                                  "exponential_decay_length_penalty",
                                                  "watermarking_config",
                                                  "dola_layers",
                                                  "top_h"};

void find_ignored(const JsonValue& json, GenerationSettings& out) {
  for (const Unfollowed& each : kUnfollowed)
    if (const JsonValue* member = json.find(each.name); member != nullptr && member->is_number())
      if (const Result<double> value = member->get_float(); value && *value != each.neutral)
        out.ignored.emplace_back(each.name);
  for (const std::string_view name : kUnfollowedValues)
    if (const JsonValue* member = json.find(name); member != nullptr && !member->is_null())
      out.ignored.emplace_back(name);
}

Result<std::vector<int64_t>> read_stop_ids(const JsonValue& json) {
  std::vector<int64_t> ids;
  const JsonValue* stop = json.find("eos_token_id");
  if (stop == nullptr || stop->is_null()) return ids;
  for (const JsonValue& item : stop->is_array() ? stop->items : std::vector<JsonValue>{*stop}) {
    const Result<int64_t> id = item.get_int();
    if (!id) return at(id.error(), ".eos_token_id");
    ids.push_back(*id);
  }
  return ids;
}

Result<std::optional<int64_t>> read_bos_id(const JsonValue& json) {
  return optional_member(json, "bos_token_id", &JsonValue::get_int);
}

// Imitates transformers.GenerationConfig: absent or null members have their defaults.
Result<void> read_settings(const JsonValue& json, GenerationSettings& out) {
  PT2_TRY(const auto samples, optional_member(json, "do_sample", &JsonValue::get_bool));
  if (samples == true) {
    PT2_TRY(const auto temperature, optional_member(json, "temperature", &JsonValue::get_float));
    PT2_TRY(const auto top_k, optional_member(json, "top_k", &JsonValue::get_int));
    PT2_TRY(const auto top_p, optional_member(json, "top_p", &JsonValue::get_float));
    out.sampling.temperature = temperature.value_or(1);
    out.sampling.top_k = top_k.value_or(50);
    out.sampling.top_p = top_p.value_or(1);
  }
  PT2_TRY(out.max_new_tokens, optional_member(json, "max_new_tokens", &JsonValue::get_int));
  PT2_TRY(out.max_length, optional_member(json, "max_length", &JsonValue::get_int));
  PT2_TRY(out.stop_ids, read_stop_ids(json));
  PT2_TRY(out.start_id, optional_member(json, "decoder_start_token_id", &JsonValue::get_int));
  find_ignored(json, out);
  return {};
}

// Reads the content of a file in the folder, if the file exists.
template <class Read>
Result<bool> read_part(const fs::path& path, const Read& read) {
  PT2_TRY(const std::optional<JsonValue> json, read_json(path));
  if (!json) return false;
  Result<void> done = read(*json);
  if (!done) return in_file(std::move(done).error(), path.string());
  return true;
}

}  // namespace

bool is_folder(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

Result<ExportedFolder> read_exported_folder(const std::string& path) {
  const fs::path folder(path);
  ExportedFolder out;
  PT2_TRY(const bool has_manifest, read_part(folder / "export.json", [&](const JsonValue& json) {
            return read_manifest(json, folder, out);
          }));
  if (!has_manifest) PT2_TRY_VOID(list_programs(folder, out));
  if (out.programs.empty())
    return Error{ErrorCode::argument,
                 "found no program in the folder, expected export.json or a .pt2 file", path};
  std::optional<int64_t> bos_id;
  PT2_TRY(const bool has_settings,
          read_part(folder / "generation_config.json", [&](const JsonValue& json) -> Result<void> {
            PT2_TRY(bos_id, read_bos_id(json));
            return read_settings(json, out.settings);
          }));
  PT2_TRY([[maybe_unused]] const bool has_config,
          read_part(folder / "config.json", [&](const JsonValue& json) -> Result<void> {
            PT2_TRY(const auto type, optional_member(json, "model_type", &JsonValue::get_string));
            if (type) out.model_type = std::string(*type);
            // As in Transformers (generation/configuration_utils.py from_model_config).
            if (!has_settings) {
              PT2_TRY(out.settings.stop_ids, read_stop_ids(json));
              PT2_TRY(bos_id, read_bos_id(json));
            }
            if (!out.settings.start_id) {
              PT2_TRY(out.settings.start_id,
                      optional_member(json, "decoder_start_token_id", &JsonValue::get_int));
            }
            PT2_TRY(out.sliding_window,
                    optional_member(json, "sliding_window", &JsonValue::get_int));
            return {};
          }));
  // As in Transformers (generation/utils.py _prepare_special_tokens).
  if (!out.settings.start_id) out.settings.start_id = bos_id;
  return out;
}

}  // namespace pt2::decode
