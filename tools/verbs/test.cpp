#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <optional>

#include "base/printable.h"
#include "pt2/tools/replay.h"
#include "pt2/tools/run_trace.h"
#include "run/call_budget.h"
#include "tools/execution.h"
#include "tools/files.h"
#include "tools/json_members.h"
#include "tools/plugins.h"
#include "tools/source.h"
#include "tools/table.h"
#include "tools/values/inputs.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

constexpr std::string_view kCasesEnding = ".safetensors";
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

struct TestArguments {
  std::vector<std::string> files;
  std::vector<std::string> libraries;
  CustomOperators operators;
  std::optional<double> relative;
  std::optional<double> absolute;
  std::optional<double> min_sqnr;
  std::string model;
  std::string trace;
  uint64_t seed = 0;
  EngineKind engine = EngineKind::planned;
  bool both_engines = false;
  unsigned threads = 0;
  Limits limits;
  bool json = false;
};

CompareOptions compare_options(const TestArguments& options) {
  return {.relative = options.relative, .absolute = options.absolute, .min_sqnr = options.min_sqnr};
}

// A program and its recorded calls.
struct Pair {
  std::string program;
  std::string cases;
  bool is_named = false;   // `cases` comes from the command line
  bool is_listed = false;  // `program` comes from a folder, so it need not have recorded calls
};

// Reports of a call: against the recorded results, and of the planned against the reference engine.
struct TestedCall {
  std::optional<CallReport> recorded{};
  std::optional<CallReport> engines{};
};

struct FileReport {
  Pair pair;
  std::vector<TestedCall> calls;
  std::optional<Error> error;  // why no call was possible
  // True if there is nothing to compare with, which is not the program's fault.
  bool lacks_calls() const { return !error && calls.empty(); }
};

// `named` are the arguments; in `files`, folders are replaced by their programs.
std::vector<Pair> pairs(const std::vector<std::string>& named,
                        const std::vector<std::string>& files) {
  std::vector<Pair> out;
  for (const std::string& file : files) {
    if (file.ends_with(kCasesEnding) && !out.empty() && out.back().cases.empty()) {
      out.back().cases = file;
      out.back().is_named = true;
    } else {
      out.push_back({.program = file,
                     .cases = "",
                     .is_listed = std::ranges::find(named, file) == named.end()});
    }
  }
  for (Pair& pair : out) {
    if (!pair.cases.empty()) continue;
    const size_t dot = pair.program.ends_with(".pt2") ? pair.program.size() - 4 : pair.program.npos;
    pair.cases = pair.program.substr(0, dot) + std::string(kCasesEnding);
  }
  return out;
}

Source source_of(const std::string& file, const TestArguments& options) {
  return {.file = file, .model = options.model, .limits = options.limits};
}

Result<RecordedCalls> read_calls(const Pair& pair) {
  Result<Record> found = map_file(input_path(pair.cases));
  if (!found && found.error().code == ErrorCode::io) {
    Error error = std::move(found).error();
    if (pair.program == "-" && !pair.is_named)
      error = {ErrorCode::io, "it has no name that recorded calls could have", "standard input"};
    error.message +=
        "; recorded calls (docs/recorded-calls.md) lie beside the program under its name, or are "
        "given after it: pt2 test FILE CALLS.safetensors; --engine both needs none";
    return error;
  }
  PT2_TRY(const Record record, std::move(found));
  Result<Safetensors> file = read_safetensors(record);
  if (!file) return in_file(std::move(file).error(), pair.cases);
  Result<RecordedCalls> recorded = read_recorded_calls(*file);
  if (!recorded) return in_file(std::move(recorded).error(), pair.cases);
  return recorded;
}

// One session for each engine; both run the same calls.
struct Engines {
  Session planned;
  Session reference;
};

// Compares the planned engine with the reference engine. The planned engine must also refuse what
// the reference engine refuses. Without recorded calls, a refusal is the program's error.
Result<CallReport> compare_engines(Engines& engines, const RecordedCall& call, bool is_recorded,
                                   const CompareOptions& settings) {
  Result<CallReport> compared = replay_beside(engines.planned, engines.reference, call, settings);
  if (compared || !is_recorded) return compared;
  CallReport report = replay(engines.planned, call, settings);
  if (report.passed() && report.refusal.empty())
    report.differences.push_back("the reference engine fails: " + compared.error().text());
  return report;
}

