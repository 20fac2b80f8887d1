#include "c/packages.h"

#include "c/operators.h"
#include "pt2/format/stored_json.h"
#include "pt2/ir/program_text.h"
#include "pt2/ops/operators.h"

namespace pt2::c {
namespace {

void log_warnings(const Package& package, const pt2_load_options& options) {
  if (options.log == nullptr) return;
  for (const Diagnostic& warning : package.warnings().all()) {
    const std::string line = warning.line();
    options.log(line.data(), line.size(), options.user);
  }
}

// For functions that make a text for one program: make(package, name of the program).
template <class F>
pt2_error* give_text(const pt2_package* package, const char* program, size_t length, pt2_text** out,
                     F make) noexcept {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(package, "package"));
    PT2_TRY_VOID(expect(out, "out"));
    PT2_TRY(const std::string_view name, read_text(program, length, "program"));
    PT2_TRY(std::string text, make(*package->package, std::string(name)));
    *out = new pt2_text{std::move(text)};
    return {};
  });
}

}  // namespace

Result<Source> file_source(const char* path, size_t length) {
  Source out;
  PT2_TRY(out.name, read_text(path, length, "path"));
  if (out.name.empty() || out.name.find('\0') != out.name.npos)
    return argument_error("found no path of a file");
  return out;
}

Result<Source> memory_source(const void* bytes, size_t byte_count, const char* name,
                             size_t length) {
  if (byte_count > 0) PT2_TRY_VOID(expect(bytes, "bytes"));
  Source out{.bytes = bytes,
             .byte_count = byte_count,
             .in_memory = true,
             .owner = std::make_shared<Releaser>()};
  PT2_TRY(out.name, read_text(name, length, "name"));
  return out;
}

Result<EngineKind> read_engine(int32_t engine) {
  if (engine == PT2_ENGINE_PLANNED) return EngineKind::planned;
  if (engine == PT2_ENGINE_REFERENCE) return EngineKind::reference;
  return argument_error("there is no engine " + std::to_string(engine));
}

Result<LoadOptions> load_options(const pt2_load_options& options) {
  LoadOptions out;
  PT2_TRY(const std::string_view program,
          read_text(options.program, options.program_length, "program"));
  out.model = program;
  PT2_TRY(out.limits, read_limits(options.limits, options.limits_length));
  PT2_TRY(out.engine, read_engine(options.engine));
  if (options.operators != nullptr) out.operators = options.operators->operators;
  return out;
}

Result<std::shared_ptr<const Package>> open_source(const Source& source,
                                                   const pt2_load_options& options) {
  PT2_TRY(const Limits limits, read_limits(options.limits, options.limits_length));
  const std::string name(source.name);
  if (!source.in_memory) {
    PT2_TRY(Package package, Package::open(name, limits));
    log_warnings(package, options);
    return std::make_shared<const Package>(std::move(package));
  }
  const std::span bytes(static_cast<const std::byte*>(source.bytes), source.byte_count);
  PT2_TRY(Package package, Package::open_bytes(bytes, source.owner, name, limits));
  log_warnings(package, options);
  return std::make_shared<const Package>(std::move(package));
}

namespace {

Result<void> open(const Source& source, const pt2_load_options* given, pt2_package** out) {
  PT2_TRY_VOID(expect(out, "out"));
  PT2_TRY(const pt2_load_options options, read_options(given));
  auto package = std::make_unique<pt2_package>();
  PT2_TRY(package->package, open_source(source, options));
  PT2_TRY(package->limits, read_limits(options.limits, options.limits_length));
  *out = package.release();
  return {};
}

}  // namespace
}  // namespace pt2::c

using namespace pt2::c;
using pt2::Package;
using pt2::Result;

pt2_error* pt2_package_open(const char* path, size_t path_length, const pt2_load_options* options,
                            pt2_package** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY(const Source source, file_source(path, path_length));
    return open(source, options, out);
  });
}

pt2_error* pt2_package_open_memory(const void* bytes, size_t byte_count, const char* name,
                                   size_t name_length, pt2_release release, void* user,
                                   const pt2_load_options* options, pt2_package** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY(const Source source, memory_source(bytes, byte_count, name, name_length));
    PT2_TRY_VOID(open(source, options, out));
    source.owner->set(release, user);
    return {};
  });
}

void pt2_package_free(pt2_package* package) { delete package; }

size_t pt2_package_program_count(const pt2_package* package) {
  return package == nullptr ? 0 : package->package->models().size();
}

const char* pt2_package_program_name(const pt2_package* package, size_t index, size_t* length) {
  if (index >= pt2_package_program_count(package)) return nullptr;
  return give(package->package->models()[index], length);
}

pt2_error* pt2_package_json(const pt2_package* package, const char* program, size_t program_length,
                            int32_t pretty, pt2_text** out) {
  const auto make = [&](const Package& from, const std::string& name) {
    using pt2::schema::Print;
    return pt2::stored_json(from, name, pretty != 0 ? Print::pretty : Print::as_read);
  };
  return give_text(package, program, program_length, out, make);
}

pt2_error* pt2_package_dis(const pt2_package* package, const char* program, size_t program_length,
                           int32_t metadata, pt2_text** out) {
  const auto make = [&](const Package& from, const std::string& name) -> Result<std::string> {
    PT2_TRY(const pt2::Program* found, from.program(name));
    return pt2::print_program(*found, {.metadata = metadata != 0});
  };
  return give_text(package, program, program_length, out, make);
}

pt2_error* pt2_package_missing_operators(const pt2_package* package, const char* program,
                                         size_t program_length, const pt2_operators* operators,
                                         pt2_text** out) {
  const auto make = [&](const Package& from, const std::string& name) -> Result<std::string> {
    PT2_TRY(const pt2::Program* found, from.program(name));
    const pt2::CustomOperators known =
        operators == nullptr ? pt2::CustomOperators() : operators->operators;
    std::string text;
    for (const pt2::OperatorUse& use : pt2::operators_used(*found, known))
      if (!use.has_kernel) text += use.target + "\n";
    return text;
  };
  return give_text(package, program, program_length, out, make);
}
