// Seeds for mutation and fuzzing, taken from the test data. The zip reader here is for these files
// only: files that are not plain zips of stored records give no records.
#ifndef PT2_TESTS_SEEDS_H
#define PT2_TESTS_SEEDS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "read_file.h"

namespace pt2::test {

using Bytes = std::vector<std::byte>;

inline Bytes to_bytes(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return Bytes(data, data + text.size());
}

inline Bytes read_bytes(const std::filesystem::path& path) { return to_bytes(read_file(path)); }

struct Record {
  std::string name;
  Bytes bytes;
};

inline std::vector<Record> stored_records(std::span<const std::byte> zip) {
  auto number = [&](size_t offset, size_t size) {
    uint32_t value = 0;
    if (offset + size <= zip.size()) std::memcpy(&value, zip.data() + offset, size);
    return size_t{value};
  };
  constexpr size_t kEndSize = 22, kEntrySize = 46, kLocalSize = 30;
  constexpr uint32_t kEndMark = 0x06054b50, kEntryMark = 0x02014b50;
  std::vector<Record> records;
  if (zip.size() < kEndSize || number(zip.size() - kEndSize, 4) != kEndMark) return records;
  size_t entry = number(zip.size() - kEndSize + 16, 4);
  while (number(entry, 4) == kEntryMark) {
    size_t size = number(entry + 20, 4), name_size = number(entry + 28, 2),
           local = number(entry + 42, 4);
    size_t start = local + kLocalSize + number(local + 26, 2) + number(local + 28, 2);
    if (entry + kEntrySize + name_size > zip.size() || start + size > zip.size()) break;
    const auto* name = reinterpret_cast<const char*>(zip.data() + entry + kEntrySize);
    records.push_back(
        {std::string(name, name_size), Bytes(zip.begin() + start, zip.begin() + start + size)});
    entry += kEntrySize + name_size + number(entry + 30, 2) + number(entry + 32, 2);
  }
  return records;
}

// Returns a file of each archive layout and schema spelling, and all small malformed files.
inline std::vector<Bytes> file_seeds(const std::filesystem::path& data) {
  constexpr size_t kMaxBytes = 24 * 1024;
  std::vector<std::filesystem::path> paths;
  for (const char* release : {"2.1.2", "2.3.1", "2.6.0", "2.8.0", "2.9.1", "2.15.0"}) {
    for (const char* program :
         {"mlp", "cond", "shared_storage", "special_floats", "pytree_nested"}) {
      paths.push_back(data / "corpus" / release / (std::string(program) + ".pt2"));
    }
  }
  for (const auto& file : std::filesystem::directory_iterator(data / "negative"))
    paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> seeds;
  for (const auto& path : paths) {
    Bytes bytes = read_bytes(path);
    if (!bytes.empty() && bytes.size() <= kMaxBytes) seeds.push_back(std::move(bytes));
  }
  return seeds;
}

// Adds the records whose names end in one of `endings`, including records inside of nested zips
// (torch.save files).
inline void add_records(std::span<const std::byte> zip, std::span<const std::string_view> endings,
                        std::vector<Bytes>& seeds) {
  for (Record& record : stored_records(zip)) {
    add_records(record.bytes, endings, seeds);
    bool wanted = std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) {
      return record.name.ends_with(ending);
    });
    if (wanted && std::find(seeds.begin(), seeds.end(), record.bytes) == seeds.end()) {
      seeds.push_back(std::move(record.bytes));
    }
  }
}

inline std::vector<Bytes> record_seeds(const std::filesystem::path& data,
                                       std::initializer_list<std::string_view> endings) {
  std::vector<Bytes> seeds;
  for (const Bytes& file : file_seeds(data))
    add_records(file, {endings.begin(), endings.size()}, seeds);
  return seeds;
}

inline std::vector<Bytes> pickle_seeds(const std::filesystem::path& data) {
  return record_seeds(data, {"data.pkl"});
}

inline std::vector<Bytes> json_seeds(const std::filesystem::path& data) {
  return record_seeds(data, {"serialized_exported_program.json", "model.json", "_config.json"});
}

