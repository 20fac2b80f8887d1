#include "tools/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/platform.h"
#include "base/printable.h"
#include "tools/names.h"

namespace pt2::tools {
namespace {

constexpr size_t kHelpColumn = 26;
constexpr size_t kMostShown = 40;  // characters of a typed word in messages
// CLI11's type names, which the help omits.
constexpr std::string_view kUnsaid[] = {"TEXT", "FLOAT", "UINT", "INT"};

template <class T>
struct ValueOf {
  using Type = T;
};
template <class T>
struct ValueOf<std::optional<T>> {
  using Type = T;
};
template <class T>
constexpr bool is_whole = std::is_integral_v<typename ValueOf<T>::Type>;

// Checks the range, because CLI11 lets -1 and 99999999999999999999 wrap.
template <class T>
std::string check_whole(const std::string& text) {
  typename ValueOf<T>::Type value{};
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec == std::errc() && parsed.ptr == end) return "";
  using Bounds = std::numeric_limits<decltype(value)>;
  if (parsed.ec == std::errc::result_out_of_range && parsed.ptr == end)
    return fmt::format("found '{}', expected a whole number from {} to {}", text, Bounds::min(),
                       Bounds::max());
  return fmt::format("found '{}', expected a whole number{}", text,
                     Bounds::is_signed ? "" : " from 0 on");
}

std::string check_number(const std::string& text) {
  return decimal_value(text) ? "" : fmt::format("found '{}', expected a number", text);
}

// Returns " from 0 to 1", " from 0 on", or "".
std::string range_text(double least, double most) {
  if (std::isfinite(most)) return fmt::format(" from {} to {}", least, most);
  return std::isfinite(least) ? fmt::format(" from {} on", least) : "";
}

// Arguments with these names in the help are file names.
constexpr std::string_view kFileArguments[] = {"FILE", "TEXT", "TENSORS", "PATH"};

std::string check_file_name(const std::string& name) {
  return name.empty() ? "the name of the file is empty" : "";
}

// A variable that a script forgot to set must not switch an option off, such as --sha256 "$SUM".
std::string check_not_empty(const std::string& value) {
  return value.empty() ? "its value is empty" : "";
}

// Returns "a, b or c".
std::string alternatives(const std::vector<std::string>& words) {
  std::string out;
  for (size_t i = 0; i < words.size(); ++i)
    out += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return out;
}

void require(const std::string& name, const Result<void>& taken) {
  if (!taken) throw CLI::ValidationError(name, taken.error().message);
}

// Returns "-o FILE", "--ids LIST" or "FILE".
std::string usage_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_single_name();
  const std::vector<std::string>& letters = option.get_snames();
  return (letters.empty() ? "--" + option.get_lnames().front() : "-" + letters.front()) + " " +
         option.get_type_name();
}

bool is_option(const std::string& text) { return text.size() > 1 && text[0] == '-'; }

// Ends the options: every word behind it is an argument. CLI11 has it among the words that remain.
constexpr std::string_view kEndOfOptions = "--";

// Returns the first option among the words that no option or position takes; "" if there is none.
std::string first_option(const std::vector<std::string>& remaining) {
  const auto end = std::ranges::find(remaining, kEndOfOptions);
  const auto found = std::find_if(remaining.begin(), end, is_option);
  return found == end ? "" : *found;
}

// CLI11 takes the argument "[a,b]" for the arguments a and b, but a folder may have that name. With
// this mark at the end, which no argument can contain, it stays one argument.
constexpr char kEndMark = '\0';

std::string without_mark(std::string text) {
  if (text.ends_with(kEndMark)) text.pop_back();
  return text;
}

void drop_mark(CLI::Option& option) {
  const auto drop = [](std::string& text) {
    text = without_mark(std::move(text));
    return std::string();
  };
  option.transform(CLI::Validator(drop, ""));
}

}  // namespace

Option& Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& values) {
  const auto check = [values](const std::string& text) -> std::string {
    if (std::ranges::find(values, text) != values.end()) return "";
    return fmt::format("found '{}', expected {}", text, alternatives(values));
  };
  option_->check(CLI::Validator(check, ""));
  return *this;
}

Option& Option::range(double least, double most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    const std::optional<double> value = decimal_value(text);
    if (value && *value >= least && *value <= most) return "";  // false for NaN
    return fmt::format("found '{}', expected a number{}", text, range_text(least, most));
  };
  // A transform runs before the type check, which would report another range.
  option_->transform(CLI::Validator(check, ""));
  return *this;
}

