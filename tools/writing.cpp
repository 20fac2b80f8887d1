#include "tools/writing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <set>

#include "base/memory_account.h"
#include "base/platform.h"
#include "base/platform/files.h"
#include "base/printable.h"
#include "pt2/format/schema_json.h"
#include "pt2/format/stored_json.h"
#include "pt2/format/zip.h"
#include "pt2/model.h"
#include "pt2/ops/verify_operators.h"
#include "pt2/tools/compare.h"
#include "pt2/verify.h"
#include "run/call_budget.h"
#include "run/copy_of.h"
#include "serde/from_schema.h"
#include "tools/json_members.h"
#include "tools/table.h"
#include "tools/values/inputs.h"

namespace pt2::tools {
namespace {

constexpr size_t kShownLines = 20;

// Writes after what the stream holds. Opening /dev/stdout would replace the file behind it.
class StreamSink : public Sink {
 public:
  explicit StreamSink(std::FILE* stream) : stream_(stream) {}
  Result<void> write(std::span<const std::byte> bytes) override {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stream_) != bytes.size()) return failed();
    written_ += bytes.size();
    return {};
  }
  Result<void> finish() override {
    return std::fflush(stream_) == 0 ? Result<void>() : Result<void>(failed());
  }
  uint64_t written() const { return written_; }

 private:
  static Error failed() {
    return {ErrorCode::io, "cannot write: " + files::reason(),
            shown_output(std::string(kOutputDevice))};
  }
  std::FILE* stream_;
  uint64_t written_ = 0;
};

// Saves the contents and opens the file. Removes the file's name right after opening, so that
// nothing stays behind.
Result<std::shared_ptr<const Package>> trial_package(const Writing& writing,
                                                     const PackageContents& contents) {
  namespace fs = std::filesystem;
  const fs::path output(writing.output);
  std::error_code ignored;
  const bool is_beside = writing.output != kOutputDevice &&
                         (!fs::exists(output, ignored) || fs::is_regular_file(output, ignored));
  const fs::path folder = is_beside ? output.parent_path() : fs::temp_directory_path(ignored);
  const std::string path = (folder / fmt::format(".pt2-check-{}.tmp", process_id())).string();
  const Result<void> saved = save_package(contents, path);
  Result<Package> trial = Package::open(path, writing.source.limits);
  fs::remove(path, ignored);
  if (!saved)  // the user knows the folder by the name of the output
    return Error{saved.error().code, saved.error().message, is_beside ? writing.output : path};
  if (!trial) return std::move(trial).error();
  // Windows cannot remove a mapped file, so it is removed again after closing.
  const auto close = [path](const Package* opened) {
    delete opened;
    std::error_code unknown;
    fs::remove(path, unknown);
  };
  return std::shared_ptr<const Package>(new Package(*std::move(trial)), close);
}

// Compares results for the same inputs. Matches inputs and outputs by position: an edit may have
// renamed them.
Result<bool> runs_alike(const Writing& writing, const std::shared_ptr<const Package>& package,
                        const std::shared_ptr<const Package>& trial, const std::string& name,
                        Environment& environment) {
  const LoadOptions options{.limits = writing.source.limits, .model = name};
  PT2_TRY(const Model before, Model::from_package(package, options));
  PT2_TRY(const Model after, Model::from_package(trial, options));
  PT2_TRY(const CallInputs inputs, sample_or_random_inputs(before, name, 0, environment));
  Session old_run(before, inputs.session()), new_run(after, inputs.session());
  // The results of both runs are held together, so both may hold the memory of one call.
  const MemoryAccount::Scope scope(run::open_account_of_calls({&old_run, &new_run}, inputs.values));
  const auto run = [&](Session& session) {
    return within_memory([&] {
      std::vector<Value> own;  // the program may write to its inputs
      for (const Value& input : inputs.values) own.push_back(copy_of(input));
      return session.run(own);
    });
  };
  PT2_TRY(const std::vector<Value> expected, run(old_run));
  PT2_TRY(const std::vector<Value> found, run(new_run));
  bool alike = true;
  const auto differs = [&](size_t i, std::string_view how) {
    alike = false;
    print(environment.err, fmt::format("pt2: {}: {}\n", printable(before.outputs()[i].name), how));
  };
  for (size_t i = 0; i < expected.size(); ++i) {
    if (i >= found.size()) {
      differs(i, "the new program does not return it");
      continue;
    }
    const Comparison comparison = compare(found[i], expected[i]);
    if (!comparison.equal()) differs(i, comparison.difference);
  }
  return alike;
}

Result<bool> all_run_alike(const Writing& writing, const Package& package,
                           const PackageContents& contents, Environment& environment) {
  const auto before = std::make_shared<const Package>(package);
  PT2_TRY(const auto trial, trial_package(writing, contents));
  bool alike = true;
  for (const SavedProgram& program : contents.programs) {
    PT2_TRY(const bool own, runs_alike(writing, before, trial, program.name, environment));
    alike &= own;
  }
  return alike;
}

