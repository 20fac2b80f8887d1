#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/printable.h"
#include "pt2/format/npy.h"
#include "pt2/format/safetensors.h"
#include "pt2/tensor_file.h"
#include "tensor_files/bytes.h"
#include "tensor_files/safetensors_header.h"

namespace pt2 {
namespace {

class NpzWriter : public TensorWriter {
 public:
  explicit NpzWriter(std::unique_ptr<FileSink> sink)
      : sink_(std::move(sink)), zip_(*sink_, ZipStyle::python) {}

  Result<void> add(const std::string& name, const Tensor& tensor) override {
    StringSink array;
    if (Result<void> written = write_npy(tensor, array); !written)
      return at(std::move(written).error(), printable(name));
    return zip_.add(name + ".npy", std::string_view(array.bytes()));
  }
  Result<void> finish() override { return zip_.finish(); }

 private:
  std::unique_ptr<FileSink> sink_;
  ZipWriter zip_;
};

// The header comes first but is known last, so the elements wait in a nameless file.
class SafetensorsWriter : public TensorWriter {
 public:
  SafetensorsWriter(std::string path, std::unique_ptr<FileSink> sink, int elements)
      : path_(std::move(path)), sink_(std::move(sink)), elements_(elements) {}
  ~SafetensorsWriter() override { close(elements_); }
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  Result<void> add(const std::string& name, const Tensor& tensor) override {
    if (dtype_info(tensor.dtype()).safetensors_name.empty())
      return Error{ErrorCode::unsupported,
                   "the safetensors format has no dtype " + std::string(dtype_name(tensor.dtype())),
                   printable(name)};
    const Tensor contiguous = tensor.contiguous();
    std::span<const std::byte> bytes = tensor_files::element_bytes(contiguous);
    while (!bytes.empty()) {
      const ssize_t count = write(elements_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return io_error();
      bytes = bytes.subspan(static_cast<size_t>(count));
    }
    content_.tensors.emplace_back(name, Tensor::without_elements(tensor.dtype(), tensor.sizes()));
    return {};
  }

  Result<void> finish() override {
    PT2_TRY_VOID(tensor_files::write_safetensors_header(content_, *sink_));
    constexpr size_t kPiece = 1 << 20;
    std::string piece(kPiece, '\0');
    if (lseek(elements_, 0, SEEK_SET) != 0) return io_error();
    for (;;) {
      const ssize_t count = read(elements_, piece.data(), piece.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return io_error();
      if (count == 0) return sink_->finish();
      PT2_TRY_VOID(sink_->write(std::as_bytes(std::span(piece).first(static_cast<size_t>(count)))));
    }
  }

 private:
  Error io_error() const {
    return {ErrorCode::io, "cannot write: " + std::generic_category().message(errno), path_};
  }

  std::string path_;
  std::unique_ptr<FileSink> sink_;
  int elements_;
  Safetensors content_;
};

// Opens the nameless file in the same folder, where there is room for the elements. Error `io`.
Result<int> open_nameless(const std::string& path) {
#ifdef __wasi__  // where no other process is
  const std::string name = path + ".tmp";
  const int descriptor = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
#else
  std::string name = path + ".XXXXXX";
  const int descriptor = mkstemp(name.data());
#endif
  if (descriptor < 0) return Error{ErrorCode::io, std::generic_category().message(errno), path};
  unlink(name.c_str());
  return descriptor;
}

}  // namespace

Result<std::unique_ptr<TensorWriter>> TensorWriter::create(const std::string& path) {
  PT2_TRY(const TensorFormat format, tensor_format_of(path));
  if (format == TensorFormat::npy)
    return Error{ErrorCode::argument, "expected a name that ends in .npz or .safetensors", path};
  PT2_TRY(std::unique_ptr<FileSink> sink, FileSink::create(path));
  if (format == TensorFormat::npz)
    return std::unique_ptr<TensorWriter>(new NpzWriter(std::move(sink)));
  PT2_TRY(const int elements, open_nameless(path));
  return std::unique_ptr<TensorWriter>(new SafetensorsWriter(path, std::move(sink), elements));
}

}  // namespace pt2
