// Reads a whole file.
#ifndef PT2_TESTS_READ_FILE_H
#define PT2_TESTS_READ_FILE_H

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace pt2::test {

// Returns the bytes of the file, or nothing if it cannot be read.
inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace pt2::test

#endif  // PT2_TESTS_READ_FILE_H