Result<std::vector<TestedCall>> test_calls(Pair& pair, const TestArguments& options,
                                           Environment& environment) {
  Source source = source_of(pair.program, options);
  // Two engines share the work limit of one.
  if (options.both_engines) source.limits.max_work /= 2;
  PT2_TRY(Package opened, open_package(source, environment));
  const auto package = std::make_shared<const Package>(std::move(opened));
  Result<RecordedCalls> recorded = read_calls(pair);
  const bool is_recorded = recorded.has_value();
  std::error_code unknown;
  if (pair.is_listed && !options.both_engines && !is_recorded &&
      recorded.error().code == ErrorCode::io && !std::filesystem::exists(pair.cases, unknown)) {
    pair.cases.clear();
    return std::vector<TestedCall>();
  }
  if (!is_recorded &&
      (!options.both_engines || pair.is_named || recorded.error().code != ErrorCode::io))
    return std::move(recorded).error();
  PT2_TRY(const Model model, load_model(package, source, options.operators, options.engine));
  std::vector<RecordedCall> calls;
  SessionOptions session_options{.threads = options.threads};
  if (is_recorded) {
    calls = std::move(recorded->calls);
  } else {
    pair.cases.clear();
    PT2_TRY(CallInputs inputs,
            sample_or_random_inputs(model, options.model, options.seed, environment));
    session_options = inputs.session(options.threads);
    calls.push_back({.inputs = std::move(inputs.values)});
  }
  std::optional<Engines> engines;
  if (options.both_engines) {
    PT2_TRY(const Model reference,
            load_model(package, source, options.operators, EngineKind::reference));
    engines.emplace(Session(model, session_options), Session(reference, session_options));
  }
  Session session(model, session_options);
  const CompareOptions settings = compare_options(options);
  // A small file of recorded calls may hold thousands. All together compute at most as much as one
  // call.
  std::vector<Value> inputs;
  for (const RecordedCall& call : calls)
    inputs.insert(inputs.end(), call.inputs.begin(), call.inputs.end());
  const MemoryAccount::Scope scope(
      engines ? run::open_account_of_calls({&engines->planned, &engines->reference}, inputs)
              : run::open_account_of_calls({&session}, inputs));
  return within_memory([&]() -> Result<std::vector<TestedCall>> {
    std::vector<TestedCall> tested;
    for (const RecordedCall& call : calls) {
      TestedCall& each = tested.emplace_back();
      if (is_recorded) each.recorded = replay(session, call, settings);
      if (engines) {
        PT2_TRY(each.engines, compare_engines(*engines, call, is_recorded, settings));
      }
    }
    return tested;
  });
}

std::string remark_text(const CallReport& report) {
  if (!report.refusal.empty()) return report.refusal;
  std::string out = counted(report.compared, "value");
  if (report.compared > 0) out += fmt::format(", largest error {:.3g}", report.largest_error);
  if (report.our_error)
    out += fmt::format(", against float64 {:.3g} (PyTorch {:.3g})", *report.our_error,
                       *report.torch_error);
  if (report.sqnr) out += fmt::format(", signal to noise {:.4g} dB", *report.sqnr);
  if (report.argmax_differs > 0)
    out += fmt::format(", argmax differs in {} of {} rows", report.argmax_differs, report.rows);
  else if (report.rows > 0)
    out += ", argmax equal";
  return out;
}

std::string verdict(const Environment& environment, bool passed) {
  return passed ? coloured(environment, Colour::green, "ok  ")
                : coloured(environment, Colour::red, "FAIL");
}

void print_call(const CallReport& call, const std::string& name, Environment& environment) {
  print(environment.out, fmt::format("{} {}: {}\n", verdict(environment, call.passed()), name,
                                     printable_message(remark_text(call))));
  for (const std::string& difference : call.differences)
    print(environment.out, "       " + printable_message(difference) + "\n");
  for (const std::string& remark : call.remarks)
    print(environment.out, "       note: " + printable_message(remark) + "\n");
}

