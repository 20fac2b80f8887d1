// One input of the program fuzzer. The edited program is verified, run by both engines, converted
// and decomposed, all under limits. Nothing may crash or hang, the engines must agree, and written
// programs must be valid and give the same results.
#ifndef PT2_TESTS_CONVERT_PROGRAM_FUZZ_H
#define PT2_TESTS_CONVERT_PROGRAM_FUZZ_H

#include <fmt/format.h>

#include "convert/program_edits.h"
#include "ir/values/constant_value.h"
#include "ops/loops.h"
#include "package/shared_memory.h"
#include "pt2/conversion.h"
#include "pt2/ir/canonicalize.h"
#include "pt2/ir/decompose.h"
#include "pt2/ir/program_text.h"
#include "pt2/model.h"
#include "pt2/ops/verify_operators.h"
#include "pt2/save.h"
#include "pt2/tools/compare.h"
#include "pt2/verify.h"
#include "run/copy_of.h"

namespace pt2::test {

inline Limits program_limits() {
  Limits limits;
  limits.max_inflated_bytes = 1 << 20;
  limits.max_json_bytes = 4 << 20;
  limits.max_fake_bytes = 16 << 20;
  limits.max_tensor_bytes = 64 << 20;
  limits.max_work = 3'000'000;
  limits.max_loop_rounds = 2000;
  limits.max_new_nodes = 1000;
  return limits;
}

class ProgramFuzz {
 public:
  // Writes each file to the path `kept` before it is tried, unless the path is empty.
  explicit ProgramFuzz(const std::filesystem::path& data, std::filesystem::path kept = {})
      : edits_(data), kept_(std::move(kept)) {}

  // Tries one input. Returns the fault that was found; empty if there is none.
  std::string run(std::span<const std::byte> bytes) {
    Choices choices(bytes);
    file_ = edits_.make(choices);
    if (!kept_.empty()) std::ofstream(kept_, std::ios::binary) << file_;
    return exercise(choices.below(256));
  }
  size_t loaded() const { return loaded_; }
  size_t computed() const { return computed_; }

 private:
  struct Outcome {
    bool loaded = false;
    std::vector<Result<std::vector<Value>>> calls;  // up to the first that fails

    bool computed() const { return loaded && calls.front().has_value(); }
    bool failed() const { return !loaded || !calls.back().has_value(); }
  };

  static std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
  }
  static Result<Package> open(const std::string& bytes) {
    auto kept = std::make_shared<std::string>(bytes);
    return Package::open_bytes(bytes_of(*kept), kept, "fuzz.pt2", program_limits());
  }
  static Diagnostics verified(const std::string& file) {
    return verify_bytes(bytes_of(file), nullptr, "fuzz.pt2", Level::full,
                        {.limits = program_limits(), .operators = check_operators});
  }

  std::string exercise(size_t what) {
    const Diagnostics findings = verified(file_);
    // Nodes inside of torch.vmap and autocast regions are checked only after they are inlined.
    has_regions_ =
        file_.find("predispatch._") != file_.npos || file_.find("autocast") != file_.npos;
    const auto package = open(file_);
    if (!package) return "";
    ++loaded_;
    const auto shared = std::make_shared<const Package>(*package);
    const Outcome reference = outcome(shared, EngineKind::reference);
    const Outcome planned = outcome(shared, EngineKind::planned);
    if (reference.computed()) ++computed_;
    // Passes before a plan, and layouts of written values, rely on recorded metadata. If it
    // contradicts the operators, one engine may refuse what the other computes, but both must not
    // give other results.
    const bool one_refuses =
        planned.loaded == reference.loaded && planned.failed() != reference.failed();
    if (!one_refuses || !contradicts_operators(findings)) {
      std::string fault = compared(planned, reference, "planned and reference engine");
      if (!fault.empty()) return fault;
    }
    switch (what % 4) {
      case 0:
        return decomposed(*package, findings, reference);
      case 1:
        return as_text(*package);
      default:
        return converted(*package, findings, what / 4);
    }
  }

