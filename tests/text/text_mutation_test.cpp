#include "mutate.h"
#include "text/text_fuzz.h"

namespace pt2 {
namespace {

TEST(TextMutation, Text) { test::run_mutations("text", test::fuzz_text); }

}  // namespace
}  // namespace pt2
