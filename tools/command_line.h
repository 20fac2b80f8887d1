// The arguments and options of a verb. CLI11, which parses them and writes the help, is seen by one
// source file: its headers take a compiler longer than all of a verb.
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

// A declared argument; each function says one thing more about it.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  // What the help calls its value, "FILE".
  Option& type_name(const std::string& name);
  Option& required();
  Option& one_of(const std::vector<std::string>& values);
  Option& range(double least, double most);
  // "a,b" is two values.
  Option& separated_by(char delimiter);
  // One value each time it is given, so that what follows is an argument again.
  Option& one_at_a_time();
  Option& needs(const Option& other);
  Option& excludes(const Option& other);

 private:
  CLI::Option* option_;
};

// What the help says of an option.
struct OptionText {
  std::vector<std::string> names{};  // "--json", "-o"; none: an argument by its position
  std::string value{};               // "FILE"; empty for a flag
  std::string text{};
};

class CommandLine {
 public:
  // `name` is what the help says after "Usage:"; `footer` ends it.
  CommandLine(std::string_view name, std::string_view summary, std::string_view footer);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  // `names` is "-o,--output", or "FILE" for an argument by its position. What is parsed goes to
  // `value`, which must live until then: a text, a number, a list of texts, or one of the first two
  // as std::optional. Instantiated in the source file.
  template <class T>
  Option add_option(const std::string& names, T& value, const std::string& text);
  // Calls `take` with the value given; its error is a wrong use of the option.
  using Take = std::function<Result<void>(const std::string&)>;
  Option add_checked(const std::string& names, Take take, const std::string& text);
  // The same with each value of an option that may be given several times.
  Option add_repeatable(const std::string& names, Take take, const std::string& text);
  Option add_flag(const std::string& names, bool& value, const std::string& text);

  std::vector<OptionText> options() const;
  std::string help() const;

  enum class Parsed : uint8_t { arguments, help };
  // Error `argument` says what is wrong with them.
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
