// Findings about a file or a program: all of them, not the first. Each belongs to a numbered rule
// (rules.def), which says how grave it is and why it matters; `pt2 verify` prints them.
#ifndef PT2_DIAGNOSTICS_H
#define PT2_DIAGNOSTICS_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pt2/error.h"

namespace pt2 {

enum class Severity : uint8_t { warning, error };
// How deep a check goes; each level includes the ones before it.
// container: records and checksums; schema: the JSON; graph: the program alone; full: with its
// weights and its operators.
enum class Level : uint8_t { container, schema, graph, full };

enum class Rule : uint16_t {
#define PT2_RULE(number, name, severity, level, title, why, source, example) name = number,
#include "pt2/rules.def"
};

struct RuleInfo {
  Rule rule;
  std::string_view name;  // duplicate_entry
  Severity severity;
  Level level;
  std::string_view title;  // one line: what must hold
  std::string_view why;    // what goes wrong otherwise, and PyTorch's own behaviour
  // Where PyTorch has the rule or would need it (file and function); "pt2" where it has none.
  std::string_view source;
  std::string_view example;  // what breaks it
};

// Every rule, by number. O(1), static storage.
std::span<const RuleInfo> rules();
const RuleInfo& rule_info(Rule rule);
// "V103".
std::string rule_code(Rule rule);
// Accepts "V103" and "duplicate_entry"; nullptr when there is no such rule.
const RuleInfo* find_rule(std::string_view code_or_name);
std::string_view level_name(Level level);

// The node that a finding is about, as people know it.
struct NodePlace {
  std::string name{};         // "linear_1"; empty: the finding is about no node
  std::string target{};       // "torch.ops.aten.linear.default"
  std::string module_path{};  // "layers.0.attention"; empty when unknown, or the root
  std::string source_line{};  // "model.py:12"; empty when unknown

  explicit operator bool() const { return !target.empty(); }
  // "%linear_1 (torch.ops.aten.linear.default) of layers.0.attention at model.py:12".
  std::string text() const;
};

struct Diagnostic {
  Rule rule;
  std::string where;
  std::string text;
  // The kind of failure where reading stopped; the breach of a rule is `invalid`.
  ErrorCode code = ErrorCode::invalid;
  NodePlace node{};

  Severity severity() const { return rule_info(rule).severity; }
  // "V103 error: where: text", and the node behind it where there is one.
  std::string line() const;
};

class Diagnostics {
 public:
  void add(Rule rule, std::string where, std::string text);
  void add(Rule rule, Error error);
  void append(Diagnostics other);
  // Sets the node of each finding that has none to what `find` gives for its `where`.
  template <class Find>
  void set_nodes(Find&& find) {
    for (Diagnostic& item : items_)
      if (!item.node) item.node = find(std::string_view(item.where));
  }
  std::span<const Diagnostic> all() const& { return items_; }
  std::span<const Diagnostic> all() && = delete;
  bool empty() const { return items_.empty(); }
  bool has_errors() const;
  // The first finding that is an error, as what a reader returns.
  std::optional<Error> first_error() const;
  size_t count(Severity severity) const;

 private:
  std::vector<Diagnostic> items_;
};

}  // namespace pt2

#endif  // PT2_DIAGNOSTICS_H
