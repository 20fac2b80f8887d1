#include "mutate.h"
#include "package/package_fuzz.h"

namespace pt2 {
namespace {

TEST(PackageMutation, File) { test::run_mutations("file", test::fuzz_file); }

}  // namespace
}  // namespace pt2
