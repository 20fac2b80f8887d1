#include <algorithm>

#include "pt2/format/archive.h"

namespace pt2 {
namespace {

using namespace std::string_view_literals;

struct Magic {
  size_t offset;
  std::string_view bytes;
  std::string_view what;
};

// Files that people pass to a program that expects a .pt2. If one mark contains another, the longer
// mark comes first.
// clang-format off
constexpr Magic kMagics[] = {
    {0, "version https://git-lfs"sv, "a Git LFS pointer; git lfs pull downloads the file"},
    {0, "<!DOCTYPE"sv,               "an HTML page, not a download"},
    {0, "<!doctype"sv,               "an HTML page, not a download"},
    {0, "<html"sv,                   "an HTML page, not a download"},
    {0, "PYTORCH1"sv,                "a PyTorch file from before version 1"},
    {0, "GGUF"sv,                    "a GGUF file"},
    {0, "\x89HDF\r\n"sv,             "an HDF5 file"},
    {0, "\x93NUMPY"sv,               "a NumPy array (.npy)"},
    {0, "\x7f" "ELF"sv,              "a compiled library or program (ELF)"},
    {0, "\x1f\x8b"sv,                "gzip-compressed; unpack it first"},
    {0, "\x28\xb5\x2f\xfd"sv,        "zstd-compressed; unpack it first"},
    {0, "\xfd" "7zXZ"sv,             "xz-compressed; unpack it first"},
    {0, "7z\xbc\xaf"sv,              "a 7z archive"},
    {4, "ET12"sv,                    "an ExecuTorch program (.pte)"},
    {4, "TFL3"sv,                    "a TensorFlow Lite model"},
    {257, "ustar"sv,                 "a tar archive; unpack it first"},
    {8, "{\""sv,                     "a safetensors file: weights without a program"},
    {0, "\x80\x02"sv,                "a plain pickle, such as torch.save wrote before 1.6"},
    {0, "\x80\x03"sv,                "a plain pickle"},
    {0, "\x80\x04"sv,                "a plain pickle"},
    {0, "\x80\x05"sv,                "a plain pickle"},
    {0, "\x08"sv,                    "probably an ONNX model or another protocol buffer"},
    {0, "\xef\xbb\xbf"sv,            "text with a byte order mark; save it as UTF-8 without one"},
    {0, "\xff\xfe"sv,                "text in UTF-16; save it as UTF-8"},
    {0, "\xfe\xff"sv,                "text in UTF-16; save it as UTF-8"},
    {0, "{\0"sv,                     "text in UTF-16; save it as UTF-8"},
    {0, "{"sv,                       "JSON text"},
};
// clang-format on

bool is_text(std::string_view text) {
  constexpr size_t kLooked = 512;
  return std::ranges::all_of(text.substr(0, kLooked), [](char c) {
    return (c >= ' ' && c <= '~') || c == '\n' || c == '\r' || c == '\t';
  });
}

}  // namespace

std::string_view recognise_foreign_file(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.empty()) return "empty";
  for (const Magic& magic : kMagics)
    if (text.size() > magic.offset && text.substr(magic.offset).starts_with(magic.bytes))
      return magic.what;
  return is_text(text) ? "text" : "";
}

}  // namespace pt2