Option& Option::separated_by(char delimiter) {
  option_->delimiter(delimiter);
  return *this;
}

Option& Option::one_at_a_time() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

CommandLine::CommandLine(std::string_view name, std::string_view summary, std::string_view footer)
    : app_(std::make_unique<CLI::App>(std::string(summary), std::string(name))) {
  app_->allow_windows_style_options(false);  // "/name" is a file everywhere
  app_->get_formatter()->column_width(kHelpColumn);
  app_->set_help_flag("-h,--help", "this text");
  app_->get_formatter()->label("REQUIRED", "");
  for (const std::string_view type : kUnsaid) app_->get_formatter()->label(std::string(type), "");
  app_->footer(std::string(footer));
}

CommandLine::~CommandLine() = default;

template <class T>
Option CommandLine::add_option(const std::string& names, T& value, const std::string& text) {
  CLI::Option* option = app_->add_option(names, value, text);
  drop_mark(*option);
  if constexpr (is_whole<T>) option->check(CLI::Validator(check_whole<T>, ""));
  if constexpr (std::is_floating_point_v<typename ValueOf<T>::Type>)
    option->check(CLI::Validator(check_number, ""));
  if (std::ranges::find(kFileArguments, names) != std::end(kFileArguments))
    option->check(CLI::Validator(check_file_name, ""));
  else if constexpr (!std::is_arithmetic_v<typename ValueOf<T>::Type>)
    option->check(CLI::Validator(check_not_empty, ""));
  return Option(*option);
}
template Option CommandLine::add_option(const std::string&, std::string&, const std::string&);
template Option CommandLine::add_option(const std::string&, std::vector<std::string>&,
                                        const std::string&);
template Option CommandLine::add_option(const std::string&, std::optional<std::string>&,
                                        const std::string&);
template Option CommandLine::add_option(const std::string&, int64_t&, const std::string&);
template Option CommandLine::add_option(const std::string&, uint64_t&, const std::string&);
template Option CommandLine::add_option(const std::string&, unsigned&, const std::string&);
#if SIZE_MAX < UINT64_MAX && ULONG_MAX == SIZE_MAX  // size_t is a type of its own
template Option CommandLine::add_option(const std::string&, unsigned long&, const std::string&);
template Option CommandLine::add_option(const std::string&, std::optional<unsigned long>&,
                                        const std::string&);
#endif
template Option CommandLine::add_option(const std::string&, double&, const std::string&);
template Option CommandLine::add_option(const std::string&, std::optional<int64_t>&,
                                        const std::string&);
template Option CommandLine::add_option(const std::string&, std::optional<uint64_t>&,
                                        const std::string&);
template Option CommandLine::add_option(const std::string&, std::optional<double>&,
                                        const std::string&);

Option CommandLine::add_checked(const std::string& names, Take take, const std::string& text) {
  const auto take_one = [name = names, take = std::move(take)](const std::string& value) {
    require(name, take(value));
  };
  CLI::Option* option = app_->add_option_function<std::string>(names, take_one, text);
  drop_mark(*option);
  option->check(CLI::Validator(check_not_empty, ""));
  return Option(*option);
}

Option CommandLine::add_repeatable(const std::string& names, Take take, const std::string& text) {
  const auto take_all = [name = names, take = std::move(take)](const auto& values) {
    for (const std::string& value : values) require(name, take(value));
  };
  CLI::Option* option = app_->add_option_function<std::vector<std::string>>(names, take_all, text);
  drop_mark(*option->allow_extra_args(false));
  option->check(CLI::Validator(check_not_empty, ""));
  return Option(*option);
}

Option CommandLine::add_flag(const std::string& names, bool& value, const std::string& text) {
  // CLI11 accepts --json=3 as --json, and passes "true" for a flag without a value.
  const auto check = [](const std::string& given) {
    return given == "true"
               ? std::string()
               : fmt::format("found '{}', expected no value", printable(given, kMostShown));
  };
  CLI::Option* option = app_->add_flag(names, value, text);
  option->check(CLI::Validator(check, ""));
  return Option(*option);
}

