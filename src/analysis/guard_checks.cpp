#include <fmt/format.h>

#include "analysis/program_checks.h"
#include "ir/guard_names.h"
#include "ir/symbols/symbols_internal.h"
#include "pt2/ir/guards.h"

namespace pt2 {
namespace {

class GuardChecks {
 public:
  GuardChecks(const Program& program, const ProgramPlace& place, Diagnostics& findings)
      : program_(program),
        place_(place),
        findings_(findings),
        input_names_(user_input_names(program)),
        names_(input_names_),
        specs_(program.signature.user_inputs()) {}

  void run() {
    for (size_t i = 0; i < program_.guards_code.size(); ++i) check(program_.guards_code[i], i);
  }

 private:
  void check(const std::string& text, size_t index) {
    const std::string where = fmt::format("{}.guards_code[{}]", place_.program, index);
    auto guard = parse_guard(*program_.expressions, text);
    if (!guard) {
      const bool unknown = guard.error().code == ErrorCode::unsupported;
      Error error = std::move(guard).error();
      error.where = where;
      if (!unknown) error.message += evaluated_text(text);
      return findings_.add(unknown ? Rule::guard_support : Rule::guard_reads, std::move(error));
    }
    for (const GuardSource& source : guard->sources) check_source(source, where);
  }

  void check_source(const GuardSource& source, const std::string& where) {
    const auto found = names_.find(source);
    if (!found && names_.is_inside(source))
      return findings_.add(
          Rule::guard_support, where,
          fmt::format("'{}' is a part of an input, and only whole inputs are checked",
                      source.input));
    if (!found || found->input >= specs_.size())
      return findings_.add(Rule::guard_input, where,
                           fmt::format("the program has no input '{}'", source.input));
    const std::string& name = input_names_[found->input];
    // A quote in the key would end the string in PyTorch's assertion, and the rest would run as
    // code.
    if (name.find('\'') != name.npos)
      return findings_.add(
          Rule::guard_reads, where,
          fmt::format("PyTorch writes the input's key {} into Python code, where its quote ends "
                      "the text around it",
                      name));
    if (found->is_below_kwargs)
      findings_.add(Rule::guard_keyword, where,
                    fmt::format("'{}' is the keyword input '{}'", source.input, name));
    const bool has_dim = source.property == GuardSource::Property::size ||
                         source.property == GuardSource::Property::stride;
    const auto id = program_.graph.find_value(specs_[found->input].name);
    const TensorMeta* meta = id ? program_.graph.value(*id).tensor() : nullptr;
    if (!has_dim || meta == nullptr) return;
    const auto rank = static_cast<int64_t>(meta->sizes.size());
    if (source.dim < -rank || source.dim >= rank)
      findings_.add(Rule::guard_input, where,
                    fmt::format("'{}' has {} dimensions, found dimension {}", source.input, rank,
                                source.dim));
  }

  const Program& program_;
  const ProgramPlace& place_;
  Diagnostics& findings_;
  const std::vector<std::string> input_names_;
  const GuardNames names_;  // a file may have many guards and many inputs
  const std::vector<ArgumentSpec> specs_;
};

}  // namespace

void check_guards(const Program& program, const ProgramPlace& place, Diagnostics& findings) {
  GuardChecks(program, place, findings).run();
}

}  // namespace pt2
