// What nodes say, in words that no release spells differently: for comparing programs and for
// telling people what differs.
#ifndef PT2_INSPECT_PLAIN_TEXT_H
#define PT2_INSPECT_PLAIN_TEXT_H

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "pt2/ir/program.h"

namespace pt2 {

// Names for the symbols of one program: those of another program at the same places, or "s0",
// "s1", ... in the order in which they are met.
class SymbolNames {
 public:
  explicit SymbolNames(const Program& program) : pool_(*program.expressions) {}

  void rename(std::string from, std::string to) { names_.insert_or_assign(from, std::move(to)); }
  // From now on symbols without a name get "s0", "s1", ...
  void number_the_rest() { numbers_ = true; }
  std::string_view name(const std::string& symbol);
  // "2*s0 + 1", or the number.
  std::string text(const SymInt& size);
  std::string text(Expr expr);

 private:
  const ExprPool& pool_;
  std::map<std::string, std::string, std::less<>> names_;
  size_t next_ = 0;
  bool numbers_ = false;
};

// How arguments refer to what is around them.
struct ArgumentNames {
  std::function<std::string(ValueId)> value;
  std::function<std::string(SubgraphId)> subgraph;
};
// "[%a, 3, none]"; which list of the schema it is, and how it is wrapped, is left out.
void append_argument(std::string& out, const Argument& argument, const ArgumentNames& names);

// "f32[s0, 8]": dtype and sizes alone. Of other values: "int s0", the class of an object.
std::string plain_type(const GraphValue& value, SymbolNames& symbols);
}  // namespace pt2

#endif  // PT2_INSPECT_PLAIN_TEXT_H
