#include "base/platform/files.h"
#include "base/printable.h"
#include "pt2/format/npy.h"
#include "pt2/format/safetensors.h"
#include "pt2/tensor_file.h"
#include "tensor_files/bytes.h"
#include "tensor_files/npy_header.h"
#include "tensor_files/safetensors_header.h"
#include "tensor_files/tensor_pieces.h"

namespace pt2 {
namespace {

class NpzWriter : public TensorWriter {
 public:
  explicit NpzWriter(std::unique_ptr<FileSink> sink)
      : sink_(std::move(sink)), zip_(*sink_, ZipStyle::python) {}

  Result<void> add(const std::string& name, const Tensor& tensor) override {
    // The elements are not copied: they may be most of the memory.
    const Result<std::string> header =
        tensor_files::print_npy_header(tensor.dtype(), tensor.sizes());
    if (!header) return at(header.error(), printable(name));
    if (Result<void> checked = check_memory(tensor); !checked)
      return at(checked.error(), printable(name));
    const Result<Tensor> contiguous = tensor.try_contiguous();
    if (!contiguous) return at(contiguous.error(), printable(name) + ": ");
    const Record parts[] = {{std::as_bytes(std::span(*header)), nullptr},
                            {tensor_files::element_bytes(*contiguous), nullptr}};
    return zip_.add(name + ".npy", parts);
  }
  Result<void> finish() override { return zip_.finish(); }

 private:
  std::unique_ptr<FileSink> sink_;
  ZipWriter zip_;
};

// The header precedes the elements but is known last, so elements are first written to a scratch
// file.
class SafetensorsWriter : public TensorWriter {
 public:
  SafetensorsWriter(std::string path, std::unique_ptr<FileSink> sink, int elements)
      : path_(std::move(path)), sink_(std::move(sink)), elements_(elements) {}
  ~SafetensorsWriter() override { files::close(elements_); }
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  Result<void> add(const std::string& name, const Tensor& tensor) override {
    if (dtype_info(tensor.dtype()).safetensors_name.empty())
      return Error{ErrorCode::unsupported,
                   "the safetensors format has no dtype " + std::string(dtype_name(tensor.dtype())),
                   printable(name)};
    bool failed = false;
    Result<void> written = for_each_piece(tensor, [&](const Tensor& piece) -> Result<void> {
      if (files::write(elements_, tensor_files::element_bytes(piece))) return {};
      failed = true;
      return io_error();
    });
    if (!written) return failed ? written : at(written.error(), printable(name) + ": ");
    content_.tensors.emplace_back(name, Tensor::without_elements(tensor.dtype(), tensor.sizes()));
    return {};
  }

  Result<void> finish() override {
    PT2_TRY_VOID(tensor_files::write_safetensors_header(content_, *sink_));
    constexpr size_t kPiece = 1 << 20;
    std::vector<std::byte> piece(kPiece);
    if (!files::rewind(elements_)) return io_error();
    for (;;) {
      const int64_t count = files::read(elements_, piece);
      if (count < 0) return io_error();
      if (count == 0) return sink_->finish();
      PT2_TRY_VOID(sink_->write(std::span(piece).first(static_cast<size_t>(count))));
    }
  }

 private:
  Error io_error() const { return {ErrorCode::io, "cannot write: " + files::reason(), path_}; }

  std::string path_;
  std::unique_ptr<FileSink> sink_;
  int elements_;
  Safetensors content_;
};

}  // namespace

Result<std::unique_ptr<TensorWriter>> TensorWriter::create(const std::string& path) {
  PT2_TRY(const TensorFormat format, tensor_format_of(path));
  if (format == TensorFormat::npy)
    return Error{ErrorCode::argument, "expected a name that ends in .npz or .safetensors", path};
  PT2_TRY(std::unique_ptr<FileSink> sink, FileSink::create(path));
  if (format == TensorFormat::npz)
    return std::unique_ptr<TensorWriter>(new NpzWriter(std::move(sink)));
  // The scratch file is in the same folder, which has room for the elements.
  const int elements = files::create_scratch(path);
  if (elements < 0) return Error{ErrorCode::io, files::reason(), path};
  return std::unique_ptr<TensorWriter>(new SafetensorsWriter(path, std::move(sink), elements));
}

}  // namespace pt2
