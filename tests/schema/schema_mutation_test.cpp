#include "mutate.h"
#include "schema/schema_fuzz.h"

namespace pt2 {
namespace {

TEST(SchemaMutation, Json) { test::run_mutations("json", test::fuzz_json); }

TEST(SchemaMutation, FloatText) {
  test::run_mutations("float_text", test::fuzz_float_text, std::chrono::seconds(2));
}

}  // namespace
}  // namespace pt2
