#include "pt2/tensor_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "pt2/format/archive.h"
#include "pt2/format/npy.h"
#include "pt2/format/safetensors.h"
#include "tensor_files/state_dict.h"
#include "tensor_files/weight_index.h"

namespace pt2 {
namespace {

// True if the text begins like a JSON header after its length; the text may be truncated.
bool is_safetensors(std::string_view text) {
  constexpr size_t kLengthBytes = 8;
  return text.size() >= kLengthBytes && (text.size() == kLengthBytes || text[kLengthBytes] == '{');
}

// Unlike write_npz, the writer copies no elements.
Result<void> write_npz_file(const std::string& path, const NamedTensors& tensors) {
  PT2_TRY(const std::unique_ptr<TensorWriter> writer, TensorWriter::create(path));
  for (const auto& [name, tensor] : tensors) PT2_TRY_VOID(writer->add(name, tensor));
  return writer->finish();
}

Result<void> write_file(TensorFormat format, const std::string& path, const NamedTensors& tensors) {
  PT2_TRY(const std::unique_ptr<FileSink> sink, FileSink::create(path));
  return write_tensors(format, tensors, *sink);
}

}  // namespace

Result<TensorFormat> tensor_format_of(const std::string& path) {
  if (path.ends_with(".npy")) return TensorFormat::npy;
  if (path.ends_with(".npz")) return TensorFormat::npz;
  if (path.ends_with(".safetensors")) return TensorFormat::safetensors;
  return Error{ErrorCode::argument, "expected a name that ends in .npy, .npz or .safetensors",
               path};
}

Result<NamedTensors> read_tensors(const Record& record, const Limits& limits,
                                  std::string_view key) {
  const std::string_view text = record.text();
  if (tensor_files::is_torch_save(record, limits))
    return tensor_files::read_state_dict(record, key, limits);
  if (!key.empty())
    return Error{ErrorCode::argument,
                 "a key is given, which only a checkpoint of torch.save can have", ""};
  if (text.empty()) return Error{ErrorCode::malformed, "the file is empty", ""};
  if (text.starts_with("\x93NUMPY")) {
    PT2_TRY(Tensor tensor, read_npy(record));
    NamedTensors tensors;
    tensors.emplace_back("", std::move(tensor));
    return tensors;
  }
  // The length of a header of 19,280 bytes is the letters PK, too.
  if (text.starts_with("PK") && !is_safetensors(text)) return read_npz(record, limits);
  if (!is_safetensors(text)) {
    const std::string_view what = recognise_foreign_file(record.bytes);
    return Error{ErrorCode::malformed,
                 fmt::format("the file is none of .npy, .npz and .safetensors{}{}",
                             what.empty() ? "" : ": it is ", what),
                 ""};
  }
  PT2_TRY(Safetensors file, read_safetensors(record));
  return std::move(file.tensors);
}

Result<NamedTensors> read_tensor_file(const std::string& path, const Limits& limits,
                                      std::string_view key) {
  std::error_code unknown;
  if (std::filesystem::is_directory(path, unknown)) {
    PT2_TRY(const std::string file, tensor_files::find_weights_in(path));
    return read_tensor_file(file, limits, key);
  }
  PT2_TRY(const Record record, map_file(path));
  if (key.empty() && record.text().starts_with('{') && !is_safetensors(record.text()))
    return tensor_files::read_weight_index(record, path, limits);
  Result<NamedTensors> tensors = read_tensors(record, limits, key);
  if (!tensors) return in_file(std::move(tensors).error(), path);
  return tensors;
}

Result<void> write_tensors(TensorFormat format, const NamedTensors& tensors, Sink& sink) {
  switch (format) {
    case TensorFormat::npy:
      if (tensors.size() != 1)
        return Error{ErrorCode::argument,
                     "a .npy file holds one tensor, found " + std::to_string(tensors.size()) +
                         "; write a .npz or .safetensors file",
                     ""};
      PT2_TRY_VOID(write_npy(tensors[0].second, sink));
      return sink.finish();
    case TensorFormat::npz:
      return write_npz(tensors, sink);
    case TensorFormat::safetensors:
      return write_safetensors({.tensors = tensors, .metadata = {}}, sink);
  }
  return {};
}

Result<void> write_tensor_file(const std::string& path, const NamedTensors& tensors) {
  PT2_TRY(const TensorFormat format, tensor_format_of(path));
  Result<void> written = format == TensorFormat::npz ? write_npz_file(path, tensors)
                                                     : write_file(format, path, tensors);
  if (!written && written.error().where != path) return in_file(std::move(written).error(), path);
  return written;
}

}  // namespace pt2
