#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/printable.h"
#include "base/text.h"
#include "ir/values/constant_value.h"
#include "pt2/check_inputs.h"
#include "pt2/ir/type_text.h"
#include "tools/json_members.h"
#include "tools/source.h"
#include "tools/table.h"
#include "tools/values/shapes.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

struct CheckArguments {
  Source source;
  std::vector<std::string> inputs;
  bool json = false;
};

// An input from the command line: a tensor's dtype and sizes, or a value.
struct GivenInput {
  Dtype dtype = Dtype::float32;
  Sizes sizes{};
  Sizes strides{};
  std::optional<Value> value{};
};

// Parses "f32:2x3", "float32:2x3", or "i64:" for a 0-dim tensor; nullopt for other texts.
std::optional<GivenInput> parse_shape(std::string_view text) {
  const size_t colon = text.find(':');
  const auto dtype = find_dtype(text.substr(0, colon));
  if (colon == text.npos || !dtype) return std::nullopt;
  GivenInput out{.dtype = *dtype};
  text.remove_prefix(colon + 1);
  while (!text.empty()) {
    const size_t sign = std::min(text.find('x'), text.size());
    const auto size = parse_int(text.substr(0, sign));
    if (!size || *size < 0 || sign + 1 == text.size()) return std::nullopt;
    out.sizes.push_back(*size);
    text.remove_prefix(std::min(sign + 1, text.size()));
  }
  // Sizes with an overflowing product have no tensor, so there are no strides to compare.
  if (checked_numel(out.sizes)) out.strides = contiguous_strides(out.sizes);
  return out;
}

std::optional<Value> parse_value(std::string_view text) {
  if (text == "none" || text == "None") return Value();
  if (text == "true" || text == "True") return Value(true);
  if (text == "false" || text == "False") return Value(false);
  if (const auto number = parse_int(text)) return Value(*number);
  if (const auto number = parse_float(text)) return Value(*number);
  if (const auto number = parse_non_finite(text)) return Value(*number);
  return std::nullopt;
}

class Checker {
 public:
  explicit Checker(const Program& program)
      : program_(program),
        specs_(program.signature.user_inputs()),
        names_(user_input_names(program)),
        given_(specs_.size()) {}

  Result<void> add(const std::string& argument) {
    const size_t sign = argument.find('=');
    if (sign == argument.npos)
      return usage_error(fmt::format("found '{}', expected NAME=DTYPE:DxD or NAME=NUMBER{}",
                                     printable(argument), all_inputs()));
    const std::string name = argument.substr(0, sign);
    const auto index = find(name);
    if (!index)
      return usage_error(fmt::format("there is no input '{}'{}", printable(name), all_inputs()));
    if (given_[*index])
      return usage_error(fmt::format("input '{}' is given twice", printable(names_[*index])));
    PT2_TRY(given_[*index], parse(*index, argument.substr(sign + 1)));
    return {};
  }

  // Error `argument` if an input is missing.
  Result<void> complete() {
    for (size_t i = 0; i < given_.size(); ++i) {
      if (given_[i]) continue;
      if (!specs_[i].is_constant())
        return usage_error(
            fmt::format("input '{}' is missing{}", printable(names_[i]), all_inputs()));
      PT2_TRY(Value value, constant_value(specs_[i].value));
      given_[i] = GivenInput{.value = std::move(value)};
    }
    return {};
  }

  Result<SymbolValues> check() const {
    std::vector<InputShape> shapes;
    for (const std::optional<GivenInput>& given : given_) {
      if (given->value)
        shapes.push_back(&*given->value);
      else
        shapes.push_back(TensorShape{given->dtype, given->sizes, given->strides});
    }
    return InputConditions(program_).check(shapes);
  }