void print_report(const FileReport& report, Environment& environment) {
  const std::string file = printable(report.pair.program);
  if (report.lacks_calls())
    print(environment.out, fmt::format("     {}: no recorded call\n", file));
  if (report.error)
    print(environment.out,
          fmt::format("{} {}: {}\n", verdict(environment, false), file, error_text(*report.error)));
  for (size_t i = 0; i < report.calls.size(); ++i) {
    const TestedCall& call = report.calls[i];
    const std::string name = fmt::format("{} call {}", file, i);
    if (call.recorded) print_call(*call.recorded, name, environment);
    if (call.engines)
      print_call(*call.engines, name + ", planned and reference engine", environment);
  }
}

void write_report(JsonWriter& json, const CallReport& call) {
  const auto write_known = [&](std::string_view key, std::optional<double> number) {
    if (number) write_number(json, key, *number);
  };
  write_flag(json, "passed", call.passed());
  write_integer(json, "compared", call.compared);
  write_known("largest_error", call.largest_error);
  write_known("error_against_float64", call.our_error);
  write_known("torch_error_against_float64", call.torch_error);
  if (call.rows > 0) {
    write_integer(json, "rows", static_cast<size_t>(call.rows));
    write_integer(json, "argmax_differs", static_cast<size_t>(call.argmax_differs));
  }
  write_known("signal_to_noise_db", call.sqnr);
  write_texts(json, "differences", call.differences);
  if (!call.refusal.empty()) write_text(json, "refusal", call.refusal);
  if (!call.remarks.empty()) write_texts(json, "remarks", call.remarks);
}

void write_call(JsonWriter& json, const TestedCall& call) {
  if (call.recorded) write_report(json, *call.recorded);
  if (!call.engines) return;
  json.key("engines");
  json.begin_object();
  write_report(json, *call.engines);
  json.end_object();
}

void write_report(JsonWriter& json, const FileReport& report) {
  json.begin_object();
  write_text(json, "file", report.pair.program);
  if (!report.pair.cases.empty()) write_text(json, "cases", report.pair.cases);
  if (report.error) write_text(json, "error", report.error->text());
  write_objects(json, "calls", report.calls,
                [&](const TestedCall& call) { write_call(json, call); });
  json.end_object();
}

struct Tally {
  size_t passed = 0;
  size_t failed = 0;
  size_t without_calls = 0;
  int code = kOk;

  void add(const FileReport& report) {
    if (report.lacks_calls()) ++without_calls;
    for (const TestedCall& call : report.calls)
      for (const auto* each : {&call.recorded, &call.engines})
        if (*each) ++((*each)->passed() ? passed : failed);
    if (failed > 0) code = std::max<int>(code, kDifference);
    if (!report.error) return;
    ++failed;
    code = std::max(code, exit_code(report.error->code));
  }
};

std::string divergence_text(const TraceComparison& result) {
  std::string out;
  if (result.first) {
    const Divergence& first = *result.first;
    out += fmt::format(
        "first difference: {} = {}{}{}: {}\n", printable(first.value), printable(first.target),
        first.source_line.empty() ? "" : " at " + printable(first.source_line),
        first.module_path.empty() ? "" : " in " + printable(first.module_path), first.difference);
  }
  out += fmt::format("{} {}{}", result.agreeing,
                     result.agreeing == 1 ? "value agrees" : "values agree",
                     result.first ? " before it" : "");
  if (result.unknown > 0) out += fmt::format(", {} not in the trace", result.unknown);
  return out + fmt::format("; largest error {:.3g}\n", result.largest_error);
}

std::string divergence_json(const std::string& file, const TraceComparison& result) {
  return json_object([&](JsonWriter& json) {
    write_text(json, "file", file);
    write_integer(json, "agreeing", result.agreeing);
    write_integer(json, "not_in_trace", result.unknown);
    write_number(json, "largest_error", result.largest_error);
    if (!result.first) return;
    json.key("first_difference");
    json.begin_object();
    write_text(json, "value", result.first->value);
    write_text(json, "target", result.first->target);
    write_text(json, "source_line", result.first->source_line);
    write_text(json, "module_path", result.first->module_path);
    write_text(json, "difference", result.first->difference);
    json.end_object();
  });
}

