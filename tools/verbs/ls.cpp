#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/printable.h"
#include "package/read_budget.h"
#include "pt2/format/archive.h"
#include "pt2/tensor_file.h"
#include "tools/json_members.h"
#include "tools/source.h"
#include "tools/table.h"
#include "tools/values/tensors.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

// The largest alignment that readers rely on, PyTorch's own.
constexpr uint64_t kMaxAlignment = 64;

struct LsArguments {
  Source source;
  bool tensors = false;
  bool json = false;
};

uint64_t alignment(uint64_t offset) { return std::min(offset & (~offset + 1), kMaxAlignment); }

std::string records_text(const Archive& archive) {
  TextTable table({{"NAME"},
                   {"ROLE"},
                   {"BYTES", Align::right},
                   {"OFFSET", Align::right},
                   {"ALIGNMENT", Align::right},
                   {"STORED AS"}});
  for (const Entry& entry : archive.zip().entries())
    table.add({printable(archive.relative_name(entry)),
               std::string(role_name(archive.role(entry).role)), std::to_string(entry.size),
               std::to_string(entry.data_offset), std::to_string(alignment(entry.data_offset)),
               entry.deflated ? "deflated" : "stored"});
  return table.text();
}

std::string records_json(const Archive& archive) {
  return json_object([&](JsonWriter& json) {
    write_text(json, "file", archive.name());
    write_text(json, "root", archive.root());
    write_objects(json, "records", archive.zip().entries(), [&](const Entry& entry) {
      write_text(json, "name", archive.relative_name(entry));
      write_text(json, "role", role_name(archive.role(entry).role));
      write_integer(json, "bytes", entry.size);
      write_integer(json, "compressed_bytes", entry.compressed_size);
      write_integer(json, "offset", entry.data_offset);
      write_integer(json, "alignment", alignment(entry.data_offset));
      write_integer(json, "crc32", entry.crc);
      write_flag(json, "deflated", entry.deflated);
    });
  });
}

std::string tensors_text(const TensorList& list) {
  TextTable table({{"PAYLOAD"},
                   {"NAME"},
                   {"TYPE"},
                   {"STRIDES"},
                   {"OFFSET", Align::right},
                   {"STORAGE"},
                   {"KIND"}});
  for (const ListedTensor& each : list.tensors)
    table.add({std::string(each.payload), printable(each.name), each.tensor.type_text(),
               fmt::format("[{}]", fmt::join(each.tensor.strides(), ", ")),
               std::to_string(each.tensor.storage_offset()),
               fmt::format("{} ({})", each.storage, counted(each.tensor.storage()->size(), "byte")),
               each.is_parameter ? "parameter" : "tensor"});
  for (const ListedObject& each : list.others)
    table.add({std::string(each.payload), printable(each.name), printable(each.type)});
  return table.text();
}

void write_tensor(JsonWriter& json, const ListedTensor& each) {
  const Tensor& tensor = each.tensor;
  write_text(json, "payload", each.payload);
  write_text(json, "name", each.name);
  write_text(json, "dtype", dtype_name(tensor.dtype()));
  write_integers(json, "sizes", tensor.sizes());
  write_integers(json, "strides", tensor.strides());
  write_integer(json, "storage_offset", static_cast<uint64_t>(tensor.storage_offset()));
  write_integer(json, "storage_bytes", tensor.storage()->size());
  write_integer(json, "storage", each.storage);
  write_flag(json, "requires_grad", each.requires_grad);
  write_flag(json, "is_parameter", each.is_parameter);
  write_integer(json, "crc32", content_crc32(tensor));
}

// Bounds the elements to read, because checksums read all of them.
Result<void> check_elements(const TensorList& list) {
  NamedTensors tensors;
  for (const ListedTensor& each : list.tensors) tensors.emplace_back(each.name, each.tensor);
  return check_elements(tensors);
}

std::string tensors_json(const Source& source, const TensorList& list) {
  return json_object([&](JsonWriter& json) {
    write_text(json, "file", source.file);
    write_objects(json, "tensors", list.tensors,
                  [&](const ListedTensor& each) { write_tensor(json, each); });
    write_objects(json, "others", list.others, [&](const ListedObject& each) {
      write_text(json, "payload", each.payload);
      write_text(json, "name", each.name);
      write_text(json, "type", each.type);
    });
  });
}

Result<int> list_records(const LsArguments& options, Environment& environment) {
  PT2_TRY(const Archive archive, open_container(options.source));
  print_warnings(environment, archive.warnings());
  print(environment.out, options.json ? records_json(archive) : records_text(archive));
  return kOk;
}

Result<int> list_tensors(const LsArguments& options, Environment& environment) {
  PT2_TRY(const Package package, open_package(options.source, environment));
  PT2_TRY(const TensorList list, read_tensor_list(package, options.source.model, environment));
  if (options.json) PT2_TRY_VOID(check_elements(list));
  print(environment.out, options.json ? tensors_json(options.source, list) : tensors_text(list));
  return kOk;
}

}  // namespace

Action setup_ls(CommandLine& line) {
  auto options = std::make_shared<LsArguments>();
  add_source(line, options->source);
  line.add_flag("--tensors", options->tensors, "every tensor of every payload, not the records");
  add_model_option(line, options->source);
  add_json_option(line, options->json);
  return [options](Environment& environment) -> Result<int> {
    if (!options->tensors && !options->source.model.empty())
      return usage_error("--model is for --tensors: the records of all programs are listed");
    return options->tensors ? list_tensors(*options, environment)
                            : list_records(*options, environment);
  };
}

}  // namespace pt2::tools
