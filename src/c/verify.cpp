#include "pt2/verify.h"

#include "c/packages.h"
#include "pt2/ops/verify_operators.h"

struct pt2_findings {
  pt2::Diagnostics diagnostics;
  std::vector<std::string> rules;  // "V103", one for each finding
};

namespace pt2::c {
namespace {

constexpr uint32_t kMaxThreads = 64;

Result<void> verify_source(const Source& source, const pt2_verify_options* given,
                           pt2_findings** out) {
  PT2_TRY_VOID(expect(out, "out"));
  PT2_TRY(const pt2_verify_options options, read_options(given));
  if (options.up_to < 0 || options.up_to > 1 + PT2_LEVEL_FULL)
    return argument_error("there is no level " + std::to_string(options.up_to));
  const Level level = options.up_to == 0 ? Level::full : static_cast<Level>(options.up_to - 1);
  VerifyOptions settings{.threads = std::clamp(options.threads, 1u, kMaxThreads),
                         .operators = check_operators};
  PT2_TRY(settings.limits, read_limits(options.limits, options.limits_length));
  if (options.progress != nullptr)
    settings.progress = [options](uint64_t done, uint64_t total) {
      options.progress(done, total, options.user);
    };
  auto findings = std::make_unique<pt2_findings>();
  const std::string name(source.name);
  const std::span bytes(static_cast<const std::byte*>(source.bytes), source.byte_count);
  findings->diagnostics = source.in_memory ? verify_bytes(bytes, nullptr, name, level, settings)
                                           : verify(name, level, settings);
  for (const Diagnostic& each : findings->diagnostics.all())
    findings->rules.push_back(rule_code(each.rule));
  *out = findings.release();
  return {};
}

}  // namespace
}  // namespace pt2::c

using namespace pt2::c;
using pt2::Result;

pt2_error* pt2_verify(const char* path, size_t path_length, const pt2_verify_options* options,
                      pt2_findings** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY(const Source source, file_source(path, path_length));
    return verify_source(source, options, out);
  });
}

pt2_error* pt2_verify_memory(const void* bytes, size_t byte_count, const char* name,
                             size_t name_length, const pt2_verify_options* options,
                             pt2_findings** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY(const Source source, memory_source(bytes, byte_count, name, name_length));
    return verify_source(source, options, out);
  });
}

void pt2_findings_free(pt2_findings* findings) { delete findings; }

size_t pt2_findings_count(const pt2_findings* findings) {
  return findings == nullptr ? 0 : findings->diagnostics.all().size();
}

int32_t pt2_findings_has_errors(const pt2_findings* findings) {
  return findings != nullptr && findings->diagnostics.has_errors() ? 1 : 0;
}

pt2_error* pt2_findings_get(const pt2_findings* findings, size_t index, pt2_finding* out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(findings, "findings"));
    if (index >= findings->rules.size())
      return argument_error("there is no finding " + std::to_string(index));
    const pt2::Diagnostic& finding = findings->diagnostics.all()[index];
    return answer({.severity = finding.severity() == pt2::Severity::error ? PT2_ERROR : PT2_WARNING,
                   .code = 1 + static_cast<int32_t>(finding.code),
                   .rule = findings->rules[index].c_str(),
                   .name = pt2::rule_info(finding.rule).name.data(),
                   .place = finding.where.c_str(),
                   .text = finding.text.c_str(),
                   .node = finding.node.name.c_str()},
                  out);
  });
}
