#include <fmt/format.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "c/border.h"
#include "models.h"
#include "pt2/conversion.h"
#include "pt2/format/stored_json.h"
#include "pt2/ir/program_text.h"
#include "pt2/ops/operators.h"
#include "pt2/ops/verify_operators.h"
#include "pt2/verify.h"
#include "tools/command.h"

namespace pt2::python {
namespace {

Package open(nb::handle path, nb::handle limits) {
  const std::string text = to_path(path);
  const Limits bounds = limits_from(limits);
  return unwrap(released([&] { return Package::open(text, bounds); }));
}

nb::list find_faults(nb::handle given, const std::string& level_text, nb::handle limits,
                     std::function<void(uint64_t, uint64_t)> progress) {
  const std::string path = to_path(given);
  constexpr Level kLevels[] = {Level::container, Level::schema, Level::graph, Level::full};
  const auto* level = std::ranges::find(kLevels, level_text, level_name);
  if (level == std::end(kLevels))
    raise({ErrorCode::argument, "there is no level '" + level_text + "'", ""});
  VerifyOptions options{.limits = limits_from(limits), .operators = check_operators};
  if (progress)
    options.progress = [&](uint64_t done, uint64_t total) {
      const nb::gil_scoped_acquire lock;
      progress(done, total);
    };
  const Diagnostics findings = released([&] { return pt2::verify(path, *level, options); });
  const nb::object make = nb::module_::import_("pt2._info").attr("Finding");
  nb::list out;
  for (const Diagnostic& each : findings.all())
    out.append(make(rule_code(each.rule), text_of(rule_info(each.rule).name),
                    each.severity() == Severity::error ? "error" : "warning", text_of(each.where),
                    text_of(each.text), each.node.name));
  return out;
}

nb::list blockers_of(const std::vector<Blocker>& blockers) {
  const nb::object make = nb::module_::import_("pt2._info").attr("Blocker");
  nb::list out;
  for (const Blocker& each : blockers)
    out.append(make(text_of(each.info().name), text_of(each.info().loss), text_of(each.text),
                    text_of(each.where), each.first ? release_name(*each.first) : ""));
  return out;
}

nb::tuple convert_file(nb::handle path, nb::handle output, const std::string& release,
                       const std::vector<std::string>& losses, nb::handle limits) {
  const std::string target = to_path(output);
  const Package package = open(path, limits);
  ConvertOptions options{.limits = limits_from(limits)};
  options.losses.insert(losses.begin(), losses.end());
  const bool oldest = release == "oldest";
  if (!oldest && !release.empty()) options.target = unwrap(conversion_target(release));
  const Conversion made = unwrap(released([&]() -> Result<Conversion> {
    PT2_TRY(Conversion found,
            oldest ? convert_for_oldest(package, options) : convert(package, options));
    if (found.blockers.empty()) PT2_TRY_VOID(save_package(found.contents, target));
    return found;
  }));
  return nb::make_tuple(release_name(*made.target.release), blockers_of(made.blockers),
                        blockers_of(made.lost));
}

std::string program_json(nb::handle path, const std::string& program, bool pretty,
                         nb::handle limits) {
  const Package package = open(path, limits);
  const auto print = pretty ? schema::Print::pretty : schema::Print::as_read;
  return unwrap(released([&] { return stored_json(package, program, print); }));
}

std::string program_text(nb::handle path, const std::string& program, bool metadata,
                         nb::handle limits) {
  const Package package = open(path, limits);
  return unwrap(released([&]() -> Result<std::string> {
    PT2_TRY(const Program* found, package.program(program));
    return print_program(*found, {.metadata = metadata});
  }));
}

nb::list operators_of(nb::handle path, const std::string& program, nb::handle limits) {
  const Package package = open(path, limits);
  const nb::object make = nb::module_::import_("pt2._info").attr("OperatorUse");
  nb::list out;
  const Program* found = unwrap(released([&] { return package.program(program); }));
  for (const OperatorUse& use : operators_used(*found))
    out.append(make(use.target, use.calls.size(), use.has_kernel));
  return out;
}

int run_command(nb::handle given) {
  std::vector<std::string> arguments;
  for (nb::handle each : given) arguments.push_back(to_path(each));  // most are paths
  const nb::gil_scoped_release release;
  tools::Environment environment = tools::standard_environment();
  const int code = tools::run_command(arguments, environment);
  std::fflush(nullptr);
  return code;
}

uint64_t limit_value(const std::string& name, nb::handle given) {
  // Accepts every integer type, including NumPy's.
  const auto number = nb::steal(PyNumber_Index(given.ptr()));
  if (!number.is_valid()) PyErr_Clear();
  uint64_t out = 0;
  if (!number.is_valid() || !nb::try_cast(number, out))
    raise({ErrorCode::argument,
           number.is_valid() ? "found an integer below 0 or beyond uint64, expected 0 to 2**64 - 1"
                             : "found " + described(given) + ", expected an integer",
           "limit '" + name + "'"});
  return out;
}

}  // namespace

Limits limits_from(nb::handle limits) {
  Limits out;
  if (limits.is_none()) return out;
  const nb::object entries = nb::handle(reinterpret_cast<PyObject*>(&PyDict_Type))(limits);
  for (const auto& [key, value] : nb::borrow<nb::dict>(entries)) {
    const std::string name = to_text(key, "the name of a limit");
    unwrap(set_limit(out, fmt::format("{}={}", name, limit_value(name, value))));
  }
  return out;
}

void add_functions(nb::module_& module) {
  module.def("verify", &find_faults, nb::arg("path"), nb::arg("level"), nb::arg("limits").none(),
             nb::arg("progress").none());
  module.def("convert", &convert_file, nb::arg("path"), nb::arg("output"), nb::arg("release"),
             nb::arg("losses"), nb::arg("limits").none());
  module.def("json", &program_json, nb::arg("path"), nb::arg("program"), nb::arg("pretty"),
             nb::arg("limits").none());
  module.def("dis", &program_text, nb::arg("path"), nb::arg("program"), nb::arg("metadata"),
             nb::arg("limits").none());
  module.def("operators", &operators_of, nb::arg("path"), nb::arg("program"),
             nb::arg("limits").none());
  module.def("command", &run_command, nb::arg("arguments"));
}

}  // namespace pt2::python