Result<int> find_divergence(const TestArguments& options, Environment& environment) {
  if (options.files.size() != 1)
    return Error{ErrorCode::argument,
                 fmt::format("--first-divergence: found {} files, expected one program",
                             options.files.size()),
                 ""};
  const std::string& file = options.files[0];
  PT2_TRY(const NamedTensors trace, read_tensor_file(options.trace, options.limits));
  const Source source = source_of(file, options);
  PT2_TRY(Package package, open_package(source, environment));
  PT2_TRY(const Model model,
          load_model(std::move(package), source, options.operators, options.engine));
  Result<std::vector<Value>> inputs = inputs_of_trace(model, trace);
  if (!inputs) return in_file(std::move(inputs).error(), options.trace);
  Session session(model, {.threads = options.threads});
  session.seed(options.seed);
  PT2_TRY(const TraceComparison result,
          compare_with_trace(session, *std::move(inputs), trace, compare_options(options)));
  print(environment.out, options.json ? divergence_json(file, result) : divergence_text(result));
  return result.first ? kDifference : kOk;
}

Result<int> test_files(TestArguments& options, Environment& environment) {
  // CLI11 is not told about these exclusions, because its help lists them in the order of
  // addresses.
  if (options.min_sqnr && (options.relative || options.absolute))
    return usage_error(
        fmt::format("--min-sqnr excludes {}", options.relative ? "--rtol" : "--atol"));
  if (!options.trace.empty() && options.both_engines)
    return usage_error("--first-divergence compares one engine with the trace: not --engine both");
  PT2_TRY(options.operators, load_operators(options.libraries));
  const std::vector<std::string> named = options.files;
  PT2_TRY(options.files, list_files(named, kProgramEndings, environment));
  if (!options.trace.empty()) return find_divergence(options, environment);
  Tally tally;
  JsonWriter json;
  json.begin_object();
  json.key("files");
  json.begin_array();
  for (const Pair& pair : pairs(named, options.files)) {
    FileReport report{.pair = pair, .calls = {}, .error = {}};
    Result<std::vector<TestedCall>> calls = test_calls(report.pair, options, environment);
    if (calls)
      report.calls = *std::move(calls);
    else
      report.error = std::move(calls).error();
    tally.add(report);
    if (options.json)
      write_report(json, report);
    else
      print_report(report, environment);
  }
  json.end_array();
  write_integer(json, "passed", tally.passed);
  write_integer(json, "failed", tally.failed);
  write_integer(json, "without_calls", tally.without_calls);
  json.end_object();
  const std::string without =
      tally.without_calls == 0
          ? ""
          : fmt::format(", {} without recorded calls", counted(tally.without_calls, "program"));
  print(environment.out, options.json ? json.text() + "\n"
                                      : fmt::format("{} passed, {} failed{}\n", tally.passed,
                                                    tally.failed, without));
  return tally.code;
}

}  // namespace

Action setup_test(CommandLine& line) {
  auto options = std::make_shared<TestArguments>();
  line.add_option("FILE", options->files,
                  "programs, each followed by the .safetensors file of its\n"
                  "recorded calls, if that does not lie beside it under its name;\n"
                  "and folders of programs, some of which may have none")
      .required();
  line.add_option("--rtol", options->relative,
                  "relative tolerance; if not given, torch.testing's for the dtype")
      .type_name("X")
      .range(0.0, kUnbounded);
  line.add_option("--atol", options->absolute, "absolute tolerance, likewise")
      .type_name("X")
      .range(0.0, kUnbounded);
  line.add_option("--min-sqnr", options->min_sqnr,
                  "instead of tolerances, for quantized programs: the least ratio\n"
                  "of signal to noise of each floating result, in decibels")
      .type_name("DB")
      .range(-kUnbounded, kUnbounded);
  line.add_option("--first-divergence", options->trace,
                  "instead of recorded calls: run on the inputs of this trace\n"
                  "(docs/traces.md) and name the first node whose value differs")
      .type_name("TRACE");
  line.add_option("--seed", options->seed,
                  "seed of the random operators, for --first-divergence, and of\n"
                  "random inputs")
      .type_name("N");
  add_engine_options(line, options->engine, options->threads, &options->both_engines);
  add_ops_option(line, options->libraries);
  line.add_option("--model", options->model, "the program to take, of a package that has several")
      .type_name("NAME");
  add_limit_option(line, options->limits);
  add_json_option(line, options->json);
  return [options](Environment& environment) { return test_files(*options, environment); };
}

}  // namespace pt2::tools
