#include "archive/archive_fuzz.h"
#include "mutate.h"

namespace pt2 {
namespace {

TEST(ArchiveMutation, Zip) { test::run_mutations("zip", test::fuzz_zip); }

TEST(ArchiveMutation, Pickle) { test::run_mutations("pickle", test::fuzz_pickle); }

}  // namespace
}  // namespace pt2
