#include "pt2/tools/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "base/printable.h"
#include "inspect/graph_diff.h"
#include "inspect/input_roles.h"
#include "inspect/spelling.h"
#include "inspect/weight_diff.h"
#include "ir/graph_place.h"
#include "ir/version_facts.h"
#include "pt2/format/schema_json.h"
#include "pt2/tools/hash.h"

namespace pt2 {
namespace {

class ProgramDiff {
 public:
  ProgramDiff(const Program& before, const Program& after, const DiffOptions& options,
              Difference& difference)
      : before_(before),
        after_(after),
        options_(options),
        out_(difference),
        before_symbols_(before),
        after_symbols_(after),
        before_roles_(input_roles(before)),
        after_roles_(input_roles(after)) {
    map_symbols();
  }

  void run() {
    if (!options_.semantic) compare_origins();
    if (options_.semantic && hash_program(before_) == hash_program(after_)) {
      compare_guards();
      return;
    }
    compare_inputs();
    compare_ranges();
    compare_guards();
    diff_graphs({before_.graph, before_roles_, before_symbols_},
                {after_.graph, after_roles_, after_symbols_}, options_.semantic, out_, out_.nodes);
    compare_outputs();
    if (!options_.semantic) compare_names();
  }

 private:
  void add(ChangeSection section, std::string what, std::string before, std::string after) {
    if (before == after) return;
    const ChangeKind kind = before.empty()  ? ChangeKind::added
                            : after.empty() ? ChangeKind::removed
                                            : ChangeKind::changed;
    out_.changes.push_back({.section = section,
                            .kind = kind,
                            .what = std::move(what),
                            .before = std::move(before),
                            .after = std::move(after)});
  }

  // Identifies symbols at the same place of the same input.
  void map_symbols() {
    const auto inputs = [](const Program& program, const std::vector<std::string>& roles) {
      std::map<std::string, const GraphValue*> out;
      for (size_t i = 0; i < roles.size(); ++i)
        if (const auto* id = program.graph.inputs()[i].get_if<ValueId>())
          out.emplace(roles[i], &program.graph.value(*id));
      return out;
    };
    const auto left = inputs(before_, before_roles_), right = inputs(after_, after_roles_);
    for (const auto& [role, value] : right) {
      const auto found = left.find(role);
      if (found == left.end()) continue;
      const TensorMeta *a = found->second->tensor(), *b = value->tensor();
      for (size_t dim = 0; a && b && dim < std::min(a->sizes.size(), b->sizes.size()); ++dim)
        map_symbol(a->sizes[dim], b->sizes[dim]);
      const auto* x = std::get_if<SymInt>(&found->second->meta);
      const auto* y = std::get_if<SymInt>(&value->meta);
      if (x != nullptr && y != nullptr) map_symbol(*x, *y);
    }
  }
  void map_symbol(const SymInt& before, const SymInt& after) {
    if (!before.is_symbolic() || !after.is_symbolic() || !before.expr().is_symbol() ||
        !after.expr().is_symbol())
      return;
    if (mapped_.insert(after.expr()->name).second)
      after_symbols_.rename(after.expr()->name, before.expr()->name);
  }

  void compare_origins() {
    const auto version = [](const Program& program) {
      return fmt::format("{}.{}", program.schema_version.major, program.schema_version.minor);
    };
    add(ChangeSection::file, "PyTorch", before_.torch_version, after_.torch_version);
    add(ChangeSection::file, "schema", version(before_), version(after_));
    add(ChangeSection::file, "dialect", std::string(before_.dialect()),
        std::string(after_.dialect()));
  }

  std::string input_text(const Program& program, size_t i, SymbolNames& symbols) const {
    std::string out;
    append_argument(out, program.graph.inputs()[i],
                    {[&](ValueId id) { return plain_type(program.graph.value(id), symbols); },
                     [](SubgraphId) { return std::string("graph"); }});
    return out;
  }

  // Replaces "input 0" in roles by "input x", with the user input's name.
  static std::vector<std::string> shown_inputs(const Program& program,
                                               std::vector<std::string> roles) {
    const std::vector<std::string> names = user_input_names(program);
    const auto& specs = program.signature.input_specs;
    size_t user = 0;
    for (size_t i = 0; i < std::min(roles.size(), specs.size()) && user < names.size(); ++i)
      if (specs[i].kind == InputKind::user_input) roles[i] = "input " + names[user++];
    return roles;
  }

