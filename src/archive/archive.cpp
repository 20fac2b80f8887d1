#include "pt2/format/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "archive/layout.h"
#include "base/json_keys.h"
#include "base/mapped_file.h"
#include "base/printable.h"

namespace pt2 {
namespace {

// Majors of the export schema that torch 2.1 to 2.7 wrote into flat archives; 3, 4 and 6 were never
// released.
constexpr int kMinMajor = 1;
constexpr int kMaxMajor = 8;
// torch::serialize::kMinSupportedFileFormatVersion and kMaxSupportedFileFormatVersion.
constexpr int kMinFileVersion = 1;
constexpr int kMaxFileVersion = 10;
// Version and byte order records have only a few bytes.
constexpr uint64_t kMaxTextRecord = 64;

std::optional<int> leading_number(std::string_view text) {
  int number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc()) return std::nullopt;
  const std::string_view rest(end, static_cast<size_t>(text.data() + text.size() - end));
  return rest.empty() || rest.front() == '.' || rest.front() == '\n' ? std::optional(number)
                                                                     : std::nullopt;
}

std::string_view first_component(std::string_view name) {
  const size_t slash = name.find('/');
  return slash == name.npos ? std::string_view() : name.substr(0, slash);
}

// True for records that are decoded as JSON: programs, and configs that tell where their tensors
// lie.
bool is_json(Role role) {
  return role == Role::program || role == Role::weights_config || role == Role::constants_config;
}

// True if reading a record checks its CRC. check_all_crcs checks payloads; the pickle inside a
// torch.save record has a CRC of its own.
bool is_checked_when_read(Role role) {
  switch (role) {
    case Role::program:
    case Role::weights_config:
    case Role::constants_config:
    case Role::opaque_object:
    case Role::extra:
    case Role::metadata:
      return true;
    case Role::weights:
    case Role::constants:
    case Role::raw_weight:
    case Role::raw_constant:
    case Role::custom_object:
    case Role::sample_inputs:
    case Role::aotinductor:
    case Role::executorch:
    case Role::unknown:
      return false;
  }
  return false;
}

// Other zip files from PyTorch or its surroundings, recognised by an entry that only they have.
struct ForeignZip {
  std::string_view suffix;
  std::string_view what;
  std::string_view remedy = "";
};
constexpr ForeignZip kForeignZips[] = {
    {"/constants.pkl", "a TorchScript file", "; export its module with torch.export.export"},
    {"/data.pkl", "a torch.save checkpoint: objects without a program",
     "; torch.export.save writes programs"},
    {".npy", "a NumPy archive (.npz)"},
    {"META-INF/MANIFEST.MF", "a Java archive"},
    {"word/document.xml", "a Word document"},
};

}  // namespace

Result<Archive> Archive::open(const std::string& path, const Limits& limits) {
  PT2_TRY(const std::shared_ptr<const MappedFile> file,
          MappedFile::open(path, limits.max_stream_bytes));
  PT2_TRY(Archive archive, open_bytes(file->bytes(), file, path, limits));
  archive.file_ = file;
  // Standard input and other devices have no neighbouring files.
  if (path.starts_with("/dev/")) return archive;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  archive.folder_ = folder.empty() ? "." : folder;
  return archive;
}

// Returns nothing for JSON of an unknown kind: it is a foreign file.
std::optional<Archive> Archive::open_document(std::span<const std::byte> bytes,
                                              std::shared_ptr<const void> owner, std::string name,
                                              const Limits& limits) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (document_kind(text) == DocumentKind::unknown) return std::nullopt;
  Archive archive;
  archive.name_ = std::move(name);
  archive.limits_ = limits;
  archive.era_ = Era::document;
  archive.zip_ = ZipReader::of_single(bytes, std::move(owner), std::string(kDocumentRecord));
  archive.count_roles();
  return archive;
}

Result<Archive> Archive::open_container(const std::string& path, const Limits& limits) {
  PT2_TRY(const std::shared_ptr<const MappedFile> file,
          MappedFile::open(path, limits.max_stream_bytes));
  PT2_TRY(Archive archive, open_container_bytes(file->bytes(), file, path, limits));
  archive.file_ = file;
  return archive;
}

