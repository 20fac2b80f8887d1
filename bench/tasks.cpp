#include "bench/tasks.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "pt2/format/archive.h"
#include "pt2/format/schema_json.h"

namespace pt2::bench {
namespace {

Result<Record> read_program_json(const std::string& path) {
  PT2_TRY(Archive archive, Archive::open(path));
  return archive.read(archive.program_record(archive.models()[0]));
}

Result<Job> prepare_decode(const std::string& path, unsigned) {
  PT2_TRY(Record json, read_program_json(path));
  auto run = [json]() -> Result<void> {
    Diagnostics warnings;
    PT2_TRY(schema::ExportedProgram program,
            schema::decode_program(json.text(), Limits{}, warnings));
    return {};
  };
  return Job{json.bytes.size(), std::move(run)};
}

Result<Job> prepare_encode(const std::string& path, unsigned) {
  PT2_TRY(Record json, read_program_json(path));
  Diagnostics warnings;
  PT2_TRY(schema::ExportedProgram program, schema::decode_program(json.text(), Limits{}, warnings));
  auto run = [json, program]() -> Result<void> {
    if (schema::encode_program(program) == json.text()) return {};
    return Error{ErrorCode::invalid, "the program is not written back as it was read", ""};
  };
  return Job{json.bytes.size(), std::move(run)};
}

uint64_t sum(std::span<const std::byte> bytes) {
  uint64_t total = 0;
  for (size_t i = 0; i + sizeof(uint64_t) <= bytes.size(); i += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, sizeof word);
    total += word;
  }
  return total;
}

Result<Job> prepare_crc(const std::string& path, unsigned threads) {
  PT2_TRY(Archive archive, Archive::open_container(path));
  uint64_t bytes = 0;
  for (const Entry& entry : archive.zip().entries()) bytes += entry.size;
  auto run = [zip = archive.zip(), threads]() -> Result<void> {
    Diagnostics found;
    check_all_crcs(zip, found, threads);
    if (!found.empty()) return Error{ErrorCode::corrupt, found.all()[0].text, found.all()[0].where};
    return {};
  };
  return Job{bytes, std::move(run)};
}

// Measures the memory bandwidth that checksums are compared with: adds up the same mapped bytes.
Result<Job> prepare_read(const std::string& path, unsigned threads) {
  PT2_TRY(Record file, map_file(path));
  auto run = [file, threads, path]() -> Result<void> {
    std::vector<uint64_t> totals(threads);
    std::vector<std::thread> others;
    const size_t part = file.bytes.size() / threads;
    auto work = [&](unsigned i) { totals[i] = sum(file.bytes.subspan(i * part, part)); };
    for (unsigned i = 1; i < threads; ++i) others.emplace_back(work, i);
    work(0);
    for (std::thread& other : others) other.join();
    // The result depends on every total, so the compiler cannot remove the reads.
    if (std::ranges::count(totals, 0u) < threads) return {};
    return Error{ErrorCode::invalid, "there is nothing but zeros to read", path};
  };
  return Job{file.bytes.size(), std::move(run)};
}

constexpr Task kTasks[] = {
    {"decode", "program JSON to schema::ExportedProgram, and free it", prepare_decode},
    {"encode", "schema::ExportedProgram to program JSON, compared with the file's", prepare_encode},
    {"crc", "check the CRC-32 of every record", prepare_crc},
    {"read", "read every byte of the file", prepare_read},
};

}  // namespace

std::span<const Task> tasks() { return kTasks; }

}  // namespace pt2::bench
