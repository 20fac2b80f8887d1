#include <fmt/format.h>

#include "base/mapped_file.h"
#include "pt2/program_text.h"
#include "pt2/schema_json.h"
#include "serde/from_schema.h"
#include "serde/to_schema.h"
#include "tools/source.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct Options {
  std::string text;
  Limits limits;
  bool json = false;
};

// What is written must be readable: the text can say things that its schema version has no room
// for.
Result<std::string> checked_json(const Program& program, const Options& options,
                                 Environment& environment) {
  std::string json = schema::encode_program(to_schema(program));
  Diagnostics warnings;
  auto decoded = schema::decode_program(json, options.limits, warnings);
  if (!decoded) return in_file(std::move(decoded).error(), options.text);
  if (auto read = from_schema(*std::move(decoded)); !read)
    return in_file(std::move(read).error(), options.text);
  print_warnings(environment, warnings);
  return json;
}

Result<int> assemble(const Options& options, Environment& environment) {
  PT2_TRY(const auto file, MappedFile::open(input_path(options.text)));
  const std::string name = options.text == "-" ? "<stdin>" : options.text;
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                              file->bytes().size());
  std::vector<Error> errors;
  const Result<Program> program = parse_program(text, name, errors, options.limits);
  for (const Error& error : errors)
    print(environment.err, fmt::format("pt2: {}: {}\n", error_code_name(error.code), error.text()));
  if (!program) return exit_code(program.error().code);
  PT2_TRY(std::string json, checked_json(*program, options, environment));
  if (environment.out_is_terminal) json += '\n';
  print(environment.out, json);
  return kOk;
}

}  // namespace

Action setup_as(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("TEXT", options->text, "what 'pt2 dis' printed; - is standard input")->required();
  app.add_flag("--json", options->json, "print the program's JSON")->required();
  add_limit_option(app, options->limits);
  return [options](Environment& environment) { return assemble(*options, environment); };
}

}  // namespace pt2::tools
