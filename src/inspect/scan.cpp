#include "pt2/tools/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <functional>
#include <utility>

#include "archive/zip_format.h"
#include "base/platform.h"
#include "inspect/hazard.h"
#include "inspect/verified_archive.h"
#include "pt2/format/archive.h"
#include "pt2/verify.h"

namespace pt2 {
namespace {

bool is_native(std::string_view name, std::span<const std::byte> head) {
  constexpr std::string_view kEndings[] = {".so", ".dll", ".dylib", ".pyd", ".exe", ".cubin"};
  if (std::ranges::any_of(kEndings, [&](std::string_view end) { return name.ends_with(end); }))
    return true;
  const auto has_at = [&](size_t place, std::string_view magic) {
    return head.size() >= magic.size() && place <= head.size() - magic.size() &&
           std::memcmp(head.data() + place, magic.data(), magic.size()) == 0;
  };
  constexpr std::string_view kMagics[] = {
      "\x7f"
      "ELF",
      "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xca\xfe\xba\xbe"};
  if (std::ranges::any_of(kMagics, [&](std::string_view magic) { return has_at(0, magic); }))
    return true;
  // Windows: two letters are too few to tell code from weights; the header that they lead to is
  // enough.
  constexpr size_t kPointer = 0x3c;
  if (!has_at(0, "MZ") || head.size() < kPointer + sizeof(uint32_t)) return false;
  uint32_t place = 0;
  std::memcpy(&place, head.data() + kPointer, sizeof place);
  return has_at(place, std::string_view("PE\0\0", 4));
}

// The number of an entry's bytes that is_native reads.
constexpr uint64_t kHeadBytes = 4096;

bool is_python(std::string_view name) { return name.ends_with(".py") || name.ends_with(".pyc"); }

// AOTInductor's package loader compiles and links if the library is missing
// (torch/csrc/inductor/aoti_package/model_package_loader.cpp).
bool is_compiled_at_load(std::string_view name) {
  constexpr std::string_view kEndings[] = {".cpp", ".o", "_compile_flags.json",
                                           "_linker_flags.json"};
  return name.find("data/aotinductor/") != name.npos &&
         std::ranges::any_of(kEndings, [&](std::string_view end) { return name.ends_with(end); });
}

// Operators that access files, as TorchScript code spells them.
constexpr std::string_view kScriptFileCalls[] = {
    "torch.save(", "torch.from_file(", "ops.aten.save(", "ops.aten.from_file(", "ops.image."};

class Scanner {
 public:
  Scanner(const std::string& path, const ScanOptions& options) : options_(options) {
    report_.file = path;
  }

  ScanReport run() {
    const VerifiedArchive file = verify_archive(report_.file, Level::full, settings());
    add_rules(file.findings);
    look_into(file.archive, file.findings);
    if (std::error_code unknown;
        !known_zip_ && std::filesystem::is_regular_file(report_.file, unknown))
      if (const auto bytes = map_file(report_.file)) look_behind_front(*bytes);
    std::ranges::stable_sort(report_.findings, std::greater(),
                             [](const ScanFinding& each) { return each.hazard->level; });
    return std::move(report_);
  }

 private:
  VerifyOptions settings() const {
    return {.limits = options_.limits, .threads = options_.threads};
  }

  void add(Hazard hazard, std::string where, std::string text) {
    report_.findings.push_back({&hazard_info(hazard), std::move(where), std::move(text), {}});
  }

  void add_rules(const Diagnostics& findings) {
    for (const Diagnostic& finding : findings.all()) {
      if (finding.rule == Rule::container_opens) {
        add_refusal(finding);
      } else if (const HazardInfo* hazard = hazard_of(finding.rule)) {
        report_.findings.push_back({hazard, finding.where, finding.text, finding.node});
      } else if (finding.code == ErrorCode::limit) {
        add(Hazard::resource_limit, finding.where, finding.text);
      } else if (stops_reading(finding)) {
        leave_unread(finding);
      }
    }
  }

