#include "pt2/conversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>

#include "convert/converter.h"
#include "convert/operator_blockers.h"
#include "convert/payloads.h"
#include "convert/schema_blockers.h"
#include "ir/version_facts.h"
#include "package/read_package.h"
#include "pt2/format/schema_json.h"
#include "serde/to_schema.h"

namespace pt2 {
namespace {

constexpr BlockerInfo kBlockerKinds[] = {
#define PT2_BLOCKER(name, loss, what, source) {BlockerKind::name, #name, loss, what, source},
#include "pt2/blockers.def"
};

constexpr RewriteInfo kRewrites[] = {
#define PT2_REWRITE(name, what, source) {#name, what, source},
#include "convert/rewrites.def"
};

using Rewrite = Result<void> (*)(Converter&);
constexpr Rewrite kRewriteFunctions[] = {
#define PT2_REWRITE(name, what, source) rewrite_##name,
#include "convert/rewrites.def"
};

Error argument(std::string message) { return {ErrorCode::argument, std::move(message)}; }

Result<ConversionTarget> schema_target(std::string_view text) {
  int major = 0, minor = 0;
  const char* end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, major);
  if (parsed.ec == std::errc() && parsed.ptr != end && *parsed.ptr == '.')
    parsed = std::from_chars(parsed.ptr + 1, end, minor);
  if (parsed.ec != std::errc() || parsed.ptr != end || major < 1 || major > 99 || minor > 99)
    return argument(fmt::format("found the schema version '{}', expected one such as 8.14", text));
  const int schema = 100 * major + minor;
  const Release* release = first_release_with(schema);
  if (release == nullptr)
    return argument(
        fmt::format("no release writes schema version {}, or a newer {}.x", text, major));
  // Several releases may write the same schema: take the newest.
  for (const Release& each : releases())
    if (each.schema == release->schema) release = &each;
  return ConversionTarget{release, schema};
}

Result<void> check_losses(const ConvertOptions& options) {
  for (const std::string& loss : options.losses) {
    const bool is_known =
        !loss.empty() && std::ranges::find(kBlockerKinds, std::string_view(loss),
                                           &BlockerInfo::loss) != std::end(kBlockerKinds);
    if (is_known) continue;
    std::string known;
    for (const BlockerInfo& info : kBlockerKinds)
      if (!info.loss.empty()) known += fmt::format("{}{}", known.empty() ? "" : ", ", info.loss);
    return argument(
        fmt::format("found '{}' among what may be lost, expected one of {}", loss, known));
  }
  return {};
}

// Programs that share a document cannot be converted separately.
Result<void> check_source(const Package& package) {
  const Archive& archive = package.archive();
  const auto unsupported = [&](std::string_view what) {
    return Error{ErrorCode::unsupported, std::string(what), archive.name()};
  };
  if (package.draft() != nullptr)
    return unsupported(
        "found an early draft, expected a .pt2 file; pt2 draft FILE -o NEW.pt2 writes one");
  if (archive.era() == Era::document)
    return unsupported("found a bare JSON document, expected an archive");
  for (const std::string& model : archive.models())
    if (archive.names_its_payloads(model))
      return unsupported(
          "found a container of programs (schema 8.6 to 8.11), which is not converted");
  return {};
}

// Converts one package. An object is used once.
class PackageConverter {
 public:
  PackageConverter(const Package& package, const ConvertOptions& options, Conversion& out)
      : package_(package), options_(options), out_(out) {}

  Result<void> run() {
    PT2_TRY(out_.contents, package_contents(package_));
    for (SavedProgram& saved : out_.contents.programs) PT2_TRY_VOID(convert_program(saved));
    const auto add = [this](Blocker blocker) {
      (is_accepted(blocker, options_) ? out_.lost : out_.blockers).push_back(std::move(blocker));
    };
    return convert_payloads(out_.contents, out_.target.release->era, add);
  }

 private:
  bool is_there_already(const Program& program) const {
    return out_.contents.era == out_.target.release->era &&
           version_number(program.schema_version) == out_.target.schema &&
           release_of(program).number == out_.target.release->number;
  }

