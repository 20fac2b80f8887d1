#include <fmt/format.h>

#include <algorithm>

#include "archive/zip_format.h"
#include "base/mapped_file.h"
#include "base/printable.h"
#include "pt2/format/schema_json.h"
#include "pt2/ir/program_text.h"
#include "pt2/ops/verify_operators.h"
#include "pt2/save.h"
#include "pt2/verify.h"
#include "serde/from_schema.h"
#include "tools/source.h"
#include "tools/verbs.h"
#include "tools/writing.h"

namespace pt2::tools {
namespace {

struct AsArguments {
  std::string text;
  Source weights;
  std::string output;
  bool json = false;
};

// Decodes the JSON again: the text may express what its schema version cannot.
Result<std::string> checked_json(const Program& program, const AsArguments& options,
                                 Environment& environment) {
  std::string json = program_json(program);
  Diagnostics warnings;
  auto decoded = schema::decode_program(json, options.weights.limits, warnings);
  if (!decoded) return in_file(std::move(decoded).error(), options.text);
  if (auto read = from_schema(*std::move(decoded)); !read)
    return in_file(std::move(read).error(), options.text);
  print_warnings(environment, warnings);
  return json;
}

Error lacks(const AsArguments& options, const InputSpec& spec) {
  return {ErrorCode::argument,
          fmt::format("the file has no {} '{}', which the text names", input_kind_name(spec.kind),
                      printable(*spec.target)),
          options.weights.file};
}

// Checks that the payloads include every payload that the program names.
Result<void> check_payloads(const Program& program, const Payloads& payloads,
                            const AsArguments& options) {
  for (const InputSpec& spec : program.signature.input_specs) {
    if (!spec.target) continue;
    const bool found = spec.kind == InputKind::custom_obj
                           ? payloads.find_object(*spec.target) != nullptr
                           : payloads.bound_to(spec) != nullptr;
    if (!found) return lacks(options, spec);
  }
  return {};
}

// Saves the file of the weights with its program replaced. Writes nothing if the program breaks
// rules that the old one keeps.
Result<int> save_with_weights(const Program& program, std::string json, const AsArguments& options,
                              Environment& environment) {
  PT2_TRY(const Package package, open_package(options.weights, environment));
  PT2_TRY(const std::string model, chosen_model(options.weights, package));
  if (package.is_member(model))
    return Error{ErrorCode::unsupported,
                 "its program is one of a container (schema 8.6 to 8.11), in which none can be "
                 "replaced alone",
                 options.weights.file};
  PT2_TRY(const auto payloads, package.payloads(model));
  PT2_TRY_VOID(check_payloads(program, *payloads, options));
  PT2_TRY(PackageContents contents, package_contents(package));
  const auto replaced = std::ranges::find(contents.programs, model, &SavedProgram::name);
  if (replaced == contents.programs.end())
    return Error{ErrorCode::argument, fmt::format("the file has no program '{}'", printable(model)),
                 options.weights.file};
  replaced->json = std::move(json);
  PT2_TRY(const bool sound,
          is_sound(package, contents, options.weights.limits, "the program", environment));
  if (!sound) return exit_code(ErrorCode::invalid);
  PT2_TRY_VOID(save_written(contents, options.output, environment));
  return kOk;
}

// Saves the program without weights; fails if the program names any. Warns of broken rules: the
// text may be of a part of a program, which has no calls of modules.
Result<int> save_alone(const Program& program, std::string json, const AsArguments& options,
                       Environment& environment) {
  for (const InputSpec& spec : program.signature.input_specs) {
    if (!spec.target) continue;
    return Error{
        ErrorCode::argument,
        fmt::format("the program has the {} '{}'; --weights FILE names the .pt2 that holds it",
                    input_kind_name(spec.kind), printable(*spec.target)),
        options.text};
  }
  // The first schema versions with these layouts.
  constexpr SchemaVersion kFirstFolder{8, 8}, kFirstRaw{8, 9};
  PackageContents contents;
  if (program.schema_version < kFirstRaw) contents.era = Era::pickled_payloads;
  if (program.schema_version < kFirstFolder) contents.era = Era::flat;
  contents.programs.push_back({.json = std::move(json)});
  const VerifyOptions settings{
      .limits = options.weights.limits, .threads = 1, .progress = {}, .operators = check_operators};
  const Diagnostics findings =
      verify_program(program, shown_place(options.text), Level::full, settings);
  for (const Diagnostic& finding : findings.all())
    if (finding.severity() == Severity::error)
      print_warning(environment, fmt::format("the program breaks a rule: {}", finding.line()));
  PT2_TRY_VOID(save_written(contents, options.output, environment));
  return kOk;
}

Result<int> assemble(const AsArguments& options, Environment& environment) {
  if (options.output.empty() != options.json)
    return Error{ErrorCode::argument, "expected either -o FILE or --json", ""};
  if (!options.weights.model.empty() && options.weights.file.empty())
    return usage_error("--model names a program of the file that --weights gives");
  PT2_TRY_VOID(check_one_standard_input(std::vector{options.text, options.weights.file}));
  PT2_TRY_VOID(check_is_file(options.text));
  PT2_TRY_VOID(check_not_read(options.output, {options.text}));
  PT2_TRY(const auto file,
          MappedFile::open(input_path(options.text), options.weights.limits.max_stream_bytes));
  const std::string name = shown_place(input_path(options.text));
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                              file->bytes().size());
  if (zip::begins_as_zip(text))
    return Error{ErrorCode::malformed,
                 "found a zip archive, as a .pt2 is, expected the text that 'pt2 dis' prints",
                 name};
  std::vector<Error> errors;
  const Result<Program> program = parse_program(text, name, errors, options.weights.limits);
  for (const Error& error : errors) print_error(environment, error);
  if (!program) {
    if (options.json) print_json_error(environment, program.error());
    return exit_code(program.error().code);
  }
  PT2_TRY(std::string json, checked_json(*program, options, environment));
  if (!options.json)
    return options.weights.file.empty()
               ? save_alone(*program, std::move(json), options, environment)
               : save_with_weights(*program, std::move(json), options, environment);
  print(environment.out, environment.out_is_terminal ? json + '\n' : json);
  return kOk;
}

}  // namespace

Action setup_as(CommandLine& line) {
  auto options = std::make_shared<AsArguments>();
  line.add_option("TEXT", options->text, "what 'pt2 dis' printed; - is standard input").required();
  const Option output =
      add_written_option(line, options->output, "the .pt2 file to write; - is standard output");
  line.add_option("--weights", options->weights.file,
                  "the .pt2 file that has its parameters, buffers and constants;\n"
                  "everything else of that file is kept as well")
      .type_name("FILE")
      .needs(output);
  line.add_flag("--json", options->json, "print the program's JSON instead");
  add_model_option(line, options->weights);
  add_limit_option(line, options->weights.limits);
  return [options](Environment& environment) { return assemble(*options, environment); };
}

}  // namespace pt2::tools