std::vector<OptionText> CommandLine::options() const {
  std::vector<OptionText> out;
  for (const CLI::Option* option : std::as_const(*app_).get_options()) {
    OptionText row{.text = option->get_description()};
    for (const std::string& name : option->get_snames()) row.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) row.names.push_back("--" + name);
    row.value = row.names.empty() ? option->get_single_name() : option->get_type_name();
    if (std::ranges::find(kUnsaid, row.value) != std::end(kUnsaid)) row.value.clear();
    out.push_back(std::move(row));
  }
  return out;
}

std::string CommandLine::help() const {
  std::string text = app_->help();
  text.resize(text.find_last_not_of('\n') + 1);
  return text + "\n";
}

// Converts CLI11's message "NAME is required".
Error CommandLine::missing(std::string_view message) const {
  const std::string name(message.substr(0, message.find(' ')));
  const CLI::Option* option = app_->get_option_no_throw(name);
  if (option == nullptr) return {ErrorCode::argument, std::string(message), ""};
  std::string description = option->get_description();
  description.resize(std::min(description.find(';'), description.size()));
  std::ranges::replace(description, '\n', ' ');
  return {ErrorCode::argument, fmt::format("{} is missing: {}", usage_of(*option), description),
          ""};
}

// Converts CLI11's message "Could not convert: NAME = VALUE". All other values are checked earlier.
Error CommandLine::flag_with_value(std::string_view message) const {
  constexpr std::string_view kBefore = "Could not convert: ", kBetween = " = ";
  const size_t sign = message.find(kBetween);
  if (!message.starts_with(kBefore) || sign == message.npos)
    return {ErrorCode::argument, std::string(message), ""};
  return {ErrorCode::argument,
          fmt::format("{}: found '{}', expected no value",
                      message.substr(kBefore.size(), sign - kBefore.size()),
                      printable(message.substr(sign + kBetween.size()), kMostShown)),
          ""};
}

// Converts CLI11's "NAME: 1 required TYPE missing" or "NAME: At Most 1 required but received 2".
Error CommandLine::wrong_count(std::string_view message) const {
  const std::string name(message.substr(0, message.find(':')));
  const CLI::Option* option = app_->get_option_no_throw(name);
  if (option == nullptr) return {ErrorCode::argument, std::string(message), ""};
  if (option->count() > 1)
    return {ErrorCode::argument, fmt::format("{} is given {} times", name, option->count()), ""};
  return {ErrorCode::argument,
          fmt::format("{}: its value is missing, expected {}", name, option->get_type_name()), ""};
}

// Reports the first argument that no option or position takes.
Error CommandLine::unexpected() const {
  std::vector<std::string> names;
  for (const OptionText& each : options())
    names.insert(names.end(), each.names.begin(), each.names.end());
  std::vector<std::string> extra = app_->remaining();
  const std::string option = first_option(extra);
  if (option.empty()) {
    std::erase(extra, kEndOfOptions);
    const bool takes_inputs = std::ranges::find(names, "--input") != names.end();
    return {ErrorCode::argument,
            fmt::format("found one argument too many: '{}'{}",
                        printable(extra.empty() ? "" : without_mark(extra.front()), kMostShown),
                        takes_inputs ? "; inputs of the program follow -i" : ""),
            ""};
  }
  const std::string typed = option.substr(0, option.find('='));
  // Does not guess for single letters: any two are close.
  const bool is_letter = typed.size() == 2;
  const std::string meant =
      is_letter ? "" : nearest_name(typed, names, [](const std::string& name) -> std::string_view {
        return name;
      });
  return {
      ErrorCode::argument,
      fmt::format("there is no option '{}'{}", printable(typed, kMostShown), did_you_mean(meant)),
      ""};
}

Result<CommandLine::Parsed> CommandLine::parse(std::vector<std::string> arguments) {
  for (std::string& argument : arguments)
    if (argument.starts_with('[') && argument.ends_with(']')) argument += kEndMark;
  std::ranges::reverse(arguments);  // CLI11 takes them from the end
  try {
    app_->parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    return Parsed::help;
  } catch (const CLI::ExtrasError&) {
    return unexpected();
  } catch (const CLI::RequiredError& error) {
    // An unknown option is reported before a missing argument.
    if (!first_option(app_->remaining()).empty()) return unexpected();
    return missing(error.what());
  } catch (const CLI::ConversionError& error) {
    return flag_with_value(error.what());
  } catch (const CLI::ArgumentMismatch& error) {
    return wrong_count(error.what());
  } catch (const CLI::ParseError& error) {
    return Error{ErrorCode::argument, error.what(), ""};
  }
  return Parsed::arguments;
}

}  // namespace pt2::tools
