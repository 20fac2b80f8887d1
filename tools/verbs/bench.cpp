#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>

#include "base/printable.h"
#include "ir/graph_place.h"
#include "pt2/model.h"
#include "tools/execution.h"
#include "tools/json_members.h"
#include "tools/table.h"
#include "tools/values/inputs.h"
#include "tools/verbs.h"

namespace pt2::tools {
namespace {

using Clock = std::chrono::steady_clock;

struct BenchArguments {
  Execution execution;
  double seconds = 2;
  size_t calls = 0;  // 0: as many as fit into `seconds`
  bool profile = false;
  bool json = false;
};

constexpr size_t kWarmUp = 2;
constexpr size_t kFewestCalls = 5;
constexpr size_t kSlowestNodes = 15;
constexpr size_t kShownInputs = 8;

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

struct Times {
  double load = 0;  // all times in microseconds
  double first = 0;
  std::vector<double> calls;

  double mean() const {
    return std::accumulate(calls.begin(), calls.end(), 0.0) / static_cast<double>(calls.size());
  }
};

struct PercentileRow {
  std::string_view label;
  std::string_view key;
  double share;
};
constexpr PercentileRow kPercentiles[] = {{"fastest", "fastest_us", 0},
                                          {"median", "median_us", 0.5},
                                          {"90 %", "p90_us", 0.9},
                                          {"99 %", "p99_us", 0.99}};
// Calls visit(row, time) for each percentile. Sorts the calls only once, as there may be millions.
template <class Visit>
void for_each_percentile(std::vector<double> calls, const Visit& visit) {
  std::ranges::sort(calls);
  for (const PercentileRow& row : kPercentiles)
    visit(row, calls[static_cast<size_t>(row.share * static_cast<double>(calls.size() - 1))]);
}

// The times of the steps of many calls, by kernel and by node.
class Profile {
  struct Entry {
    double time = 0;
    size_t count = 0;
    std::string_view kernel{};
    std::vector<const Node*> nodes{};
    void add(double more) {
      time += more;
      ++count;
    }
  };
  template <class Map>
  static auto sorted(const Map& entries) {
    std::vector<std::pair<typename Map::key_type, Entry>> out(entries.begin(), entries.end());
    std::ranges::stable_sort(
        out, [](const auto& a, const auto& b) { return a.second.time > b.second.time; });
    return out;
  }

 public:
  void add(const StepTime& step) {
    const double time = microseconds(step.time);
    total_ += time;
    kernels_[std::string(step.kernel)].add(time);
    Entry& entry = nodes_[step.nodes.back()];
    entry.add(time);
    entry.kernel = step.kernel;
    entry.nodes.assign(step.nodes.begin(), step.nodes.end());
  }

  std::string text(size_t calls) const {
    if (nodes_.empty())
      return "\nno profile: the reference engine runs node by node, without steps\n";
    const auto per_call = [&](double time) {
      return fmt::format("{:.1f}", time / static_cast<double>(calls));
    };
    const auto share = [&](double time) { return fmt::format("{:.1f} %", 100 * time / total_); };
    TextTable kernels({{"kernel"},
                       {"steps", Align::right},
                       {"us a call", Align::right},
                       {"share", Align::right}});
    for (const auto& [name, entry] : sorted(kernels_))
      kernels.add(
          {name, std::to_string(entry.count / calls), per_call(entry.time), share(entry.time)});
    TextTable nodes({{"node"},
                     {"kernel"},
                     {"nodes", Align::right},
                     {"us a call", Align::right},
                     {"share", Align::right},
                     {"module"}});
    size_t shown = 0;
    for (const auto& [node, entry] : sorted(nodes_)) {
      if (shown++ == kSlowestNodes) break;
      nodes.add({printable(node->target), std::string(entry.kernel),
                 std::to_string(entry.nodes.size()), per_call(entry.time), share(entry.time),
                 printable(module_of(entry.nodes))});
    }
    return "\n" + kernels.text() + "\n" + nodes.text();
  }

  // Writes the member "profile": each step under the name of its last node, slowest first.
  void write(JsonWriter& json, const Program& program, size_t calls) const {
    std::map<const Node*, std::string> names;
    for (const PlacedGraph& placed : placed_graphs(program))
      for (const NodeId id : placed.graph->nodes()) {
        const Node& node = placed.graph->node(id);
        names.emplace(&node, node_name(*placed.graph, node));
      }
    // The plan may belong to a program that passes changed; its nodes record their source nodes.
    const auto name_of = [&](const Node& node) -> std::string {
      const auto source =
          std::ranges::find(node.metadata, kSourceNode, &Metadata::value_type::first);
      if (source != node.metadata.end()) return source->second;
      const auto found = names.find(&node);
      return found == names.end() ? "" : found->second;
    };
    write_objects(json, "profile", sorted(nodes_), [&](const auto& step) {
      const auto& [node, entry] = step;
      write_text(json, "node", name_of(*node));
      write_text(json, "target", node->target);
      write_text(json, "kernel", entry.kernel);
      write_integer(json, "nodes", entry.nodes.size());
      json.key("names");
      json.begin_array();
      for (const Node* each : entry.nodes) json.string(name_of(*each));
      json.end_array();
      json.key("us");
      json.number(entry.time / static_cast<double>(calls));
    });
  }

 private:
  // Returns the module of the last node that has one; nodes added by quantizers and passes have
  // none.
  static std::string module_of(const std::vector<const Node*>& nodes) {
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node)
      if (std::string path = module_path(**node); !path.empty()) return path;
    return {};
  }