  void compare_inputs() {
    // PyTorch 2.5 to 2.7 give tied weights one name: inputs of the same role correspond in order.
    std::multimap<std::string, size_t> right;
    for (size_t i = 0; i < after_roles_.size(); ++i) right.emplace(after_roles_[i], i);
    const auto shown = shown_inputs(before_, before_roles_);
    const auto new_shown = shown_inputs(after_, after_roles_);
    const auto is_left_out = [&](const Program& program, size_t i) {
      return options_.semantic && is_unused_weight(program, i);
    };
    for (size_t i = 0; i < before_roles_.size(); ++i) {
      const auto [found, last] = right.equal_range(before_roles_[i]);
      const std::string text = input_text(before_, i, before_symbols_);
      if (found == last) {
        if (!is_left_out(before_, i)) add(ChangeSection::signature, shown[i], text, "");
        continue;
      }
      const size_t place = found->second;
      right.erase(found);
      add(ChangeSection::signature, shown[i], text, input_text(after_, place, after_symbols_));
      if (!options_.semantic)
        add(ChangeSection::signature, before_roles_[i], shown[i], new_shown[place]);
    }
    for (const auto& [role, i] : right)
      if (!is_left_out(after_, i))
        add(ChangeSection::signature, new_shown[i], "", input_text(after_, i, after_symbols_));
  }

  std::map<std::string, std::string> range_texts(const Program& program,
                                                 SymbolNames& symbols) const {
    std::map<std::string, std::string> out;
    if (options_.semantic) {
      for (const auto& [name, range] : telling_ranges(program, symbols))
        out.emplace(name, print(range));
      return out;
    }
    for (const RangeConstraint& constraint : program.range_constraints)
      if (constraint.key != nullptr)
        out.emplace(symbols.text(constraint.key->expr), print(constraint.range));
    return out;
  }

  void compare_ranges() {
    const auto left = range_texts(before_, before_symbols_);
    const auto right = range_texts(after_, after_symbols_);
    for (const auto& [symbol, range] : left) {
      const auto found = right.find(symbol);
      add(ChangeSection::range, symbol, range, found == right.end() ? "" : found->second);
    }
    for (const auto& [symbol, range] : right)
      if (!left.contains(symbol)) add(ChangeSection::range, symbol, "", range);
  }

  void compare_guards() {
    const auto may_have = [](const Program& program) {
      return has_guards(version_number(program.schema_version));
    };
    if (options_.semantic && (!may_have(before_) || !may_have(after_))) return;
    const std::set<std::string> left(before_.guards_code.begin(), before_.guards_code.end());
    const std::set<std::string> right(after_.guards_code.begin(), after_.guards_code.end());
    for (const std::string& guard : left)
      if (!right.contains(guard)) add(ChangeSection::guard, "guard", guard, "");
    for (const std::string& guard : right)
      if (!left.contains(guard)) add(ChangeSection::guard, "guard", "", guard);
  }

  static std::string output_text(const Program& program, const OutputSpec& spec,
                                 SymbolNames& symbols) {
    std::string out(output_kind_name(spec.kind));
    if (spec.kind != OutputKind::user_output) out += " " + spec.target.value_or("");
    if (const auto id = program.graph.find_value(spec.arg.name))
      out += " " + plain_type(program.graph.value(*id), symbols);
    return out;
  }

  void compare_outputs() {
    const auto &left = before_.signature.output_specs, &right = after_.signature.output_specs;
    for (size_t i = 0; i < std::max(left.size(), right.size()); ++i)
      add(ChangeSection::signature, fmt::format("output {}", i),
          i < left.size() ? output_text(before_, left[i], before_symbols_) : "",
          i < right.size() ? output_text(after_, right[i], after_symbols_) : "");
  }

  // Reports only the number of changes: a re-export may rename everything.
  void compare_names() {
    size_t named = 0, traced = 0;
    for (const NodePair& pair : out_.nodes) {
      if (!pair.before || !pair.after) continue;
      const Node &a = before_.graph.node(*pair.before), &b = after_.graph.node(*pair.after);
      named += node_name(before_.graph, a) != node_name(after_.graph, b);
      traced += stack_trace(a) != stack_trace(b) && source_line(a) != source_line(b);
    }
    const auto count = [&](size_t number, std::string_view what) {
      if (number != 0)
        out_.changes.push_back(
            {.section = ChangeSection::name,
             .kind = ChangeKind::changed,
             .what = fmt::format("{} node{} {}", number, number == 1 ? "" : "s", what)});
    };
    count(named, "with another name");
    count(traced, "from another source line");
  }

