// Integers that were computed several times, each under other values of the program's symbols, as
// expressions of the symbols again.
#ifndef PT2_LOWER_DECOMPOSE_NUMBERS_H
#define PT2_LOWER_DECOMPOSE_NUMBERS_H

#include <optional>
#include <vector>

#include "pt2/symbols.h"

namespace pt2 {

// One number for each choice of the symbols.
using Samples = std::vector<int64_t>;

// How a number comes from known ones: (the product of `factors`) * times / divisor + plus.
struct NumberForm {
  std::vector<size_t> factors{};  // none: the literal `plus`
  int64_t times = 1;
  int64_t divisor = 1;
  int64_t plus = 0;

  bool is_literal() const { return factors.empty(); }
};

class KnownNumbers {
 public:
  // A symbolic number; the same expression again is left out.
  void add(const SymInt& number, Samples samples);
  const SymInt& number(size_t index) const { return known_[index].number; }
  size_t size() const { return known_.size(); }

  // The first form that gives the samples; one that needs the fewest known numbers. Nothing where
  // none does. Cubic in what is known.
  std::optional<NumberForm> find(const Samples& samples) const;

 private:
  struct Known {
    SymInt number;
    Samples samples;
  };
  std::optional<NumberForm> of_product(const Samples& product, std::vector<size_t> factors,
                                       const Samples& samples) const;
  std::vector<Known> known_;
};

// Makes expressions of forms.
class NumberWriter {
 public:
  NumberWriter(ExprPool& pool, ExprSpelling spelling) : pool_(pool), spelling_(spelling) {}
  // Error `limit`: the expression is too large.
  Result<SymInt> write(const KnownNumbers& known, const NumberForm& form) const;
  Result<SymInt> binary(ExprOp op, const SymInt& a, const SymInt& b) const;

 private:
  ExprPool& pool_;
  ExprSpelling spelling_;
};

}  // namespace pt2

#endif  // PT2_LOWER_DECOMPOSE_NUMBERS_H
