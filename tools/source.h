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

// Adds the argument FILE and the option --limit.
void add_source(CommandLine& line, Source& source, bool required = true);
// Adds the option --model.
void add_model_option(CommandLine& line, Source& source);
void add_limit_option(CommandLine& line, Limits& limits);
void add_json_option(CommandLine& line, bool& json);
// Adds the option -o of a verb that prints one text (write_text).
void add_output_option(CommandLine& line, std::string& output);

// Returns the path to open; "-" stands for standard input.
std::string input_path(const std::string& file);
// Error `argument` for a folder, which only some verbs accept.
Result<void> check_is_file(const std::string& file);
// Error `argument` if two of the files are standard input, which can be read only once.
Result<void> check_one_standard_input(std::span<const std::string> files);
// Returns a place with the user's name for the file: "standard input" for the path that "-" opens.
std::string shown_place(std::string_view place);
// Warns of code that PyTorch would run if it loaded the file.
void print_foreign_code(Environment& environment, const Package& package);
// Opens the file and prints the reader's warnings.
Result<Package> open_package(const Source& source, Environment& environment);
// Opens the records of the file, which may contain no program.
Result<Archive> open_container(const Source& source);
// Returns the name of the model that `source` chooses, explicitly or by default.
Result<std::string> chosen_model(const Source& source, const Package& package);

}  // namespace pt2::tools

#endif  // PT2_TOOLS_SOURCE_H