  // True for "FILE!ENTRY", false for "FILE" and "FILE!byte 12". The name of the file may have a `!`
  // itself.
  bool names_entry(std::string_view where) const {
    if (!where.starts_with(report_.file)) return false;
    where.remove_prefix(report_.file.size());
    constexpr std::string_view kByte = "!byte ";
    const bool is_byte = where.starts_with(kByte) &&
                         where.find_first_not_of("0123456789", kByte.size()) == where.npos;
    return where.starts_with('!') && !is_byte;
  }

  // A fault in one entry is a trick of the file; a fault of the whole file means that it is not an
  // archive.
  void add_refusal(const Diagnostic& finding) {
    const bool is_entry = names_entry(finding.where);
    if (finding.code == ErrorCode::limit) {
      add(Hazard::resource_limit, finding.where, finding.text);
    } else if (is_entry && finding.code == ErrorCode::malformed) {
      add(Hazard::entry_name, finding.where, finding.text);
    } else if (is_entry && finding.code == ErrorCode::corrupt) {
      add(Hazard::entry_place, finding.where, finding.text);
    } else {
      refusal_ = finding;
    }
  }

  void leave_unread(const Diagnostic& finding) {
    add(Hazard::not_scanned, finding.where, finding.text);
    if (!report_.unread) report_.unread = Error{finding.code, finding.text, finding.where};
  }

  void look_into(const Result<Archive>& opened, const Diagnostics& verified) {
    if (!opened) return;
    const Archive& archive = *opened;
    known_zip_ = true;
    bool scripted = false;
    for (const Entry& entry : archive.zip().entries()) {
      const std::string place = fmt::format("{}!{}", archive.name(), entry.name);
      if (is_native(entry.name, head_of(archive.zip(), entry).bytes))
        add(Hazard::native_code, place, fmt::format("{} bytes of machine code", entry.size));
      if (is_compiled_at_load(entry.name))
        add(Hazard::compiled_at_load, place, "AOTInductor's source, compiled when it is loaded");
      const bool is_script = entry.name.find("code/__torch__") != std::string::npos;
      if (is_script && entry.name.ends_with(".py")) look_into_script(archive, entry, place);
      if (is_script && !std::exchange(scripted, true))
        add(Hazard::torchscript_code, place, "code of TorchScript");
      else if (!is_script && is_python(entry.name))
        add(Hazard::python_code, place, fmt::format("{} bytes of Python", entry.size));
      const Role role = archive.role(entry).role;
      if (role == Role::custom_object)
        add(Hazard::custom_object, place, "an object of a C++ class");
    }
    for (ScanFinding& finding : find_code_hazards(archive, verified))
      report_.findings.push_back(std::move(finding));
    if (const Entry* entry = zip::find_other_case(archive.zip().entries()))
      add(Hazard::entry_name, fmt::format("{}!{}", archive.name(), entry->name),
          std::string(zip::kOtherCaseFault));
    find_gaps(archive);
  }

  // Empty if the entry is damaged, which verify reports.
  static Record head_of(const ZipReader& zip, const Entry& entry) {
    if (entry.deflated) {
      auto record = zip.read(entry, false);
      return record ? *std::move(record) : Record{};
    }
    return {zip.bytes().subspan(entry.data_offset, std::min(entry.size, kHeadBytes)), nullptr};
  }

  void look_into_script(const Archive& archive, const Entry& entry, const std::string& place) {
    const auto record = archive.zip().read(entry);
    if (!record) return leave_unread({Rule::payload_reads, place, record.error().message});
    for (const std::string_view name : kScriptFileCalls)
      if (record->text().find(name) != std::string_view::npos)
        add(Hazard::script_files, place, fmt::format("its code calls {}...)", name));
  }

  static uint64_t number_at(std::string_view text, size_t place, size_t bytes) {
    uint64_t number = 0;
    std::memcpy(&number, text.data() + place, bytes);
    return number;
  }

