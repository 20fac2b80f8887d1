// The arguments and options of a verb. CLI11 parses them and writes the help. Only one source file
// includes CLI11: its headers take longer to compile than all of a verb.
#ifndef PT2_TOOLS_COMMAND_LINE_H
#define PT2_TOOLS_COMMAND_LINE_H

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/result.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace pt2::tools {

// A declared argument; each function adds a property.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  // Sets the name of its value in the help, "FILE".
  Option& type_name(const std::string& name);
  Option& required();
  Option& one_of(const std::vector<std::string>& values);
  Option& range(double least, double most);
  // Splits "a,b" into two values.
  Option& separated_by(char delimiter);
  // Takes one value each time it is given, so that the next word is an argument again.
  Option& one_at_a_time();
  Option& needs(const Option& other);
  Option& excludes(const Option& other);

 private:
  CLI::Option* option_;
};

// An option's texts in the help.
struct OptionText {
  std::vector<std::string> names{};  // "--json", "-o"; empty for a positional argument
  std::string value{};               // "FILE"; empty for a flag
  std::string text{};
};

class CommandLine {
 public:
  // `name` follows "Usage:" in the help; `footer` ends the help.
  CommandLine(std::string_view name, std::string_view summary, std::string_view footer);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  // `names` is "-o,--output", or "FILE" for a positional argument. `value` receives the parsed
  // value and must live until parse(): a string, a number, a list of strings, or an optional of the
  // first two. Instantiated in the source file.
  template <class T>
  Option add_option(const std::string& names, T& value, const std::string& text);
  // Calls `take` with the given value; an error of `take` becomes an error of the option.
  using Take = std::function<Result<void>(const std::string&)>;
  Option add_checked(const std::string& names, Take take, const std::string& text);
  // The same for each value of an option that may be repeated.
  Option add_repeatable(const std::string& names, Take take, const std::string& text);
  Option add_flag(const std::string& names, bool& value, const std::string& text);

  std::vector<OptionText> options() const;
  std::string help() const;

  enum class Parsed : uint8_t { arguments, help };
  // Error `argument` describes what is wrong with the arguments.
  Result<Parsed> parse(std::vector<std::string> arguments);

 private:
  Error unexpected() const;
  Error missing(std::string_view message) const;
  Error flag_with_value(std::string_view message) const;
  Error wrong_count(std::string_view message) const;

  std::unique_ptr<CLI::App> app_;
};

}  // namespace pt2::tools

#endif  // PT2_TOOLS_COMMAND_LINE_H
