#include "pt2/tools/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <map>

#include "base/printable.h"
#include "tools/json_members.h"
#include "tools/run_diff.h"
#include "tools/source.h"
#include "tools/table.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct DiffArguments {
  std::vector<std::string> files;
  DiffOptions diff;
  std::string html;
  bool git = false;
  bool stat = false;
  bool no_weights = false;
  bool json = false;
  RunDiffOptions run;
  Limits limits;
};

// git's arguments for an external diff: path, old file, its hash and mode, new file, hash, mode;
// for a renamed file also its new path and git's own description; for a conflict only the path.
constexpr size_t kGitConflict = 1, kGitArguments = 7, kGitRenamed = 9;
constexpr std::string_view kNoFile = "/dev/null";

void write_change(JsonWriter& json, const Change& change) {
  write_text(json, "section", change_section_name(change.section));
  write_text(json, "kind", change_kind_name(change.kind));
  write_text(json, "program", change.program);
  write_text(json, "what", change.what);
  write_text(json, "before", change.before);
  write_text(json, "after", change.after);
  write_text(json, "module_path", change.module_path);
  write_text(json, "source_line", change.source_line);
}

void print_changes(const Difference& difference, Environment& environment) {
  constexpr Colour kColours[] = {Colour::green, Colour::red, Colour::yellow};
  for (const Change& change : difference.changes)
    print(environment.out,
          coloured(environment, kColours[static_cast<size_t>(change.kind)], change.line()) + "\n");
}

void print_counts(const Difference& difference, Environment& environment) {
  std::map<std::pair<ChangeSection, ChangeKind>, size_t> counts;
  for (const Change& change : difference.changes) ++counts[{change.section, change.kind}];
  for (const auto& [key, count] : counts)
    print(environment.out, fmt::format("{}: {} {}\n", change_section_name(key.first), count,
                                       change_kind_name(key.second)));
}

Result<void> write_html(const DiffArguments& options, const std::vector<std::string>& files,
                        const Package& before, const Package& after, const Difference& difference) {
  PT2_TRY(const Program* left, before.program(options.diff.model));
  PT2_TRY(const Program* right, after.program(options.diff.model));
  const std::string page = diff_html(*left, *right, difference);
  return write_file(options.html, std::as_bytes(std::span(page)), files);
}

Result<int> diff_two(const DiffArguments& options, const std::string& old_file,
                     const std::string& new_file, Environment& environment) {
  for (const std::string& file : {old_file, new_file}) PT2_TRY_VOID(check_is_file(file));
  auto opening = std::async(std::launch::async, [&] {
    return Package::open_briefly(input_path(old_file), options.limits);
  });
  auto opened = Package::open_briefly(input_path(new_file), options.limits);
  PT2_TRY(const Package before, opening.get());
  PT2_TRY(const Package after, std::move(opened));
  DiffOptions wanted = options.diff;
  wanted.weights = !options.no_weights;
  PT2_TRY(const Difference difference, diff(before, after, wanted));
  if (!options.html.empty())
    PT2_TRY_VOID(write_html(options, {old_file, new_file}, before, after, difference));
  if (options.json)
    print(environment.out, json_object([&](JsonWriter& json) {
            write_text(json, "before", old_file);
            write_text(json, "after", new_file);
            write_flag(json, "equal", difference.empty());
            write_objects(json, "changes", difference.changes,
                          [&](const Change& change) { write_change(json, change); });
          }));
  else if (options.stat)
    print_counts(difference, environment);
  else
    print_changes(difference, environment);
  return difference.empty() ? kOk : kDifference;
}

// Always exits with 0, also where a file cannot be read: git takes any other exit code for a crash
// of its diff driver, and shows no other file.
Result<int> diff_for_git(const DiffArguments& options, Environment& environment) {
  const std::vector<std::string>& given = options.files;
  std::string title = "pt2 diff " + printable(given[0]);
  if (given.size() == kGitRenamed) title += " -> " + printable(given[7]);
  print(environment.out, coloured(environment, Colour::bold, title) + "\n");
  if (given.size() == kGitConflict) {
    print(environment.out, "* a conflict, not yet resolved\n");
    return kOk;
  }
  const std::string &old_file = given[1], &new_file = given[4];
  if (old_file == kNoFile || new_file == kNoFile) {
    print(environment.out, old_file == kNoFile ? "+ the file\n" : "- the file\n");
    return kOk;
  }
  const Result<int> compared = diff_two(options, old_file, new_file, environment);
  if (!compared) print_error(environment, compared.error());
  return kOk;
}

Result<int> diff_files(const DiffArguments& options, Environment& environment) {
  const bool of_files = options.diff.semantic || options.no_weights || options.stat ||
                        !options.html.empty() || options.git;
  if (options.run.run && of_files)
    return Error{ErrorCode::argument,
                 "--run compares results, and --semantic, --no-weights, --stat, --html and --git "
                 "are about what the files say: give one or the other",
                 ""};
  if (options.run.inputs.cast && !options.run.run) return usage_error("--cast requires --run");
  if (options.git) {
    constexpr size_t kCounts[] = {kGitConflict, kGitArguments, kGitRenamed};
    if (std::ranges::find(kCounts, options.files.size()) != std::end(kCounts))
      return diff_for_git(options, environment);
    return usage_error(fmt::format("--git: found {}, expected the {} that git gives",
                                   counted(options.files.size(), "argument"), kGitArguments));
  }
  if (options.files.size() != 2)
    return Error{ErrorCode::argument,
                 fmt::format("expected two files, found {}", options.files.size()), ""};
  PT2_TRY_VOID(check_one_standard_input(options.files));
  if (options.run.run) {
    const auto source = [&](const std::string& file) {
      return Source{.file = file, .model = options.diff.model, .limits = options.limits};
    };
    return diff_runs_of(source(options.files[0]), source(options.files[1]), options.run,
                        options.json, environment);
  }
  return diff_two(options, options.files[0], options.files[1], environment);
}

}  // namespace

Action setup_diff(CommandLine& line) {
  auto options = std::make_shared<DiffArguments>();
  line.add_option("FILE", options->files, "the two files; one may be -, standard input").required();
  line.add_flag(
      "--semantic", options->diff.semantic,
      "compare what is computed, and with which weights, but not\nnames, sources and releases");
  line.add_flag("--no-weights", options->no_weights, "do not compare the elements of weights");
  line.add_flag("--stat", options->stat, "print how many changes there are of each kind, not each");
  line.add_option("--html", options->html, "also write this page: nodes side by side")
      .type_name("FILE");
  line.add_flag("--git", options->git, "take the arguments that git gives, and exit 0");
  add_run_diff_options(line, options->run);
  line.add_option("--model", options->diff.model,
                  "the program to take, of packages that have several")
      .type_name("NAME");
  add_limit_option(line, options->limits);
  add_json_option(line, options->json);
  return [options](Environment& environment) { return diff_files(*options, environment); };
}

}  // namespace pt2::tools