  static bool contradicts_operators(const Diagnostics& findings) {
    return std::ranges::any_of(findings.all(), [](const Diagnostic& finding) {
      return finding.rule == Rule::result_count || finding.rule == Rule::result_dtype ||
             finding.rule == Rule::result_sizes;
    });
  }

  static Outcome outcome(const std::shared_ptr<const Package>& package, EngineKind engine) {
    const auto model = Model::from_package(package, {.limits = program_limits(), .engine = engine});
    if (!model) return {};
    Session session(*model, {.threads = 1});
    Outcome out{true, {}};
    // A call finds the state that the one before leaves. The planned engine records the second call
    // with inputs of the same sizes and repeats the recording from the third on. The last call has
    // other sizes where they are dynamic.
    constexpr int kCalls = 4;
    for (int call = 0; call < kCalls && (call == 0 || !out.failed()); ++call) {
      std::vector<Value> inputs = inputs_of(*model, {call, call + 1 == kCalls});
      auto results = session.run(std::span(inputs));
      // Results may share memory with the state.
      if (results) std::ranges::transform(*results, results->begin(), copy_of);
      out.calls.push_back(std::move(results));
    }
    return out;
  }

  // What differs between the inputs of two calls.
  struct Variation {
    int first = 0;  // the first element of each tensor
    bool larger = false;

    int64_t size(const SymInt& recorded, int64_t otherwise) const {
      const int64_t size = recorded.hint().value_or(otherwise);
      return larger && recorded.is_symbolic() && size < 64 ? size + 1 : size;
    }
  };

  static std::vector<Value> inputs_of(const Model& model, const Variation& variation) {
    std::vector<Value> values;
    const Program& program = model.program();
    for (const InputSpec& spec : program.signature.input_specs)
      if (spec.kind == InputKind::user_input)
        values.push_back(input_of(program, spec.arg, variation));
    return values;
  }

  static Value input_of(const Program& program, const ArgumentSpec& spec,
                        const Variation& variation) {
    if (spec.is_constant()) {
      auto value = constant_value(spec.value);
      return value ? std::move(*value) : Value();
    }
    const auto id = program.graph.find_value(spec.name);
    if (!id) return {};
    const GraphValue& record = program.graph.value(*id);
    if (const TensorMeta* meta = record.tensor()) return tensor_of(*meta, variation);
    if (const auto* number = std::get_if<SymInt>(&record.meta)) return variation.size(*number, 2);
    if (const auto* number = std::get_if<SymFloat>(&record.meta))
      return number->hint().value_or(0.5);
    if (const auto* flag = std::get_if<SymBool>(&record.meta)) return flag->hint().value_or(true);
    return {};
  }