  // Returns the number of bytes before the archive. Python's zipfile, which PyTorch uses for flat
  // archives, expects the end records immediately behind the directory, and ignores the stated
  // offsets (zipfile.py, _RealGetContents). A ZIP64 end record replaces the other's numbers.
  static uint64_t bytes_in_front(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const size_t end = text.rfind("PK\x05\x06");
    if (end == text.npos || bytes.size() - end < zip::kEndBytes) return 0;
    uint64_t size = number_at(text, end + 12, 4), offset = number_at(text, end + 16, 4);
    constexpr size_t kRecords64 = zip::kEnd64Bytes + zip::kEnd64LocatorBytes;
    size_t behind_directory = end;
    if (end >= kRecords64 && text.substr(end - zip::kEnd64LocatorBytes).starts_with("PK\x06\x07") &&
        text.substr(end - kRecords64).starts_with("PK\x06\x06")) {
      behind_directory = end - kRecords64;
      size = number_at(text, behind_directory + 40, 8);
      offset = number_at(text, behind_directory + 48, 8);
    }
    const uint64_t whole = saturating_sum(size, offset);
    return whole < behind_directory ? behind_directory - whole : 0;
  }

  void look_behind_front(const Record& file) {
    const uint64_t front = bytes_in_front(file.bytes);
    if (front == 0) return;
    const auto rest = file.bytes.subspan(front);
    add(Hazard::hidden_bytes, report_.file, fmt::format("{} bytes in front of the archive", front));
    const Diagnostics findings =
        verify_bytes(rest, file.owner, report_.file, Level::full, settings());
    add_rules(findings);
    look_into(Archive::open_container_bytes(rest, file.owner, report_.file, options_.limits),
              findings);
  }

  // PyTorch's writer pads inside local headers. Between entries there are only data descriptors, of
  // at most 24 bytes.
  void find_gaps(const Archive& archive) {
    constexpr uint64_t kDescriptor = 24;
    std::vector<const Entry*> order;
    for (const Entry& entry : archive.zip().entries()) order.push_back(&entry);
    std::ranges::sort(order, {}, &Entry::header_offset);
    uint64_t end = 0;
    const auto expect_at = [&](uint64_t place) {
      if (place > end + kDescriptor)
        add(Hazard::hidden_bytes, fmt::format("{}!byte {}", archive.name(), end),
            fmt::format("{} bytes that belong to no entry", place - end));
    };
    for (const Entry* entry : order) {
      expect_at(entry->header_offset);
      end = std::max(end, entry->data_offset + entry->compressed_size);
    }
    expect_at(archive.zip().directory_offset());
  }

 public:
  // A file of another kind that could be scanned, such as a package of compiled code, is not a
  // failure.
  static ScanReport scan(const std::string& path, const ScanOptions& options) {
    Scanner scanner(path, options);
    ScanReport report = scanner.run();
    if (!scanner.refusal_) return report;
    const Diagnostic& refusal = *scanner.refusal_;
    const Hazard hazard = refusal.code == ErrorCode::io ? Hazard::not_opened : Hazard::not_scanned;
    report.findings.push_back({&hazard_info(hazard), refusal.where, refusal.text, {}});
    if (!scanner.known_zip_ || refusal.code == ErrorCode::io)
      report.unread = Error{refusal.code, refusal.text, refusal.where};
    return report;
  }

 private:
  const ScanOptions& options_;
  ScanReport report_;
  bool known_zip_ = false;
  std::optional<Diagnostic> refusal_;
};

}  // namespace

std::optional<HazardLevel> ScanReport::worst() const {
  std::optional<HazardLevel> worst;
  for (const ScanFinding& finding : findings)
    if (!worst || finding.hazard->level > *worst) worst = finding.hazard->level;
  return worst;
}

ScanReport scan(const std::string& path, const ScanOptions& options) {
  return Scanner::scan(path, options);
}

}  // namespace pt2