std::string report_text(const Writing& writing, uint64_t before, uint64_t after,
                        const std::vector<std::string>& lines) {
  std::string out;
  for (size_t i = 0; i < std::min(lines.size(), kShownLines); ++i)
    out += printable(lines[i], 400) + "\n";
  if (lines.size() > kShownLines)
    out += fmt::format("and {}\n", counted(lines.size() - kShownLines, "more change"));
  return out + fmt::format("{}: {}, {}\n", printable(shown_output(writing.output)),
                           counted(lines.size(), "change"), changed_bytes_text(before, after));
}

// Counts the fields that no known schema has, by record and name: "Node.colour". Places do not
// matter: a change may move the records.
Result<std::map<std::string, size_t>> unknown_fields(std::string_view json, const Limits& limits) {
  Diagnostics warnings;
  PT2_TRY(const schema::ExportedProgram decoded, schema::decode_program(json, limits, warnings));
  static_cast<void>(decoded);
  std::map<std::string, size_t> out;
  for (const Diagnostic& warning : warnings.all()) {
    if (warning.rule != Rule::unknown_field) continue;
    const std::string_view place = warning.where;
    const size_t last = place.find_last_of(place.ends_with(']') ? '[' : '.');
    ++out[warning.text.substr(0, warning.text.find(' ')) +
          std::string(place.substr(std::min(last, place.size())))];
  }
  return out;
}

void warn_of_lost_fields(std::vector<std::string> fields, std::string_view program_name,
                         Environment& environment) {
  constexpr size_t kMostNames = 5;
  if (fields.empty()) return;
  const size_t others = fields.size() - std::min(fields.size(), kMostNames);
  fields.resize(fields.size() - others);
  print_warning(environment,
                fmt::format("{} no longer has all fields of a newer schema: {}{}", program_name,
                            printable(fmt::format("{}", fmt::join(fields, ", ")), 500),
                            others == 0 ? "" : fmt::format(" and {} more", others)));
}

}  // namespace

std::string shown_output(const std::string& output) {
  return output == kOutputDevice ? "standard output" : output;
}

Option add_written_option(CommandLine& line, std::string& output, const std::string& text) {
  const auto take = [&output](const std::string& file) -> Result<void> {
    output = file == "-" ? kOutputDevice : file;
    return {};
  };
  return line.add_checked("-o,--output", take, text).type_name("FILE");
}

Result<void> check_tensor_file(std::string_view option, const std::string& output) {
  if (output != "-" && output != kOutputDevice) return {};
  return usage_error(fmt::format(
      "{}: found '-', expected the name of a file, whose ending says the format: .npz or "
      ".safetensors",
      option));
}

Result<void> check_takes_bytes(const Environment& environment) {
  if (!environment.out_is_terminal) return {};
  return Error{ErrorCode::argument,
               "-o - writes binary data, and standard output is a terminal; redirect it, or name a "
               "file",
               ""};
}

Result<uint64_t> save_written(const PackageContents& contents, const std::string& output,
                              const Environment& environment) {
  constexpr std::string_view kOthers[] = {".onnx", ".tflite", ".gguf", ".safetensors",
                                          ".npy",  ".npz",    ".json"};
  const std::string ending = std::filesystem::path(output).extension().string();
  if (std::ranges::find(kOthers, ending) != std::end(kOthers))
    return Error{
        ErrorCode::argument,
        fmt::format("found the ending '{}', expected .pt2: that is what is written", ending),
        output};
  if (is_written_to(output, environment.out)) PT2_TRY_VOID(check_takes_bytes(environment));
  if (output != kOutputDevice) {
    PT2_TRY_VOID(save_package(contents, output));
    return size_of(output);
  }
  StreamSink sink(environment.out);
  PT2_TRY_VOID(save_package(contents, sink, root_folder(output)));
  return sink.written();
}

void add_writing_options(CommandLine& line, Writing& writing) {
  add_written_option(line, writing.output);
  line.add_flag("--check", writing.check,
                "run the old and the new program first; write nothing if results\ndiffer");
  add_json_option(line, writing.json);
}

Result<void> check_options_of(std::string_view action, const std::vector<ActionOption>& options) {
  for (const ActionOption& option : options)
    if (option.is_given && std::ranges::find(option.actions, action) == option.actions.end())
      return usage_error(fmt::format("{} does nothing with {}, which is for {}", action,
                                     option.name, fmt::join(option.actions, ", ")));
  return {};
}