Result<Archive> Archive::open_container_bytes(std::span<const std::byte> bytes,
                                              std::shared_ptr<const void> owner, std::string name,
                                              const Limits& limits) {
  Archive archive;
  archive.name_ = std::move(name);
  archive.limits_ = limits;
  Diagnostics findings;
  Result<ZipReader> zip = ZipReader::open(bytes, owner, limits, findings);
  if (!zip) return archive.not_a_zip(std::move(zip).error(), bytes);
  for (const Diagnostic& finding : findings.all())
    archive.warnings_.add(finding.rule, archive.name_ + "!" + finding.where, finding.text);
  archive.zip_ = *std::move(zip);
  archive.find_layout();
  archive.count_roles();
  return archive;
}

Result<Archive> Archive::open_bytes(std::span<const std::byte> bytes,
                                    std::shared_ptr<const void> owner, std::string name,
                                    const Limits& limits) {
  if (auto document = open_document(bytes, owner, name, limits)) return *std::move(document);
  PT2_TRY(Archive archive, open_container_bytes(bytes, std::move(owner), std::move(name), limits));
  PT2_TRY_VOID(archive.era_ == Era::flat ? archive.check_flat() : archive.check_content());
  PT2_TRY_VOID(archive.check_payloads());
  archive.collect_warnings();
  return archive;
}

Error Archive::not_a_zip(Error error, std::span<const std::byte> bytes) const {
  const std::string_view what = recognise_foreign_file(bytes);
  if (error.code != ErrorCode::malformed || what.empty()) return at(std::move(error), name_ + "!");
  return this->error(ErrorCode::malformed, fmt::format("not a .pt2 file: it is {}", what));
}

// Finds the root folder and the era. The root is the first folder in the first entry's name, as in
// PyTorchStreamReader.
void Archive::find_layout() {
  const std::span<const Entry> entries = zip_.entries();
  for (const LayoutRow& row : layout_rows()) {
    if (row.eras != kFlat || row.role == Role::extra || row.role == Role::metadata) continue;
    if (zip_.find(row.pattern) == nullptr) continue;
    era_ = Era::flat;
    return;
  }
  if (!entries.empty()) root_ = first_component(entries.front().name);
  const auto has_any = [&](Era era, Role a, Role b) {
    return std::ranges::any_of(entries, [&](const Entry& entry) {
      const Role found = classify_record(era, relative_name(entry)).role;
      return found == a || found == b;
    });
  };
  const bool pickled = has_any(Era::pickled_payloads, Role::weights, Role::constants) &&
                       !has_any(Era::raw_payloads, Role::weights_config, Role::constants_config);
  era_ = pickled ? Era::pickled_payloads : Era::raw_payloads;
}

void Archive::count_roles() {
  for (const Entry& entry : zip_.entries()) {
    const RecordRole found = role(entry);
    ++role_counts_[static_cast<size_t>(found.role)];
    if (found.role == Role::program) models_.emplace_back(found.name);
    if (!entry.deflated || !is_json(found.role)) continue;
    deflated_json_ += entry.compressed_size;
    inflated_json_ += entry.size;  // at most max_inflated_bytes each
  }
}

Error Archive::error(ErrorCode code, std::string message, std::string_view record) const {
  std::string where = name_;
  if (!record.empty()) where += "!" + printable(record);
  return {code, std::move(message), std::move(where)};
}

Result<std::string> Archive::read_text(std::string_view name) const {
  const Entry* entry = find(name);
  if (entry == nullptr)
    return error(ErrorCode::invalid, fmt::format("the archive has no record {}", name));
  if (entry->size > kMaxTextRecord)
    return error(ErrorCode::invalid,
                 fmt::format("found {} bytes, expected at most {}", entry->size, kMaxTextRecord),
                 name);
  PT2_TRY(const Record record, read(name));
  return std::string(record.text());
}

Result<void> Archive::check_flat() {
  PT2_TRY(version_text_, read_text("version"));
  const std::optional<int> major = leading_number(version_text_);
  if (!major)
    return error(ErrorCode::invalid,
                 fmt::format("found '{}', expected a version number", printable(version_text_)),
                 "version");
  if (*major < kMinMajor || *major > kMaxMajor)
    return error(ErrorCode::unsupported,
                 fmt::format("found schema version {}, expected {} to {}", printable(version_text_),
                             kMinMajor, kMaxMajor),
                 "version");
  return {};
}

