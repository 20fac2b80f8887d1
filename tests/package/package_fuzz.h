// One input of the whole-file fuzzer, also used by the mutation test: every step that an untrusted
// file goes through before it runs. Every step must return; most results are not compared.
#ifndef PT2_TESTS_PACKAGE_PACKAGE_FUZZ_H
#define PT2_TESTS_PACKAGE_PACKAGE_FUZZ_H

#include <cstdlib>

#include "pt2/format/draft.h"
#include "pt2/ir/symbols.h"
#include "pt2/package.h"
#include "pt2/save.h"
#include "pt2/verify.h"

namespace pt2::test {

inline Limits fuzz_limits() {
  Limits limits;
  limits.max_entries = 1000;
  limits.max_inflated_bytes = 1 << 20;
  limits.max_json_bytes = 4 << 20;
  limits.max_pickle_opcodes = 100'000;
  return limits;
}

// A package that can be saved must open again.
inline void save_again(const Package& package) {
  const auto contents = package_contents(package);
  if (!contents) return;
  StringSink sink;
  if (!save_package(*contents, sink)) return;
  const auto again = Package::open_bytes(std::as_bytes(std::span(sink.bytes())), nullptr,
                                         "saved.pt2", fuzz_limits());
  if (!again && again.error().code != ErrorCode::limit) std::abort();
}

// If the draft can express a program, the written draft must be readable.
inline void convert_to_draft(const Package& package, const std::string& model) {
  DraftReport report;
  const auto written = package_draft(package, {}, report, model);
  if (written.has_value() != report.inexpressible.empty()) std::abort();
  if (!written) return;
  const std::string json = write_draft(written->module);
  Diagnostics warnings;
  const auto read = read_draft(json, {}, warnings);
  if (!read || write_draft(*read) != json) std::abort();
  (void)from_draft(*read).has_value();
}

inline void fuzz_readable_file(std::span<const std::byte> bytes) {
  // Verification opens the file itself, and continues after errors at which Package stops.
  const Diagnostics findings =
      verify_bytes(bytes, nullptr, "fuzz.pt2", Level::full, {.limits = fuzz_limits()});
  const auto package = Package::open_bytes(bytes, nullptr, "fuzz.pt2", fuzz_limits());
  if (!package) return;
  for (const std::string& model : package->models()) {
    const Program& program = **package->program(model);
    (void)user_input_names(program);
    (void)user_output_names(program);
    for (NodeId id : program.graph.nodes()) {
      const Node& node = program.graph.node(id);
      (void)source_line(node);
      (void)module_path(node);
    }
    const auto payloads = package->payloads(model);
    if (!payloads) {
      // The payloads of a file without errors must be readable.
      if (!findings.has_errors()) std::abort();
      continue;
    }
    uint64_t sum = 0;
    for (const PayloadTensor& payload : (*payloads)->tensors()) {
      if (!payload.tensor.defined() || payload.tensor.numel() == 0 ||
          payload.tensor.numel() > 1'000'000)
        continue;
      const Tensor contiguous = payload.tensor.contiguous();
      sum += std::to_integer<uint64_t>(contiguous.raw_data()[contiguous.nbytes() - 1]);
    }
    volatile uint64_t touched = sum;
    (void)touched;
    Diagnostics warnings;
    (void)package->sample_inputs(warnings, model).has_value();
    convert_to_draft(*package, model);
  }
  save_again(*package);
}

// Returns the bytes with correct checksums, so that damage in a record's content reaches the code
// after the checksum; empty if the container itself is broken.
inline std::string with_right_checksums(std::span<const std::byte> bytes) {
  const auto archive = Archive::open_container_bytes(bytes, nullptr, "fuzz.pt2", fuzz_limits());
  if (!archive) return {};
  StringSink sink;
  ZipWriter writer(sink, ZipStyle::torch);
  for (const Entry& entry : archive->zip().entries()) {
    if (entry.deflated || !writer.add(entry.name, bytes.subspan(entry.data_offset, entry.size)))
      return {};
  }
  return writer.finish() ? sink.take() : std::string();
}

inline void fuzz_file(std::span<const std::byte> bytes) {
  fuzz_readable_file(bytes);
  const std::string repaired = with_right_checksums(bytes);
  if (!repaired.empty()) fuzz_readable_file(std::as_bytes(std::span(repaired)));
}

}  // namespace pt2::test

#endif  // PT2_TESTS_PACKAGE_PACKAGE_FUZZ_H