 private:
  std::optional<size_t> find(std::string_view name) const {
    const auto found = std::ranges::find(names_, name);
    if (found != names_.end()) return static_cast<size_t>(found - names_.begin());
    size_t index = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), index);
    const bool whole = parsed.ec == std::errc() && parsed.ptr == name.data() + name.size();
    return whole && index < names_.size() ? std::optional(index) : std::nullopt;
  }

  Result<GivenInput> parse(size_t index, const std::string& text) const {
    if (specs_[index].is_constant() && specs_[index].value.is<std::string>())
      return GivenInput{.value = Value(text)};
    if (auto shape = parse_shape(text)) return *std::move(shape);
    if (auto value = parse_value(text)) return GivenInput{.value = *std::move(value)};
    return usage_error(
        fmt::format("input '{}': found '{}', expected DTYPE:DxD, such as f32:2x3, or a number",
                    printable(names_[index]), printable(text)));
  }

  std::string all_inputs() const {
    std::string out = specs_.empty() ? "; the program takes no inputs" : "; the program takes:";
    for (size_t i = 0; i < specs_.size(); ++i)
      out += fmt::format("\n  {}  {}: {}", i, printable(names_[i]),
                         printable(type_text(program_, specs_[i])));
    return out;
  }

  const Program& program_;
  std::vector<ArgumentSpec> specs_;
  std::vector<std::string> names_;
  std::vector<std::optional<GivenInput>> given_;
};

std::string verdict_text(const Result<SymbolValues>& checked) {
  if (!checked) return fmt::format("refused: {}\n", printable(checked.error().text(), 2000));
  std::string out = "accepted\n";
  for (const auto& [symbol, value] : *checked)
    out += fmt::format("  {} = {}\n", printable(symbol), value);
  return out;
}

std::string verdict_json(const std::string& file, const Result<SymbolValues>& checked) {
  return json_object([&](JsonWriter& json) {
    write_text(json, "file", file);
    write_flag(json, "accepted", checked.has_value());
    if (!checked) return write_text(json, "reason", checked.error().text());
    json.key("symbols");
    json.begin_object();
    for (const auto& [symbol, value] : *checked) {
      json.key(symbol);
      json.integer(value);
    }
    json.end_object();
  });
}

std::string conditions_json(const std::string& file, const Program& program) {
  return json_object([&](JsonWriter& json) {
    write_text(json, "file", file);
    write_conditions(json, program);
  });
}

// Warns of guards that the check cannot evaluate, so that "accepted" does not claim too much.
void warn_of_guards(const Program& program, Environment& environment) {
  for (const std::string& text : program.guards_code)
    if (const auto guard = parse_guard(*program.expressions, text); !guard)
      print_warning(environment, fmt::format("a guard is not enforced: {}: {}", printable(text),
                                             printable(guard.error().text())));
}

Result<int> check(const CheckArguments& options, Environment& environment) {
  PT2_TRY(const Package package, open_package(options.source, environment));
  PT2_TRY(const Program* program, package.program(options.source.model));
  const std::string& file = options.source.file;
  warn_of_guards(*program, environment);
  if (options.inputs.empty() && !program->signature.user_inputs().empty()) {
    print(environment.out,
          options.json ? conditions_json(file, *program) : conditions_text(*program));
    return kOk;
  }
  Checker checker(*program);
  for (const std::string& input : options.inputs) PT2_TRY_VOID(checker.add(input));
  PT2_TRY_VOID(checker.complete());
  const Result<SymbolValues> checked = checker.check();
  if (!checked && checked.error().code != ErrorCode::argument) return checked.error();
  print(environment.out, options.json ? verdict_json(file, checked) : verdict_text(checked));
  return checked ? kOk : kDifference;
}

}  // namespace

Action setup_check(CommandLine& line) {
  auto options = std::make_shared<CheckArguments>();
  add_source(line, options->source);
  line.add_option("-i,--input", options->inputs,
                  "NAME=DTYPE:DxD, such as x=f32:2x3, or NAME=NUMBER;\nNAME may be a position;\n"
                  "without any, what each dimension may be is printed")
      .type_name("INPUT")
      .one_at_a_time();
  add_model_option(line, options->source);
  add_json_option(line, options->json);
  return [options](Environment& environment) { return check(*options, environment); };
}

}  // namespace pt2::tools
