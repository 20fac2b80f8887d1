// Findings about a file or a program. A check collects all of them and does not stop at the first.
// Each finding belongs to a numbered rule (rules.def), which has its severity and the reason for
// the rule. `pt2 verify` prints them.
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
// The depth of a check. Each level includes the levels before it. container: records and checksums.
// schema: the JSON. graph: the program. full: its weights and operators too.
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
  std::string_view title;  // one line: the condition that must hold
  std::string_view why;    // the consequence of a violation, and PyTorch's behaviour
  // The file and function of PyTorch that has the rule or would need it; "pt2" if there is none.
  std::string_view source;
  std::string_view example;  // a violation
};

// Returns every rule, by number. O(1), static storage.
std::span<const RuleInfo> rules();
const RuleInfo& rule_info(Rule rule);
// Returns the code of a rule, "V103".
std::string rule_code(Rule rule);
// Finds a rule by its code or name, "V103" or "duplicate_entry"; nullptr if there is none.
const RuleInfo* find_rule(std::string_view code_or_name);
std::string_view level_name(Level level);

// The node that a finding is about, described for people.
struct NodePlace {
  std::string name{};         // "linear_1"; empty: the finding is about no node
  std::string target{};       // "torch.ops.aten.linear.default"
  std::string module_path{};  // "layers.0.attention"; empty if unknown, or for the root
  std::string source_line{};  // "model.py:12"; empty if unknown

  explicit operator bool() const { return !target.empty(); }
  // Returns "%linear_1 (torch.ops.aten.linear.default) of layers.0.attention at model.py:12".
  std::string text() const;
};

// One finding.
struct Diagnostic {
  Rule rule;
  std::string where;
  std::string text;
  // The code of the error if reading stopped here; `invalid` for the violation of a rule.
  ErrorCode code = ErrorCode::invalid;
  NodePlace node{};

  Severity severity() const { return rule_info(rule).severity; }
  // Returns "V103 error: where: text", followed by the node if there is one.
  std::string line() const;
};

class Diagnostics {
 public:
  void add(Rule rule, std::string where, std::string text);
  void add(Rule rule, Error error);
  void append(Diagnostics other);
  // Calls `find(where)` for each finding without a node, and sets the node to the result.
  template <class Find>
  void set_nodes(Find&& find) {
    for (Diagnostic& item : items_)
      if (!item.node) item.node = find(std::string_view(item.where));
  }
  std::span<const Diagnostic> all() const& { return items_; }
  std::span<const Diagnostic> all() && = delete;
  bool empty() const { return items_.empty(); }
  bool has_errors() const;
  // Returns the first finding of severity `error` as an Error; nothing if there is none.
  std::optional<Error> first_error() const;
  size_t count(Severity severity) const;

 private:
  std::vector<Diagnostic> items_;
};

}  // namespace pt2

#endif  // PT2_DIAGNOSTICS_H
