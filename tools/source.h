// The input file of a verb and its common options.
#ifndef PT2_TOOLS_SOURCE_H
#define PT2_TOOLS_SOURCE_H

#include <span>
#include <string>
#include <string_view>

#include "pt2/limits.h"
#include "pt2/package.h"
#include "tools/command.h"

namespace pt2::tools {

struct Source {
  std::string file;
  std::string model;
  Limits limits;
};

// The argument FILE and the option --limit.
void add_source(CommandLine& line, Source& source, bool required = true);
// The option --model.
void add_model_option(CommandLine& line, Source& source);
void add_limit_option(CommandLine& line, Limits& limits);
void add_json_option(CommandLine& line, bool& json);
// The option -o of a verb that prints one text (write_text).
void add_output_option(CommandLine& line, std::string& output);

// The path to open; "-" stands for standard input.
std::string input_path(const std::string& file);
// Error `argument` where two of the files are standard input, which the first would use up.
Result<void> check_one_standard_input(std::span<const std::string> files);
// A place in a file as people know it: "standard input" is the name of what "-" opens.
std::string shown_place(std::string_view place);
// Warns of code that PyTorch would run if it loaded the file.
void print_foreign_code(Environment& environment, const Package& package);
// Opens the file and prints the reader's warnings.
Result<Package> open_package(const Source& source, Environment& environment);
// Opens the records of the file, which may hold no program.
Result<Archive> open_container(const Source& source);
// The name of the model that `source` chooses, explicitly or by default.
Result<std::string> chosen_model(const Source& source, const Package& package);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_SOURCE_H