inline std::vector<Bytes> float_text_seeds(const std::filesystem::path&) {
  std::vector<Bytes> seeds;
  for (const char* text : {"0.0",
                           "-0.0",
                           "1",
                           "-1",
                           "0.1",
                           "1e-05",
                           "100000.0",
                           "1e+16",
                           "1.7976931348623157e+308",
                           "5e-324",
                           "9223372036854775807",
                           "-9223372036854775808",
                           "18446744073709551616",
                           "NaN",
                           "Infinity",
                           "-Infinity",
                           "nan",
                           "inf",
                           "\"NaN\"",
                           "0.30000000000000004"}) {
    seeds.push_back(to_bytes(text));
  }
  return seeds;
}

// Returns both spellings of the recorded expressions, and guards.
inline std::vector<Bytes> expression_seeds(const std::filesystem::path& data) {
  std::vector<Bytes> seeds;
  std::ifstream file(data / "symbols" / "values.tsv");
  std::string line;
  std::getline(file, line);
  std::getline(file, line);
  for (std::string srepr, str; std::getline(file, srepr, '\t') && std::getline(file, str, '\t');
       std::getline(file, line)) {
    seeds.push_back(to_bytes(srepr));
    seeds.push_back(to_bytes(str));
  }
  for (const char* guard :
       {"L['x'].size()[1] == L['y'].size()[0]",
        "L['xs'][0].stride()[0] != L['table']['a b'].size()[2]",
        "1 + ((((-1)*L['x'].size()[0]) + 3*L['y'].size()[0]) // 2) >= 2 and not (L['n'] % 3 < 1)",
        "torch.sym_max(L['n'], (1 if L['b'] else 0)) <= math.ceil((L['f'] / 2))",
        "L['x'].storage_offset() << 2 == round(torch._sym_sqrt(2.5), 2) or 9**9**9 > math.inf"})
    seeds.push_back(to_bytes(guard));
  return seeds;
}

inline std::vector<Bytes> text_seeds(const std::filesystem::path& data) {
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(data / "text"))
    paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> seeds;
  for (const auto& path : paths) seeds.push_back(read_bytes(path));
  return seeds;
}

inline std::vector<Bytes> tensor_file_seeds(const std::filesystem::path& data) {
  std::vector<std::filesystem::path> paths;
  for (const char* folder : {"tensor_files", "checkpoints"})
    for (const auto& file : std::filesystem::directory_iterator(data / folder))
      paths.push_back(file.path());
  for (const char* program : {"mlp", "dtypes_complex", "param_layouts", "input_mutation"})
    paths.push_back(data / "corpus" / "2.15.0" / (std::string(program) + ".safetensors"));
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> seeds;
  for (const auto& path : paths)
    if (std::filesystem::exists(path)) seeds.push_back(read_bytes(path));
  return seeds;
}

// Returns bare JSON documents: a container, and programs of the early draft.
inline std::vector<Bytes> document_seeds(const std::filesystem::path& data) {
  std::vector<std::filesystem::path> paths;
  for (const char* folder : {"containers", "draft"})
    for (const auto& file : std::filesystem::directory_iterator(data / folder))
      if (file.path().extension() == ".json") paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> seeds;
  for (const auto& path : paths) seeds.push_back(read_bytes(path));
  return seeds;
}

// Returns random bytes, from which tests/convert/program_edits.h reads its decisions.
inline std::vector<Bytes> program_seeds(const std::filesystem::path&) {
  std::mt19937_64 random(20240229);
  std::vector<Bytes> seeds(256, Bytes(64));
  for (Bytes& seed : seeds)
    for (std::byte& byte : seed) byte = static_cast<std::byte>(random());
  return seeds;
}

struct SeedSet {
  std::string_view target;
  std::vector<Bytes> (*make)(const std::filesystem::path& data);
};
inline constexpr SeedSet kSeedSets[] = {
    {"zip", file_seeds},
    {"pickle", pickle_seeds},
    {"json", json_seeds},
    {"float_text", float_text_seeds},
    {"file", file_seeds},
    {"document", document_seeds},
    {"tensor_files", tensor_file_seeds},
    {"expression", expression_seeds},
    {"text", text_seeds},
    {"program", program_seeds},
};

inline std::vector<Bytes> make_seeds(std::string_view target, const std::filesystem::path& data) {
  for (const SeedSet& set : kSeedSets) {
    if (set.target == target) return set.make(data);
  }
  return {};
}

}  // namespace pt2::test

#endif  // PT2_TESTS_SEEDS_H
