#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>
#include <utility>

#include "base/printable.h"
#include "convert/package_operators.h"
#include "pt2/conversion.h"
#include "tools/json_members.h"
#include "tools/source.h"
#include "tools/verbs.h"
#include "tools/writing.h"

namespace pt2::tools {
namespace {

constexpr int kBlocked = 4;

struct ConvertArguments {
  Source source;
  std::string output;
  std::string release;
  std::string schema;
  std::vector<std::string> losses;
  bool json = false;
};

// Returns the names of the losses, a few on each line.
std::string loss_names() {
  constexpr size_t kWidth = 56;
  std::string out;
  size_t start = 0;  // of the line
  for (const BlockerInfo& kind : blocker_kinds()) {
    if (kind.loss.empty()) continue;
    if (!out.empty()) out += ',';
    const bool fits = out.size() - start + 1 + kind.loss.size() < kWidth;
    if (!out.empty()) out += fits ? ' ' : '\n';
    if (!fits) start = out.size();
    out += kind.loss;
  }
  return out;
}

std::string version_text(int schema) {
  return schema < 300 ? std::to_string(schema / 100)
                      : fmt::format("{}.{}", schema / 100, schema % 100);
}

Result<Conversion> run_conversion(const ConvertArguments& options, const Package& package) {
  ConvertOptions wanted{.limits = options.source.limits};
  wanted.losses.insert(options.losses.begin(), options.losses.end());
  if (options.release == "oldest") return convert_for_oldest(package, wanted);
  if (!options.schema.empty()) {
    PT2_TRY(wanted.target, conversion_target("schema " + options.schema));
  } else if (!options.release.empty()) {
    PT2_TRY(wanted.target, conversion_target(options.release));
  }
  return convert(package, wanted);
}

void write_blockers(JsonWriter& json, std::string_view key, const std::vector<Blocker>& blockers) {
  write_objects(json, key, blockers, [&](const Blocker& blocker) {
    write_text(json, "kind", blocker.info().name);
    write_text(json, "loss", blocker.info().loss);
    write_text(json, "text", blocker.text);
    write_text(json, "where", blocker.where);
    write_text(json, "node", blocker.node.name);
    write_text(json, "target", blocker.node.target);
    write_text(json, "source_line", blocker.node.source_line);
    write_text(json, "first_release", blocker.first ? release_name(*blocker.first) : "");
  });
}

std::string report_json(const Conversion& conversion) {
  return json_object([&](JsonWriter& json) {
    write_text(json, "release", release_name(*conversion.target.release));
    write_text(json, "schema", version_text(conversion.target.schema));
    const std::vector<std::string> names(conversion.rewritten.begin(), conversion.rewritten.end());
    write_texts(json, "rewritten", names);
    write_blockers(json, "lost", conversion.lost);
    write_blockers(json, "blockers", conversion.blockers);
  });
}

std::string report_text(const ConvertArguments& options, const Conversion& conversion) {
  std::string rewritten;
  for (const std::string_view name : conversion.rewritten)
    rewritten += (rewritten.empty() ? "; rewritten: " : ", ") + std::string(name);
  return fmt::format("{}: for PyTorch {}, schema {}{}\n", printable(shown_output(options.output)),
                     release_name(*conversion.target.release),
                     version_text(conversion.target.schema), rewritten);
}

// Warns of package operators, because PyTorch's own error only says that it does not know them.
Result<void> warn_of_package_operators(const Package& package, Environment& environment) {
  constexpr size_t kMostNames = 5;
  for (const std::string& model : package.models()) {
    PT2_TRY(const Program* program, package.program(model));
    std::vector<std::string> names = package_operators(*program);
    if (names.empty()) continue;
    const size_t others = names.size() - std::min(names.size(), kMostNames);
    names.resize(names.size() - others);
    print_warning(environment,
                  fmt::format("PyTorch can open this only after importing what registers {}{}",
                              printable(fmt::format("{}", fmt::join(names, ", ")), 500),
                              others == 0 ? "" : fmt::format(" and {} more", others)));
  }
  return {};
}

Result<int> convert_file(const ConvertArguments& options, Environment& environment) {
  PT2_TRY(const Package package, open_package(options.source, environment));
  print_foreign_code(environment, package);
  PT2_TRY(const Conversion conversion, run_conversion(options, package));
  for (const Blocker& blocker : conversion.lost)
    print_warning(environment, "lost: " + blocker.line());
  std::FILE* report =
      is_written_to(options.output, environment.out) ? environment.err : environment.out;
  if (options.json) print(report, report_json(conversion));
  if (!conversion.blockers.empty()) {
    print(environment.err,
          fmt::format("pt2: the program cannot be converted for PyTorch {}; nothing was written\n",
                      release_name(*conversion.target.release)));
    for (const Blocker& blocker : conversion.blockers)
      print(environment.err, fmt::format("pt2: {}{}\n", printable(blocker.line(), 2000),
                                         blocker.info().loss.empty()
                                             ? ""
                                             : fmt::format("; --lossy {} converts without it",
                                                           blocker.info().loss)));
    return kBlocked;
  }
  if (!conversion.rewritten.empty()) {
    const std::string name =
        fmt::format("the program for PyTorch {}", release_name(*conversion.target.release));
    PT2_TRY(const bool sound,
            is_sound(package, conversion.contents, options.source.limits, name, environment));
    if (!sound) return kBlocked;
  }
  PT2_TRY_VOID(save_written(conversion.contents, options.output, environment));
  PT2_TRY_VOID(warn_of_package_operators(package, environment));
  if (!options.json) print(report, report_text(options, conversion));
  return kOk;
}

}  // namespace

Action setup_convert(CommandLine& line) {
  auto options = std::make_shared<ConvertArguments>();
  add_source(line, options->source);
  add_written_option(line, options->output).required();
  const Option release =
      line.add_option("--for", options->release,
                      fmt::format("torch-{} to torch-{}, newest, or oldest: the first release\n"
                                  "that can load it; without --for, the file's own",
                                  release_name(releases().front()), release_name(newest_release())))
          .type_name("RELEASE");
  line.add_option("--schema", options->schema, "a schema version instead, such as 8.14")
      .type_name("VERSION")
      .excludes(release);
  line.add_option(
          "--lossy", options->losses,
          "what may be lost, with commas between; a refusal names what it is:\n" + loss_names())
      .type_name("WHAT")
      .separated_by(',');
  add_json_option(line, options->json);
  return [options](Environment& environment) { return convert_file(*options, environment); };
}

}  // namespace pt2::tools