// Names the kind of a zip without archive_format.
Error Archive::foreign_zip_error() const {
  const auto has = [&](std::string_view suffix) {
    return std::ranges::any_of(zip_.entries(),
                               [&](const Entry& entry) { return entry.name.ends_with(suffix); });
  };
  if (zip_.find("archive_format") != nullptr)
    return error(ErrorCode::invalid,
                 "found the records at the top level, expected them in one root folder");
  for (const ForeignZip& foreign : kForeignZips)
    if (models_.empty() && has(foreign.suffix))
      return error(ErrorCode::malformed,
                   fmt::format("not a .pt2 file: it is {}{}", foreign.what, foreign.remedy));
  if (models_.empty())
    return error(ErrorCode::malformed,
                 "not a .pt2 file: it is a zip file without archive_format and without a program");
  return error(ErrorCode::invalid, "the archive has no record archive_format");
}

Result<void> Archive::check_package() {
  if (root_.empty() || find("archive_format") == nullptr) return foreign_zip_error();
  for (const Entry& entry : zip_.entries())
    if (first_component(entry.name) != root_)
      return error(ErrorCode::invalid,
                   fmt::format("the record lies outside the root folder {}", printable(root_)),
                   entry.name);
  PT2_TRY(const std::string format, read_text("archive_format"));
  if (format != "pt2")
    return error(ErrorCode::unsupported,
                 fmt::format("found '{}', expected 'pt2'", printable(format)), "archive_format");
  PT2_TRY(version_text_, read_text("archive_version"));
  if (version_text_ != "0")
    return error(ErrorCode::unsupported,
                 fmt::format("found '{}', expected '0'", printable(version_text_)),
                 "archive_version");
  PT2_TRY(const std::string file_version, read_text(".data/version"));
  const std::optional<int> number = leading_number(file_version);
  if (!number || *number < kMinFileVersion || *number > kMaxFileVersion)
    return error(ErrorCode::unsupported,
                 fmt::format("found '{}', expected {} to {}", printable(file_version),
                             kMinFileVersion, kMaxFileVersion),
                 ".data/version");
  if (find("byteorder") == nullptr) return {};
  PT2_TRY(const std::string order, read_text("byteorder"));
  if (order != "little")
    return error(order == "big" ? ErrorCode::unsupported : ErrorCode::invalid,
                 fmt::format("found '{}', expected 'little'", printable(order)), "byteorder");
  return {};
}

// Reports an archive that holds only compiled code, whether the package is sound or not.
Result<void> Archive::check_content() {
  // 2.5 to 2.7 pack compiled code without a root folder (torch/_inductor/package/package.py).
  const bool is_old_code = root_.empty() && models_.empty() && has_role(Role::aotinductor) &&
                           find("archive_format") != nullptr;
  Result<void> checked = is_old_code ? Result<void>() : check_package();
  if (!models_.empty()) return checked;
  const std::string_view only =
      has_role(Role::aotinductor)  ? "code that AOTInductor compiled (data/aotinductor)"
      : has_role(Role::executorch) ? "ExecuTorch programs (data/executorch)"
                                   : "";
  const std::string content =
      fmt::format("the package holds only {}, and no exported program", only);
  if (!checked) {
    Error broken = std::move(checked).error();
    if (!only.empty()) broken.message += "; " + content;
    return broken;
  }
  if (!only.empty()) return error(ErrorCode::unsupported, content);
  return error(ErrorCode::invalid, "found no program in the archive, expected models/<name>.json");
}

bool Archive::names_its_payloads(std::string_view model) const {
  const auto record = read(program_record(model));
  if (!record) return false;
  return document_kind(record->text()) == DocumentKind::container ||
         has_outermost_key(record->text(), "tensor_paths");
}

Result<void> Archive::check_payloads() const {
  // 2.1 had no constants record; every later release writes all records of its era, even empty
  // ones.
  constexpr Role kRequired[] = {Role::program, Role::weights, Role::weights_config, Role::constants,
                                Role::constants_config};
  for (const std::string& model : models())
    for (Role needed : kRequired) {
      const std::string record = record_name(needed, model);
      if (record.empty() || find(record) != nullptr ||
          (era_ == Era::flat && needed == Role::constants) || names_its_payloads(model))
        continue;
      return error(ErrorCode::invalid,
                   fmt::format("the archive has no record {}", printable(record)));
    }
  if (models_.empty())
    return error(ErrorCode::invalid, "the archive has no record serialized_exported_program.json");
  return {};
}

