#include "ir/expr_fuzz.h"
#include "mutate.h"

namespace pt2 {
namespace {

TEST(ExprMutation, Expressions) { test::run_mutations("expression", test::fuzz_expression); }

}  // namespace
}  // namespace pt2
