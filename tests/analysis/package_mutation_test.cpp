#include "mutate.h"
#include "package/package_fuzz.h"

namespace pt2 {
namespace {

TEST(PackageMutation, File) { test::run_mutations("file", test::fuzz_file); }

// Mutates bare JSON documents: containers and early drafts.
TEST(PackageMutation, Document) { test::run_mutations("document", test::fuzz_readable_file); }

}  // namespace
}  // namespace pt2