  const Program &before_, &after_;
  const DiffOptions& options_;
  Difference& out_;
  SymbolNames before_symbols_, after_symbols_;
  std::vector<std::string> before_roles_, after_roles_;
  std::set<std::string> mapped_;
};

// Pairs programs by name; if each file has one program, they are a pair under any names.
std::vector<std::pair<std::string, std::string>> model_pairs(const Package& before,
                                                             const Package& after,
                                                             Difference& out) {
  const std::span<const std::string> left = before.models(), right = after.models();
  if (left.size() == 1 && right.size() == 1) return {{left[0], right[0]}};
  std::vector<std::pair<std::string, std::string>> pairs;
  const auto report = [&](ChangeKind kind, const std::string& name) {
    out.changes.push_back(
        {.section = ChangeSection::file, .kind = kind, .what = "program " + name});
  };
  for (const std::string& name : left) {
    if (std::ranges::find(right, name) == right.end())
      report(ChangeKind::removed, name);
    else
      pairs.emplace_back(name, name);
  }
  for (const std::string& name : right)
    if (std::ranges::find(left, name) == left.end()) report(ChangeKind::added, name);
  return pairs;
}

void diff_extra_files(const Archive& before, const Archive& after, Difference& out) {
  const auto list = [](const Archive& archive) {
    std::map<std::string, std::pair<uint32_t, uint64_t>> files;
    for (const Archive::ExtraFile& file : archive.extra_files())
      files.emplace(file.name, std::pair(file.entry->crc, file.entry->size));
    return files;
  };
  const auto left = list(before), right = list(after);
  const auto report = [&](ChangeKind kind, const std::string& name) {
    out.changes.push_back({.section = ChangeSection::file, .kind = kind, .what = "record " + name});
  };
  for (const auto& [name, content] : left) {
    const auto found = right.find(name);
    if (found == right.end())
      report(ChangeKind::removed, name);
    else if (found->second != content)
      report(ChangeKind::changed, name);
  }
  for (const auto& [name, content] : right)
    if (!left.contains(name)) report(ChangeKind::added, name);
}

}  // namespace

std::string_view change_kind_name(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::added:
      return "added";
    case ChangeKind::removed:
      return "removed";
    case ChangeKind::changed:
      return "changed";
  }
  return "";
}

std::string_view change_section_name(ChangeSection section) {
  constexpr std::string_view kNames[] = {"file", "signature", "range",  "guard",
                                         "node", "size",      "weight", "name"};
  return kNames[static_cast<size_t>(section)];
}

std::string Change::line() const {
  constexpr std::string_view kSigns[] = {"+", "-", "~"};
  std::string out(kSigns[static_cast<size_t>(kind)]);
  out += " ";
  if (!program.empty()) out += program + ": ";
  if (section == ChangeSection::weight) out += "weights of ";
  out += what;
  if (!module_path.empty()) out += " of " + module_path;
  if (!source_line.empty()) out += " at " + source_line;
  if (!before.empty() && !after.empty())
    out += fmt::format(": {} -> {}", before, after);
  else if (!before.empty() || !after.empty())
    out += ": " + (before.empty() ? after : before) +
           (kind == ChangeKind::changed && section == ChangeSection::node
                ? (before.empty() ? " (not given before)" : " (no longer given)")
                : "");
  return printable(out, 2000);
}

Difference diff_programs(const Program& before, const Program& after, const DiffOptions& options) {
  Difference out;
  ProgramDiff(before, after, options, out).run();
  return out;
}

std::vector<std::pair<std::string, std::string>> paired_values(const Program& before,
                                                               const Program& after) {
  const auto results = [](const Graph& graph, NodeId node) {
    std::vector<std::string> names;
    for (const Argument& output : graph.node(node).outputs)
      for_each_value(output, [&](ValueId id) { names.push_back(graph.value(id).name); });
    return names;
  };
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const NodePair& pair : diff_programs(before, after).nodes) {
    if (!pair.before || !pair.after) continue;
    std::vector<std::string> left = results(before.graph, *pair.before),
                             right = results(after.graph, *pair.after);
    for (size_t i = 0; i < std::min(left.size(), right.size()); ++i)
      pairs.emplace_back(std::move(left[i]), std::move(right[i]));
  }
  return pairs;
}

Result<Difference> diff(const Package& before, const Package& after, const DiffOptions& options) {
  Difference out;
  std::vector<std::pair<std::string, std::string>> pairs;
  if (options.model.empty()) {
    pairs = model_pairs(before, after, out);
  } else {
    PT2_TRY(std::string left, before.model_name(options.model));
    PT2_TRY(std::string right, after.model_name(options.model));
    pairs.emplace_back(std::move(left), std::move(right));
  }
  for (const auto& [left, right] : pairs) {
    PT2_TRY(const Program* old_program, before.program(left));
    PT2_TRY(const Program* new_program, after.program(right));
    Difference found = diff_programs(*old_program, *new_program, options);
    if (options.weights) {
      PT2_TRY(const auto old_payloads, before.payloads(left));
      PT2_TRY(const auto new_payloads, after.payloads(right));
      diff_weights({*old_program, *old_payloads}, {*new_program, *new_payloads}, options.semantic,
                   found.changes);
    }
    if (pairs.size() > 1)
      for (Change& change : found.changes) change.program = left;
    for (NodePair& pair : found.nodes) pair.first_change += out.changes.size();
    for (NestedPairs& nested : found.nested)
      for (NodePair& pair : nested.nodes) pair.first_change += out.changes.size();
    std::ranges::move(found.changes, std::back_inserter(out.changes));
    out.nodes = std::move(found.nodes);
    out.nested = std::move(found.nested);
  }
  if (!options.semantic) diff_extra_files(before.archive(), after.archive(), out);
  return out;
}

}  // namespace pt2
