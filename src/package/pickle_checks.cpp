#include "package/pickle_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "archive/layout.h"
#include "archive/zip_format.h"
#include "ir/symbols/symbols_internal.h"
#include "package/payload_readers.h"
#include "pt2/ir/program.h"

namespace pt2 {
namespace {

class PickleChecks {
 public:
  PickleChecks(const Archive& archive, Diagnostics& findings, std::vector<std::string>* names)
      : archive_(archive), findings_(findings), names_(names) {
    for (const Entry& entry : archive.zip().entries())
      entries_.insert(archive.relative_name(entry));
  }

  void run() {
    for (const std::string& model : loaded_models()) {
      check_saved(model);
      for (const PayloadKind kind : {PayloadKind::weight, PayloadKind::constant})
        check_configured(kind, model);
    }
    if (std::ranges::any_of(archive_.models(), [&](const std::string& model) {
          return archive_.names_its_payloads(model);
        }))
      check_named();
    for (const Entry& entry : archive_.zip().entries()) check_other(entry);
  }

 private:
  std::set<std::string> loaded_models() const {
    std::set<std::string> models(archive_.models().begin(), archive_.models().end());
    for (const Entry& entry : archive_.zip().entries())
      if (const auto model = model_loaded_from(archive_.relative_name(entry)))
        models.emplace(*model);
    return models;
  }

  // Checks every layout of the era: 2.8's records win even if a later release's records are
  // present, and an old archive may have its weights under two names.
  void check_saved(const std::string& model) {
    const EraSet eras = archive_.era() == Era::flat ? kFlat : kPackage;
    for (const LayoutRow& row : layout_rows())
      if ((row.eras & eras) != 0 && (row.role == Role::weights || row.role == Role::constants ||
                                     row.role == Role::sample_inputs))
        check(expand_pattern(row.pattern, model), false);
  }

  // PyTorch uses torch.load for the entries that a config marks as pickled, and pickle for opaque
  // objects (torch/export/pt2_archive/_package.py, _load_state_dict and _load_constants).
  void check_configured(PayloadKind kind, const std::string& model) {
    const bool weights = kind == PayloadKind::weight;
    const std::string name =
        archive_.record_name(weights ? Role::weights_config : Role::constants_config, model);
    if (name.empty() || archive_.find(name) == nullptr) return;
    const auto config = read_payload_config(archive_, name);
    if (!config) return check_unlisted(kind);  // V300
    for (const auto& [target, meta] : config->config) {
      const bool opaque = !weights && is_opaque_object(meta);
      const bool pickled = weights || meta.path_name.starts_with("tensor_");
      if (opaque || (pickled && meta.use_pickle))
        check(payload_record(kind, meta.path_name), opaque);
    }
  }

  // Checks every raw record and opaque object: only Python's JSON reader can read this config.
  void check_unlisted(PayloadKind kind) {
    const Role role = kind == PayloadKind::weight ? Role::raw_weight : Role::raw_constant;
    for (const Entry& entry : archive_.zip().entries())
      if (archive_.role(entry).role == role || archive_.role(entry).role == Role::opaque_object)
        check_calls(std::string(archive_.relative_name(entry)));
  }

  // Checks a record that no program names, but that looks loadable.
  void check_other(const Entry& entry) {
    const Role role = archive_.role(entry).role;
    if (role == Role::program || role == Role::extra || role == Role::metadata ||
        role == Role::aotinductor || role == Role::executorch)
      return;
    const std::string name(archive_.relative_name(entry));
    const auto record = archive_.read(name);
    if (!record || record->bytes.size() < 2) return;  // V103
    const auto first = static_cast<uint8_t>(record->bytes[0]);
    const auto protocol = static_cast<uint8_t>(record->bytes[1]);
    const bool zipped = zip::begins_as_zip(record->text());
    // torch.load and torch.jit.load read these.
    if (!zipped && (name == "data.pkl" || name == "constants.pkl")) return check(name, true);
    if (zipped && role != Role::unknown) return check(name, false);
    if (zipped || name.ends_with(".pkl") || (first == 0x80 && protocol >= 2 && protocol <= 5))
      check_calls(name);
  }

  // Checks bytes that may not be a pickle, so failing to follow them is not a finding.
  void check_calls(const std::string& name) {
    if (!seen_.insert(name).second) return;
    const auto record = archive_.read(name);
    if (!record) return;
    PickleCode code = find_saved_code(*record, archive_.limits());
    code.stopped.reset();
    report(std::move(code), name);
  }

  // Paths may name any record, so every record that is a torch.save file is checked.
  void check_named() {
    for (const Entry& entry : archive_.zip().entries()) {
      const Role role = archive_.role(entry).role;
      if (role != Role::raw_weight && role != Role::raw_constant && role != Role::unknown) continue;
      const std::string name(archive_.relative_name(entry));
      const auto record = archive_.read(name);
      if (record && read_saved_pickle(*record, archive_.limits())) check(name, false);
    }
  }

  void check(const std::string& wanted, bool bare) {
    const std::string name = name_in_archive(wanted);
    if (name.empty() || !seen_.insert(name).second) return;
    const auto record = archive_.read(name);
    if (!record) return;  // V300
    report(bare ? find_pickle_code(record->bytes, record->limits_inside(archive_.limits()))
                : find_saved_code(*record, archive_.limits()),
           name);
  }

  // Returns the record's name as PyTorch finds it; empty if there is no such record.
  std::string name_in_archive(const std::string& wanted) const {
    if (wanted.empty() || archive_.find(wanted) != nullptr) return wanted;
    const auto found = entries_.find(wanted);
    return found == entries_.end() ? "" : std::string(*found);
  }

  void report(PickleCode code, const std::string& name) {
    if (names_ != nullptr)
      for (const ForeignCall& each : code.names) names_->push_back(each.text);
    report_pickle_code(std::move(code), fmt::format("{}!{}", archive_.name(), name), findings_);
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
    findings.add(
        Rule::unread_pickle, error.where.empty() ? place : fmt::format("{}!{}", place, error.where),
        fmt::format("{}; what PyTorch would run after this place is not known", error.message));
  }

 private:
  const Archive& archive_;
  Diagnostics& findings_;
  std::vector<std::string>* names_;
  std::set<std::string_view, zip::LessButForCase> entries_;
  std::set<std::string> seen_;
};

}  // namespace

void report_pickle_calls(std::span<const ForeignCall> calls, const std::string& place,
                         Diagnostics& findings) {
  for (const ForeignCall& call : calls)
    findings.add(Rule::code_in_pickle, fmt::format("{}!byte {}", place, call.offset),
                 fmt::format("PyTorch would run {}; here it was not run", call.text));
}

void check_pickles(const Archive& archive, Diagnostics& findings, std::vector<std::string>* names) {
  PickleChecks(archive, findings, names).run();
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
