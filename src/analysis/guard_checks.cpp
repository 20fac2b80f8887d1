#include <fmt/format.h>

#include <map>

#include "analysis/program_checks.h"
#include "pt2/guards.h"

namespace pt2 {
namespace {

class GuardChecks {
 public:
  GuardChecks(const Program& program, const ProgramPlace& place, Diagnostics& findings)
      : program_(program), place_(place), findings_(findings) {
    const std::vector<std::string> names = user_input_names(program);
    const std::vector<ArgumentSpec> specs = program.signature.user_inputs();
    for (size_t i = 0; i < names.size() && i < specs.size(); ++i)
      specs_.emplace(names[i], specs[i]);
  }

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
      return findings_.add(unknown ? Rule::guard_support : Rule::guard_reads, std::move(error));
    }
    for (const GuardSource& source : guard->sources) check_source(source, where);
  }

  void check_source(const GuardSource& source, const std::string& where) {
    auto spec = specs_.find(source.input);
    if (spec == specs_.end()) spec = specs_.find(variadic_input_name(source.input));
    if (spec == specs_.end())
      return findings_.add(Rule::guard_input, where,
                           fmt::format("the program has no input '{}'", source.input));
    const bool has_dim = source.property == GuardSource::Property::size ||
                         source.property == GuardSource::Property::stride;
    const auto id = program_.graph.find_value(spec->second.name);
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
  std::map<std::string, ArgumentSpec> specs_;  // a file may have many guards and many inputs
};

}  // namespace

void check_guards(const Program& program, const ProgramPlace& place, Diagnostics& findings) {
  GuardChecks(program, place, findings).run();
}

}  // namespace pt2
