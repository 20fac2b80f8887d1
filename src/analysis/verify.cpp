#include "pt2/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "analysis/program_checks.h"
#include "ir/graph_place.h"
#include "ir/structure.h"
#include "package/pickle_checks.h"
#include "package/read_package.h"
#include "pt2/package.h"
#include "schema/path.h"

namespace pt2 {
namespace {

constexpr void (*kGraphLevel[])(const Program&, const ProgramPlace&, Diagnostics&) = {
    check_signature, check_calls,   check_graphs, check_higher_order,
    check_metadata,  check_symbols, check_guards, check_dialect};

// `issues` are those of reading the payloads.
void verify_payloads(const Archive& archive, const ProgramSource& source, const Program& program,
                     const Payloads& payloads, Diagnostics issues, const ProgramPlace& place,
                     Diagnostics& findings) {
  const bool readable = issues.empty();
  findings.append(std::move(issues));
  // Skip payloads that could not be read: they would be reported again, as missing.
  if (readable) check_payloads(program, payloads, place, findings);
  check_embedded_pickles(program, place.program, archive.limits(), findings);
  Diagnostics known;  // reported by check_pickles
  auto samples = read_sample_inputs(archive, source.model, known);
  // No program needs its example inputs, so refused ones break a rule of their own.
  if (!samples) findings.add(Rule::refused_sample_inputs, std::move(samples).error());
}

// `faults` are the breaches found while the program's structure was read.
void verify_graphs(const Program& program, const ProgramPlace& place, Diagnostics faults,
                   Level level, const VerifyOptions& options, Diagnostics& findings) {
  check_targets(program, place, findings);
  if (level < Level::graph) return;
  findings.append(std::move(faults));
  for (auto* check : kGraphLevel) check(program, place, findings);
  if (level >= Level::full && options.operators)
    options.operators(program, place.program, findings);
}

// Reports empty ranges. Reading a file reports them at their places; nothing does for a program in
// memory.
void check_ranges(const Program& program, const ProgramPlace& place, Diagnostics& findings) {
  for (const RangeConstraint& constraint : program.range_constraints) {
    if (!constraint.range.is_empty()) continue;
    std::string where = fmt::format("{}.range_constraints", place.program);
    schema::append_key_step(where, constraint.key->text);
    findings.add(Rule::range, std::move(where),
                 fmt::format("the range {} is empty", print(constraint.range)));
  }
}

void name_nodes(const Program& program, const ProgramPlace& place, Diagnostics& findings) {
  NodePlaces places(program);
  findings.set_nodes([&](std::string_view where) {
    return where.starts_with(place.program) ? places.find(where) : NodePlace{};
  });
}

void verify_source(const Archive& archive, ProgramSource& source, Level level,
                   const VerifyOptions& options, Diagnostics& findings) {
  const ProgramPlace place{archive.name(), program_place(archive, source), source.draft != nullptr};
  Diagnostics faults;
  auto program = read_program(archive, source, findings, faults);
  if (!program) return findings.add(Rule::program_reads, std::move(program).error());
  Payloads payloads;
  Diagnostics issues;
  if (level >= Level::full) {
    payloads = read_payloads(archive, source, *program, issues);
    record_embedded_constants(*program, payloads);
  }
  verify_graphs(*program, place, std::move(faults), level, options, findings);
  if (level >= Level::full)
    verify_payloads(archive, source, *program, payloads, std::move(issues), place, findings);
  name_nodes(*program, place, findings);
}

void verify_programs(const Archive& archive, Level level, const VerifyOptions& options,
                     Diagnostics& findings) {
  std::vector<ProgramSource> sources;
  for (const std::string& model : archive.models()) {
    auto found = read_sources(archive, model, findings);
    if (!found)
      findings.add(Rule::program_decodes, std::move(found).error());
    else
      std::ranges::move(*found, std::back_inserter(sources));
  }
  check_names(archive, sources, findings);
  for (ProgramSource& source : sources) verify_source(archive, source, level, options, findings);
  if (level >= Level::full) check_pickles(archive, findings);
}

void verify_checksums(const Archive& archive, const VerifyOptions& options, Diagnostics& findings) {
  Diagnostics differing;
  check_all_crcs(archive.zip(), differing, options.threads, options.progress);
  for (const Diagnostic& entry : differing.all()) {
    findings.add(entry.rule,
                 Error{entry.code, entry.text, fmt::format("{}!{}", archive.name(), entry.where)});
  }
}

Diagnostics verify_archive(const Result<Archive>& archive, Level level,
                           const VerifyOptions& options) {
  Diagnostics findings;
  if (!archive) {
    findings.add(Rule::container_opens, archive.error());
    return findings;
  }
  findings.append(archive->warnings());
  verify_checksums(*archive, options, findings);
  if (level >= Level::schema) verify_programs(*archive, level, options, findings);
  return findings;
}

}  // namespace

Diagnostics verify(const std::string& path, Level level, const VerifyOptions& options) {
  return verify_archive(Archive::open(path, options.limits), level, options);
}

Diagnostics verify_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                         std::string name, Level level, const VerifyOptions& options) {
  return verify_archive(
      Archive::open_bytes(bytes, std::move(owner), std::move(name), options.limits), level,
      options);
}

Diagnostics verify_program(const Program& program, std::string_view name, Level level,
                           const VerifyOptions& options) {
  const ProgramPlace place{std::string(name), fmt::format("{}:", name)};
  Diagnostics structure, faults, findings;
  check_structure(program, structure);
  for (const Diagnostic& fault : structure.all())
    faults.add(fault.rule, Error{fault.code, fault.text, place.program + fault.where});
  check_ranges(program, place, faults);
  verify_graphs(program, place, std::move(faults), level, options, findings);
  name_nodes(program, place, findings);
  return findings;
}

}  // namespace pt2
