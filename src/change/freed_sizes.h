// Expressions for the sizes, numbers and strides that follow from a freed size.
#ifndef PT2_CHANGE_FREED_SIZES_H
#define PT2_CHANGE_FREED_SIZES_H

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "pt2/ir/program.h"
#include "pt2/result.h"

namespace pt2 {

// A size or number that a node gives for one assignment of the symbols.
struct SizeAt {
  const SymbolBindings* bindings = nullptr;
  int64_t size = 0;
};

class FreedSizes {
 public:
  // `old_size` is the number that `symbol` stands for in the export. The program must outlive the
  // object.
  FreedSizes(Program& program, Expr symbol, int64_t old_size)
      : program_(program), symbol_(symbol), old_size_(old_size) {}

  // Returns the expression that fits all of `sizes`: a*n + b, or what the size `old`, which depends
  // on other symbols, becomes. The first three sizes are those where the symbol is `numbers`.
  // Error `unsupported` if no such expression fits.
  Result<SymInt> fitted(const SymInt& old, std::span<const SizeAt> sizes,
                        std::span<const int64_t> numbers);

  // Returns a*n + b.
  Result<Expr> line(int64_t a, int64_t b);

  // Recomputes the strides of a dense tensor in its order of dims. Other tensors keep their
  // strides, also if a file records the wrong number of strides. Error `limit` if the expressions
  // of all strides together grow too long.
  Result<void> follow_strides(TensorMeta& meta, const std::vector<SymInt>& old_sizes);

 private:
  Result<Expr> risen(const SymInt& old, int64_t a, bool in_proportion);
  Result<Expr> times(Expr product, const SymInt& size);

  Program& program_;
  const Expr symbol_;
  const int64_t old_size_;
  std::map<std::pair<const ExprNode*, const ExprNode*>, Expr> products_;
  size_t parts_ = 0;  // of all products
};

}  // namespace pt2

#endif  // PT2_CHANGE_FREED_SIZES_H
