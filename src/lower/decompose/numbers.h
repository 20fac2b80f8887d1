// Recovers symbolic expressions for integers from samples: each integer was computed under several
// assignments of the program's symbols.
#ifndef PT2_LOWER_DECOMPOSE_NUMBERS_H
#define PT2_LOWER_DECOMPOSE_NUMBERS_H

#include <optional>
#include <unordered_set>
#include <vector>

#include "pt2/ir/symbols.h"

namespace pt2 {

// The values of one number, one for each assignment of the symbols.
using Samples = std::vector<int64_t>;

// How a number follows from known numbers: (the product of `factors`) * times / divisor + plus,
// where the quotient is rounded down, or up if `rounds_up`; or the sum of two known numbers
// (`added`).
struct NumberForm {
  // One step from the first factor to the number: `op` of the number so far and a known or a
  // literal number.
  struct Step {
    ExprOp op;
    std::optional<size_t> known{};
    int64_t literal = 0;
  };

  std::vector<size_t> factors{};  // empty: the literal `plus`
  int64_t times = 1;
  int64_t divisor = 1;
  bool rounds_up = false;
  int64_t plus = 0;
  std::optional<size_t> added{};  // only with exactly one factor

  bool is_literal() const { return factors.empty(); }
  // The addend of the dividend, which makes the floor division round up.
  int64_t ahead() const { return rounds_up ? divisor - 1 : 0; }
  // Returns the steps of a form that is no literal.
  std::vector<Step> steps() const;
};

class KnownNumbers {
 public:
  // The known numbers that a form may use: a graph can compute only some of them.
  enum class Among : bool { all, computable };

  // Adds a symbolic number; false if its expression is already known.
  bool add(const SymInt& number, Samples samples, bool is_computable);
  const SymInt& number(size_t index) const { return known_[index].number; }

  // Returns a form that gives the samples and needs the fewest known numbers; nothing if there is
  // none. Linear in the known numbers: only some of them are combined.
  std::optional<NumberForm> find(const Samples& samples, Among among) const;

 private:
  struct Known {
    SymInt number;
    Samples samples;
    bool is_computable;
  };
  std::optional<NumberForm> of_product(const Samples& product, std::vector<size_t> factors,
                                       const Samples& samples) const;
  std::vector<Known> known_;
  std::unordered_set<const ExprNode*> expressions_;  // of the known numbers
};

// Writes forms as expressions.
class NumberWriter {
 public:
  NumberWriter(ExprPool& pool, ExprSpelling spelling) : pool_(pool), spelling_(spelling) {}

  // True if the number is an unbacked symbol ("u0"), which only the elements of tensors determine.
  bool depends_on_elements(const SymInt& number) const;
  // Error `limit`: the expression is too large.
  Result<SymInt> write(const KnownNumbers& known, const NumberForm& form) const;
  Result<SymInt> binary(ExprOp op, const SymInt& a, const SymInt& b) const;

 private:
  ExprPool& pool_;
  ExprSpelling spelling_;
};

}  // namespace pt2

#endif  // PT2_LOWER_DECOMPOSE_NUMBERS_H