Result<void> check_can_change(const Package& package, const std::string& file) {
  if (package.draft() != nullptr)
    return Error{ErrorCode::unsupported,
                 "found an early draft, expected a .pt2 file; pt2 draft FILE -o NEW.pt2 writes one",
                 file};
  if (std::ranges::any_of(package.models(),
                          [&](const std::string& model) { return package.is_member(model); }))
    return Error{ErrorCode::unsupported,
                 "its programs are in a container (schema 8.6 to 8.11), in which none can be "
                 "changed alone",
                 file};
  return {};
}

uint64_t size_of(const std::string& path) {
  std::error_code unknown;
  const uint64_t size = std::filesystem::file_size(path, unknown);
  return unknown ? 0 : size;
}

bool is_written_to(const std::string& path, std::FILE* stream) {
  if (path == kOutputDevice) return true;
  const auto named = files::status(path), opened = files::status(stream);
  return named && opened && named->is_same_file(*opened);
}

Result<std::vector<Diagnostic>> new_findings(const Package& package, const SavedProgram& written,
                                             const Limits& limits) {
  const VerifyOptions options{
      .limits = limits, .threads = 1, .progress = {}, .operators = check_operators};
  std::set<Rule> known;
  const auto remember = [&](const Diagnostics& findings) {
    for (const Diagnostic& finding : findings.all()) known.insert(finding.rule);
  };
  PT2_TRY(const Program* before, package.program(written.name));
  remember(package.warnings());
  remember(verify_program(*before, written.name, Level::full, options));
  Diagnostics warnings, faults;
  PT2_TRY(schema::ExportedProgram decoded, schema::decode_program(written.json, limits, warnings));
  PT2_TRY(const Program after, from_schema(std::move(decoded), faults));
  Diagnostics found;
  for (Diagnostics* findings : {&warnings, &faults}) found.append(std::move(*findings));
  found.append(verify_program(after, written.name, Level::full, options));
  std::vector<Diagnostic> out;
  for (const Diagnostic& finding : found.all())
    if (finding.severity() == Severity::error && !known.contains(finding.rule))
      out.push_back(finding);
  return out;
}

Result<std::vector<std::string>> lost_fields(const Package& package, const SavedProgram& written,
                                             const Limits& limits) {
  std::vector<std::string> lost;
  const std::span<const Diagnostic> warnings = package.warnings().all();
  if (std::ranges::find(warnings, Rule::unknown_field, &Diagnostic::rule) == warnings.end())
    return lost;
  PT2_TRY(const std::string before, stored_json(package, written.name, schema::Print::as_read));
  PT2_TRY(const auto fields, unknown_fields(before, limits));
  PT2_TRY(const auto kept, unknown_fields(written.json, limits));
  for (const auto& [field, count] : fields) {
    const auto found = kept.find(field);
    if (found == kept.end() || found->second < count) lost.push_back(field);
  }
  return lost;
}

Result<bool> is_sound(const Package& package, const PackageContents& contents, const Limits& limits,
                      std::string_view program_name, Environment& environment) {
  bool sound = true;
  for (const SavedProgram& program : contents.programs) {
    PT2_TRY(const std::vector<Diagnostic> findings, new_findings(package, program, limits));
    for (const Diagnostic& finding : findings) {
      if (std::exchange(sound, false))
        print(environment.err,
              fmt::format("pt2: {} breaks rules that the old one keeps; nothing was written\n",
                          program_name));
      print(environment.err, fmt::format("pt2: {}\n", printable(finding.line(), 2000)));
    }
    PT2_TRY(std::vector<std::string> lost, lost_fields(package, program, limits));
    if (sound) warn_of_lost_fields(std::move(lost), program_name, environment);
  }
  return sound;
}

Result<int> write_changed(const Writing& writing, const Package& package,
                          const PackageContents& contents, const std::vector<std::string>& lines,
                          Environment& environment) {
  if (writing.output.empty())
    return Error{ErrorCode::argument, "-o FILE is missing: the .pt2 file to write", ""};
  PT2_TRY(const bool sound,
          is_sound(package, contents, writing.source.limits, "the new program", environment));
  if (!sound) return exit_code(ErrorCode::invalid);
  if (writing.check) {
    PT2_TRY(const bool alike, all_run_alike(writing, package, contents, environment));
    if (!alike) {
      print(environment.err, "pt2: the new program gives other results; nothing was written\n");
      return kDifference;
    }
  }
  const uint64_t before = package.archive().zip().bytes().size();
  PT2_TRY(const uint64_t after, save_written(contents, writing.output, environment));
  std::FILE* report =
      is_written_to(writing.output, environment.out) ? environment.err : environment.out;
  if (!writing.json) {
    print(report, report_text(writing, before, after, lines));
    return kOk;
  }
  print(report, json_object([&](JsonWriter& json) {
          write_text(json, "file", writing.output);
          write_integer(json, "bytes_before", before);
          write_integer(json, "bytes", after);
          write_flag(json, "checked", writing.check);
          write_texts(json, "changes", lines);
        }));
  return kOk;
}

}  // namespace pt2::tools
