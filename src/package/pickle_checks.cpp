#include "package/pickle_checks.h"

#include <fmt/format.h>

#include <set>

#include "ir/symbols/symbols_internal.h"
#include "package/payload_readers.h"
#include "pt2/ir/program.h"

namespace pt2 {
namespace {

class PickleChecks {
 public:
  PickleChecks(const Archive& archive, Diagnostics& findings)
      : archive_(archive), findings_(findings) {}

  void run() {
    for (const std::string& model : archive_.models()) {
      for (const Role role : {Role::weights, Role::constants, Role::sample_inputs})
        check(archive_.record_name(role, model), false);
      for (const PayloadKind kind : {PayloadKind::weight, PayloadKind::constant})
        check_configured(kind, model);
      if (archive_.names_its_payloads(model)) check_named();
    }
  }

 private:
  // PyTorch loads entries that a config marks as pickled with torch.load, and opaque objects with
  // pickle (torch/export/pt2_archive/_package.py, _load_state_dict and _load_constants).
  void check_configured(PayloadKind kind, const std::string& model) {
    const bool weights = kind == PayloadKind::weight;
    const std::string name =
        archive_.record_name(weights ? Role::weights_config : Role::constants_config, model);
    if (name.empty() || archive_.find(name) == nullptr) return;
    const auto config = read_payload_config(archive_, name);
    if (!config) return;  // V300
    for (const auto& [target, meta] : config->config) {
      const bool opaque = !weights && is_opaque_object(meta);
      const bool pickled = weights || meta.path_name.starts_with("tensor_");
      if (opaque || (pickled && meta.use_pickle))
        check(payload_record(kind, meta.path_name), opaque);
    }
  }

  // Paths may lead to any record, so every record that is a torch.save file is checked.
  void check_named() {
    for (const Entry& entry : archive_.zip().entries()) {
      const Role role = archive_.role(entry).role;
      if (role != Role::raw_weight && role != Role::raw_constant && role != Role::unknown) continue;
      const std::string name(archive_.relative_name(entry));
      const auto record = archive_.read(name);
      if (record && read_saved_pickle(*record, archive_.limits())) check(name, false);
    }
  }

  void check(const std::string& name, bool bare) {
    if (name.empty() || archive_.find(name) == nullptr || !seen_.insert(name).second) return;
    const auto record = archive_.read(name);
    if (!record) return;  // V300
    const std::string place = fmt::format("{}!{}", archive_.name(), name);
    PickleCode code = bare ? find_pickle_code(record->bytes, archive_.limits())
                           : find_saved_code(*record, archive_.limits());
    report_pickle_code(std::move(code), place, findings_);
  }

 public:
  static void report_pickle_code(PickleCode code, const std::string& place, Diagnostics& findings) {
    report_pickle_calls(code.calls, place, findings);
    ExprPool expressions;
    for (const ForeignCall& each : code.expressions)
      if (const auto parsed = expressions.parse(each.text); !parsed)
        findings.add(Rule::expression,
                     Error{parsed.error().code, parsed.error().message + evaluated_text(each.text),
                           fmt::format("{}!byte {}", place, each.offset)});
    if (!code.stopped) return;
    const Error& error = *code.stopped;
    findings.add(Rule::unread_pickle,
                 error.where.empty() ? place : fmt::format("{}!{}", place, error.where),
                 fmt::format("{}; what PyTorch would run behind it is not known", error.message));
  }

 private:
  const Archive& archive_;
  Diagnostics& findings_;
  std::set<std::string> seen_;
};

}  // namespace

void report_pickle_calls(std::span<const ForeignCall> calls, const std::string& place,
                         Diagnostics& findings) {
  for (const ForeignCall& call : calls)
    findings.add(Rule::code_in_pickle, fmt::format("{}!byte {}", place, call.offset),
                 fmt::format("PyTorch would run {}; here it was not run", call.text));
}

void check_pickles(const Archive& archive, Diagnostics& findings) {
  PickleChecks(archive, findings).run();
}

void check_embedded_pickles(const Program& program, const std::string& place, const Limits& limits,
                            Diagnostics& findings) {
  for (const EmbeddedConstant& constant : program.embedded_constants) {
    const Record record = make_record(
        std::string(reinterpret_cast<const char*>(constant.bytes.data()), constant.bytes.size()));
    PickleChecks::report_pickle_code(
        find_saved_code(record, limits),
        fmt::format("{}.graph_module.graph.constants['{}']", place, constant.name), findings);
  }
}

}  // namespace pt2