void Archive::collect_warnings() {
  for (const std::string& model : models_) {
    const std::string inputs = record_name(Role::sample_inputs, model);
    // PyTorch loads no containers, so their sample inputs do not matter.
    if (era_ != Era::flat && find(inputs) == nullptr && !names_its_payloads(model))
      warnings_.add(Rule::missing_sample_inputs, name_,
                    fmt::format("the archive has no record {}", printable(inputs)));
  }
  for (const Entry& entry : zip_.entries())
    if (role(entry).role == Role::unknown)
      warnings_.add(Rule::unknown_record, name_ + "!" + printable(relative_name(entry)),
                    "the format has no record of this name");
  for (Role compiled : {Role::aotinductor, Role::executorch})
    if (has_role(compiled))
      warnings_.add(Rule::unsupported_content, name_,
                    fmt::format("the archive also holds {} records", role_name(compiled)));
}

std::string Archive::record_name(Role wanted, std::string_view model) const {
  std::string first;
  for (const LayoutRow& row : layout_rows()) {
    if (row.role != wanted || !(row.eras & era_bit(era_))) continue;
    std::string name = expand_pattern(row.pattern, model);
    if (find(name) != nullptr) return name;
    if (first.empty()) first = std::move(name);
  }
  return first;
}

std::vector<Archive::ExtraFile> Archive::extra_files() const {
  std::vector<ExtraFile> files;
  for (const Entry& entry : zip_.entries())
    if (const RecordRole found = role(entry); found.role == Role::extra)
      files.push_back({std::string(found.name), &entry});
  return files;
}

const Entry* Archive::find(std::string_view name) const {
  if (root_.empty()) return zip_.find(name);
  return zip_.find(fmt::format("{}/{}", root_, name));
}

std::string_view Archive::relative_name(const Entry& entry) const {
  const std::string_view name = entry.name;
  const bool inside = !root_.empty() && first_component(name) == root_;
  return inside ? name.substr(root_.size() + 1) : name;
}

Result<Record> Archive::read(std::string_view name) const {
  const Entry* entry = find(name);
  if (entry == nullptr)
    return error(ErrorCode::invalid, fmt::format("the archive has no record {}", printable(name)));
  const Role kind = role(*entry).role;
  if (is_json(kind) && entry->deflated) PT2_TRY_VOID(check_json_ratio(name));
  Result<Record> record = zip_.read(*entry, is_checked_when_read(kind));
  if (!record) return error(record.error().code, record.error().message, name);
  if (is_json(kind)) record->growth = std::min(record->growth, json_growth());
  return record;
}

Result<void> Archive::check_json_ratio(std::string_view name) const {
  constexpr uint64_t kAlwaysInflated = 16 << 20;
  if (inflated_json_ <= kAlwaysInflated ||
      inflated_json_ / std::max<uint64_t>(limits_.max_json_ratio, 1) <= deflated_json_)
    return {};
  return error(ErrorCode::limit,
               fmt::format("{} bytes of JSON inflate to {}, more than max_json_ratio {} allows",
                           deflated_json_, inflated_json_, limits_.max_json_ratio),
               name);
}

// Returns the factor by which the limits of each JSON record shrink. Real JSON deflates by up to
// fifty times, so all records together may always take kAlwaysDecoded bytes. Each record gets its
// share of the total.
double Archive::json_growth() const {
  constexpr double kAlwaysDecoded = 128 << 20;
  const auto ratio = static_cast<double>(limits_.max_program_ratio);
  const double allowed = std::max(kAlwaysDecoded, ratio * static_cast<double>(deflated_json_));
  return std::max(1.0, ratio * static_cast<double>(inflated_json_) / allowed);
}

std::shared_ptr<Storage> make_storage(const Record& record, size_t alignment) {
  if (reinterpret_cast<uintptr_t>(record.bytes.data()) % alignment == 0)
    return Storage::borrow_read_only(record.bytes, record.owner);
  std::shared_ptr<Storage> copy = Storage::allocate(record.bytes.size());
  std::ranges::copy(record.bytes, copy->data());
  return copy;
}

}  // namespace pt2