  static Value tensor_of(const TensorMeta& meta, const Variation& variation) {
    Sizes sizes;
    int64_t elements = 1;
    for (const SymInt& size : meta.sizes) {
      sizes.push_back(std::clamp<int64_t>(variation.size(size, 3), 0, 64));
      elements *= std::max<int64_t>(sizes.back(), 1);
      if (elements > 100'000) return {};
    }
    Tensor numbers = Tensor::zeros(Dtype::float64, sizes);
    for (int64_t i = 0; i < numbers.numel(); ++i)
      numbers.data<double>()[i] = static_cast<double>((variation.first + i) % 3);
    Tensor out = Tensor::zeros(meta.dtype.dtype().value_or(Dtype::float32), sizes);
    ops::copy_elements(out, numbers);
    return out;
  }

  static bool is_bound(const Error& error) {
    return error.code == ErrorCode::limit || error.code == ErrorCode::cancelled;
  }

  static std::string compared(const Outcome& found, const Outcome& expected, const char* what) {
    if (found.loaded != expected.loaded) return fmt::format("{}: one of them loads", what);
    for (size_t i = 0; i < std::min(found.calls.size(), expected.calls.size()); ++i) {
      const auto& results = found.calls[i];
      const auto& others = expected.calls[i];
      if (results.has_value() != others.has_value()) {
        const Error& error = (results ? others : results).error();
        if (is_bound(error)) return "";
        return fmt::format("{}, call {}: one fails: {}", what, i, error.text());
      }
      if (!results) return "";
      if (results->size() != others->size())
        return fmt::format("{}, call {}: other counts of results", what, i);
      for (size_t k = 0; k < results->size(); ++k) {
        const Comparison difference =
            compare((*results)[k], (*others)[k], {.relative = 1e-2, .absolute = 1e-2});
        if (!difference.equal())
          return fmt::format("{}, call {}: result {}: {}", what, i, k, difference.difference);
      }
    }
    return "";
  }

  // Saves a transformed program. If the original has no errors, the result must open and have none.
  std::string written(const PackageContents& contents, const Diagnostics& before,
                      std::string& file) const {
    StringSink sink;
    if (!save_package(contents, sink)) return "";
    file = sink.take();
    const auto again = open(file);
    if (before.has_errors() || has_regions_) return "";
    if (!again) return is_bound(again.error()) ? "" : "does not open: " + again.error().text();
    const Diagnostics after = verified(file);
    for (const Diagnostic& finding : after.all())
      if (rule_info(finding.rule).severity == Severity::error)
        return fmt::format("breaks a rule: {} {}", finding.where, finding.text);
    return "";
  }

  std::string converted(const Package& package, const Diagnostics& findings, size_t what) const {
    ConvertOptions options{.limits = program_limits()};
    const bool oldest = what % 8 == 0;
    if (!oldest) options.target.release = &releases()[what % releases().size()];
    const auto conversion = oldest ? convert_for_oldest(package, options)
                                   : (options.target.schema = options.target.release->schema,
                                      convert(package, options));
    if (!conversion || !conversion->blockers.empty()) return "";
    std::string file;
    const std::string fault = written(conversion->contents, findings, file);
    return fault.empty() ? ""
                         : fmt::format("converted for {}: {}",
                                       release_name(*conversion->target.release), fault);
  }

  std::string decomposed(const Package& package, const Diagnostics& findings,
                         const Outcome& before) const {
    for (const std::string& model : package.models()) {
      const auto program = package.program(model);
      auto payloads = package.payloads(model);
      if (!program || !payloads) continue;
      const auto done = decompose(**program, {.storage_of = storage_numbers(*std::move(payloads)),
                                              .limits = program_limits()});
      auto contents = package_contents(package);
      if (!done || !done->changed || !contents || contents->programs.size() != 1) continue;
      contents->programs[0].json = program_json(done->program);
      std::string file;
      std::string fault = written(*contents, findings, file);
      if (fault.empty() && !findings.has_errors() && before.computed()) {
        const auto again = open(file);
        if (!again) continue;
        const Outcome after =
            outcome(std::make_shared<const Package>(*again), EngineKind::reference);
        fault = compared(after, before, "decomposed and original");
      }
      if (!fault.empty()) return "decomposed: " + fault;
    }
    return "";
  }

  static std::string as_text(const Package& package) {
    for (const std::string& model : package.models()) {
      const auto program = package.program(model);
      if (!program) continue;
      (void)user_input_names(**program);
      (void)user_output_names(**program);
      (void)canonicalize(**program, TieBreak::content).has_value();
      const std::string text = print_program(**program);
      std::vector<Error> errors;
      const auto read = parse_program(text, "text", errors, program_limits());
      if (read && print_program(*read) != text) return "its text is read as another program";
    }
    (void)load_obstacles(package).has_value();
    return "";
  }

  ProgramEdits edits_;
  std::filesystem::path kept_;
  std::string file_;
  bool has_regions_ = false;
  size_t loaded_ = 0, computed_ = 0;
};

}  // namespace pt2::test

#endif  // PT2_TESTS_CONVERT_PROGRAM_FUZZ_H