  double total_ = 0;
  std::map<std::string, Entry> kernels_;
  std::map<const Node*, Entry> nodes_;
};

std::string times_json(const BenchArguments& options, const Times& times, const Profile& profile,
                       const Program& program) {
  return json_object([&](JsonWriter& json) {
    write_text(json, "file", options.execution.source.file);
    write_number(json, "load_us", times.load);
    write_number(json, "first_us", times.first);
    for_each_percentile(times.calls, [&](const PercentileRow& row, double time) {
      write_number(json, row.key, time);
    });
    write_number(json, "mean_us", times.mean());
    json.key("latencies_us");
    json.begin_array();
    for (const double time : times.calls) json.number(time);
    json.end_array();
    if (options.profile) profile.write(json, program, times.calls.size());
  });
}

// The times are those of these sizes; a file's own samples may be a batch of several.
std::string inputs_text(const PreparedCall& call) {
  const std::vector<Value>& values = call.inputs.values;
  std::string out;
  for (size_t i = 0; i < std::min(values.size(), kShownInputs); ++i)
    out += fmt::format("{}: {}\n", printable(call.model.inputs()[i].name), values[i].type_text());
  if (values.size() > kShownInputs)
    out += fmt::format("and {} more\n", counted(values.size() - kShownInputs, "input"));
  return out.empty() ? out : out + "\n";
}

std::string times_text(const Times& times) {
  const auto text = [](double time) {
    return time < 1000 ? fmt::format("{:.1f} us", time) : fmt::format("{:.2f} ms", time / 1000);
  };
  const double mean = times.mean();
  TextTable table({{""}, {"", Align::right}});
  table.add({"load", text(times.load)});
  table.add({"first call", text(times.first)});
  for_each_percentile(times.calls, [&](const PercentileRow& row, double time) {
    table.add({std::string(row.label), text(time)});
  });
  table.add({"mean", text(mean)});
  table.add({"calls", std::to_string(times.calls.size())});
  table.add({"calls a second", fmt::format("{:.1f}", 1e6 / mean)});
  return table.text();
}

// Allocates memory for results, as a caller with many calls does. Empty if sizes may differ between
// calls, or if a second copy of the results would be most of the memory.
std::vector<Value> memory_for(const std::vector<Value>& results, const Model& model) {
  constexpr int64_t kMostBytes = int64_t{64} << 20;
  std::vector<Value> out;
  int64_t bytes = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const auto* tensor = results[i].get_if<Tensor>();
    const auto& record = model.outputs()[i].tensor;
    if (tensor == nullptr || record == nullptr ||
        std::ranges::any_of(record->sizes, &SymInt::is_symbolic))
      return {};
    bytes += tensor->nbytes();
    if (bytes > kMostBytes) return {};
    out.emplace_back(Tensor::zeros(tensor->dtype(), tensor->sizes()));
  }
  return out;
}

Result<int> bench(const BenchArguments& options, Environment& environment) {
  Times times;
  const Clock::time_point start = Clock::now();
  PT2_TRY(PreparedCall call, prepare_call(options.execution, environment));
  times.load = microseconds(Clock::now() - start);
  Session session(call.model, call.inputs.session(options.execution.threads));
  session.seed(options.execution.seed);
  std::vector<Value> results, memory;
  const auto run = [&](const CallOptions& call_options) -> Result<double> {
    results.clear();
    const Clock::time_point begin = Clock::now();
    if (!memory.empty()) {
      PT2_TRY_VOID(session.run_into(call.inputs.values, memory, call_options));
    } else {
      PT2_TRY(results, session.run(call.inputs.values, call_options));
    }
    return microseconds(Clock::now() - begin);
  };
  PT2_TRY(times.first, run({}));
  memory = memory_for(results, call.model);
  // For a slow model two calls are sufficient.
  const bool is_slow = times.first >= std::max(options.seconds, 1.0) * 1e6;
  const double most = std::max(options.seconds, 1.0) * 1e6;
  const Clock::time_point warming = Clock::now();
  for (size_t i = 0; i < kWarmUp && !is_slow && microseconds(Clock::now() - warming) < most; ++i) {
    PT2_TRY([[maybe_unused]] const double warm, run({}));
  }
  Profile profile;
  CallOptions watched;
  if (options.profile) watched.on_step = [&](const StepTime& step) { profile.add(step); };
  const Clock::time_point begin = Clock::now();
  const auto is_done = [&] {
    if (options.calls > 0) return times.calls.size() >= options.calls;
    // A call may take longer than the first one did, if it depends on state.
    const double taken = microseconds(Clock::now() - begin);
    if (times.calls.empty() || taken < options.seconds * 1e6) return false;
    return is_slow || times.calls.size() >= kFewestCalls || taken >= 2 * most;
  };
  while (!is_done()) {
    PT2_TRY(const double time, run(watched));
    times.calls.push_back(time);
  }
  print(environment.out, options.json ? times_json(options, times, profile, call.model.program())
                                      : inputs_text(call) + times_text(times));
  if (options.profile && !options.json) print(environment.out, profile.text(times.calls.size()));
  return kOk;
}

}  // namespace

Action setup_bench(CommandLine& line) {
  auto options = std::make_shared<BenchArguments>();
  add_source(line, options->execution.source);
  add_input_options(line, options->execution.inputs);
  line.add_option("--seconds", options->seconds,
                  "measure for S seconds; 2 if not given; at least five\n"
                  "calls, or one where the first took longer than that")
      .type_name("S")
      .range(0.0, 86400.0);
  line.add_option("--calls", options->calls, "measure N calls, however long they take")
      .type_name("N")
      .range(1, 1e9);
  line.add_flag("--profile", options->profile,
                "also print what each step of the plan takes, slowest first");
  add_engine_options(line, options->execution.engine, options->execution.threads);
  add_execution_options(line, options->execution);
  add_json_option(line, options->json);
  return [options](Environment& environment) { return bench(*options, environment); };
}

}  // namespace pt2::tools
