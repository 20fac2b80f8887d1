// The content of nodes in words that do not depend on the release, for comparing programs and for
// describing differences.
#ifndef PT2_INSPECT_PLAIN_TEXT_H
#define PT2_INSPECT_PLAIN_TEXT_H

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "pt2/ir/program.h"

namespace pt2 {

// Names for the symbols of one program: the names of another program's symbols at the same places,
// or "s0", "s1", ... in order of appearance.
class SymbolNames {
 public:
  explicit SymbolNames(const Program& program) : pool_(*program.expressions) {}

  // These two must be called before the first text.
  void rename(std::string from, std::string to) { names_.insert_or_assign(from, std::move(to)); }
  // After this call, symbols without a name get "s0", "s1", ...
  void number_the_rest() { numbers_ = true; }
  std::string_view name(const std::string& symbol);
  // Returns "2*s0 + 1", or the number.
  std::string text(const SymInt& size);
  std::string text(Expr expr);
  // Returns the plain_type of a value. Makes it once, because a few bytes can name a value whose
  // type is as long as the file.
  const std::string& type(const GraphValue& value);

 private:
  const ExprPool& pool_;
  std::map<std::string, std::string, std::less<>> names_;
  std::unordered_map<const GraphValue*, std::string> types_;
  size_t next_ = 0;
  bool numbers_ = false;
};

// Texts for references from arguments to values and graphs.
struct ArgumentNames {
  std::function<std::string(ValueId)> value;
  std::function<std::string(SubgraphId)> subgraph;
};
// Appends "[%a, 3, none]", without the schema's list type and wrapper.
void append_argument(std::string& out, const Argument& argument, const ArgumentNames& names);

// Returns "f32[s0, 8]", dtype and sizes only. Returns "int s0" for a number, the class for an
// object.
const std::string& plain_type(const GraphValue& value, SymbolNames& symbols);

// For a text that many nodes repeat. Returns a text of more than 2000 bytes as its beginning and a
// hash, so that different texts stay different.
std::string told_apart(std::string text);

}  // namespace pt2

#endif  // PT2_INSPECT_PLAIN_TEXT_H