  Result<void> convert_program(SavedProgram& saved) {
    PT2_TRY(const Program* original, package_.program(saved.name));
    Converter converter(*original, out_.target, options_,
                        [&] { return read_payloads_in_place(package_, saved.name); });
    bool changed = false;
    for (size_t i = 0; i < std::size(kRewrites); ++i) {
      converter.changed = false;
      PT2_TRY_VOID(kRewriteFunctions[i](converter));
      changed |= converter.changed;
      if (converter.changed &&
          std::ranges::find(out_.rewritten, kRewrites[i].name) == out_.rewritten.end())
        out_.rewritten.push_back(kRewrites[i].name);
    }
    // Keep the file's own text: it may hold data that this library does not write.
    if (!changed && is_there_already(*original)) return {};
    const auto add = [&](Blocker blocker) { converter.block(std::move(blocker)); };
    // A rewriting that leaves a function's nodes in place has already added a blocker with the
    // reason.
    std::set<std::string> explained;
    for (const Blocker& blocker : converter.blockers)
      if (blocker.kind == BlockerKind::function) explained.insert(blocker.node.target);
    check_operators(converter.program, *out_.target.release, [&](Blocker blocker) {
      if (blocker.kind != BlockerKind::function || !explained.contains(blocker.node.target))
        add(std::move(blocker));
    });
    schema::ExportedProgram written = to_schema(converter.program);
    check_schema(written, *out_.target.release, out_.target.schema, add);
    saved.json = schema::encode_program(written);
    PT2_TRY_VOID(move_constants(saved, converter.added_constants, converter.removed_constants));
    take(converter, saved.name);
    return {};
  }

  void take(Converter& converter, const std::string& name) {
    const bool name_it = package_.models().size() > 1;
    const auto move = [&](std::vector<Blocker>& from, std::vector<Blocker>& to) {
      for (Blocker& blocker : from) {
        if (name_it) blocker.where = name + ":" + blocker.where;
        to.push_back(std::move(blocker));
      }
    };
    move(converter.blockers, out_.blockers);
    move(converter.lost, out_.lost);
  }

  const Package& package_;
  const ConvertOptions& options_;
  Conversion& out_;
};

}  // namespace

std::span<const BlockerInfo> blocker_kinds() { return kBlockerKinds; }
std::span<const RewriteInfo> rewrites() { return kRewrites; }

const BlockerInfo& Blocker::info() const { return kBlockerKinds[static_cast<size_t>(kind)]; }

std::string Blocker::line() const {
  const std::string place = node ? node.text() : where;
  std::string out = fmt::format("{}: {}{}{}", info().name, place, place.empty() ? "" : ": ", text);
  if (first != nullptr) out += fmt::format("; needs PyTorch {} or later", release_name(*first));
  return out;
}

Result<ConversionTarget> conversion_target(std::string_view text) {
  constexpr std::string_view kSchema = "schema ";
  if (text.starts_with(kSchema)) return schema_target(text.substr(kSchema.size()));
  const Release* release = text == "newest" ? &newest_release() : find_release(text);
  if (release == nullptr)
    return argument(
        fmt::format("there is no release '{}'; expected torch-{} to torch-{}, newest or oldest",
                    text, release_name(releases().front()), release_name(newest_release())));
  return ConversionTarget{release, release->schema};
}

Result<Conversion> convert(const Package& package, const ConvertOptions& options) {
  PT2_TRY_VOID(check_losses(options));
  PT2_TRY_VOID(check_source(package));
  Conversion conversion{.target = options.target};
  if (conversion.target.release == nullptr) {
    PT2_TRY(const Program* first, package.program(package.models().front()));
    const Release& own = release_of(*first);
    conversion.target = {&own, own.schema};
  }
  PT2_TRY_VOID(PackageConverter(package, options, conversion).run());
  return conversion;
}

Result<Conversion> convert_for_oldest(const Package& package, const ConvertOptions& options) {
  ConvertOptions each = options;
  for (const Release& release : releases()) {
    each.target = {&release, release.schema};
    PT2_TRY(Conversion conversion, convert(package, each));
    if (conversion.blockers.empty() || &release == &newest_release()) return conversion;
  }
  return argument("there are no releases");
}

}  // namespace pt2
