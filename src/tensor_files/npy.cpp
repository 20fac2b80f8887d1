#include "pt2/format/npy.h"

#include <algorithm>

#include "base/printable.h"
#include "tensor_files/bytes.h"
#include "tensor_files/npy_header.h"
#include "tensor_files/tensor_pieces.h"

namespace pt2 {
namespace {

using tensor_files::NpyHeader;

constexpr std::string_view kSuffix = ".npy";

// PyTorch's zip files, which people pass as a file of tensors; recognised by an entry.
struct PytorchZip {
  std::string_view suffix;
  std::string_view text;
};
constexpr std::string_view kPt2 =
    "the file is a .pt2; 'pt2 weights export' writes its weights as .safetensors";
constexpr PytorchZip kPytorchZips[] = {
    {"/archive_format", kPt2},
    {"serialized_exported_program.json", kPt2},
    {"/data.pkl",
     "the file is a torch.save checkpoint; safetensors.torch.save_file writes its tensors"},
};

// Says what a zip file that is no .npz is.
Error foreign_zip_error(const ZipReader& zip, const Entry& entry) {
  for (const PytorchZip& known : kPytorchZips)
    if (std::ranges::any_of(zip.entries(),
                            [&](const Entry& each) { return each.name.ends_with(known.suffix); }))
      return Error{ErrorCode::malformed, std::string(known.text), ""};
  return Error{ErrorCode::unsupported, "found an entry that is not a .npy array",
               printable(entry.name)};
}

void swap_bytes(std::span<std::byte> bytes, size_t unit) {
  for (size_t start = 0; start + unit <= bytes.size(); start += unit)
    std::ranges::reverse(bytes.subspan(start, unit));
}

std::shared_ptr<Storage> make_npy_storage(const Record& record, std::span<const std::byte> data,
                                          const NpyHeader& header) {
  if (!header.swapped) return tensor_files::storage_in(record, data, header.dtype);
  std::shared_ptr<Storage> storage = tensor_files::copy_storage(data);
  swap_bytes({storage->data(), storage->size()}, tensor_files::element_alignment(header.dtype));
  return storage;
}

Sizes npy_strides(const NpyHeader& header) {
  if (!header.fortran_order) return contiguous_strides(header.sizes);
  Sizes reversed(header.sizes.rbegin(), header.sizes.rend());
  Sizes strides = contiguous_strides(reversed);
  std::ranges::reverse(strides);
  return strides;
}

}  // namespace

Result<Tensor> read_npy(const Record& record) {
  PT2_TRY(const NpyHeader header, tensor_files::read_npy_header(record.bytes));
  PT2_TRY_VOID(tensor_files::check_dim_count(header.sizes.size()));
  const std::span<const std::byte> data = record.bytes.subspan(header.data_offset);
  const auto numel = checked_numel(header.sizes);
  int64_t expected = 0;
  if (!numel || __builtin_mul_overflow(*numel, dtype_size(header.dtype), &expected))
    return Error{ErrorCode::invalid, ".npy header: the number of elements exceeds 64 bits", ""};
  if (data.size() != static_cast<uint64_t>(expected))
    return Error{ErrorCode::corrupt,
                 "found " + std::to_string(data.size()) +
                     " bytes of elements, the .npy header says " + std::to_string(expected),
                 ""};
  return Tensor::view_of(make_npy_storage(record, data, header), header.dtype, header.sizes,
                         npy_strides(header), 0);
}

Result<void> write_npy(const Tensor& tensor, Sink& sink) {
  PT2_TRY(const std::string header, tensor_files::print_npy_header(tensor.dtype(), tensor.sizes()));
  PT2_TRY_VOID(sink.write(std::as_bytes(std::span(header))));
  return for_each_piece(
      tensor, [&](const Tensor& piece) { return sink.write(tensor_files::element_bytes(piece)); });
}

Result<NamedTensors> read_npz(const Record& record, const Limits& limits) {
  Diagnostics oddities;
  PT2_TRY(const ZipReader zip, ZipReader::open(record, limits, oddities));
  NamedTensors tensors;
  for (const Entry& entry : zip.entries()) {
    if (!entry.name.ends_with(kSuffix)) return foreign_zip_error(zip, entry);
    PT2_TRY(const Record array, zip.read(entry));
    Result<Tensor> tensor = read_npy(array);
    if (!tensor) return at(std::move(tensor).error(), printable(entry.name));
    tensors.emplace_back(entry.name.substr(0, entry.name.size() - kSuffix.size()),
                         *std::move(tensor));
  }
  return tensors;
}

Result<void> write_npz(const NamedTensors& tensors, Sink& sink) {
  ZipWriter zip(sink, ZipStyle::python);
  for (const auto& [name, tensor] : tensors) {
    StringSink array;
    if (Result<void> written = write_npy(tensor, array); !written)
      return at(std::move(written).error(), printable(name));
    PT2_TRY_VOID(zip.add(name + std::string(kSuffix), std::string_view(array.bytes())));
  }
  return zip.finish();
}

}  // namespace pt2
