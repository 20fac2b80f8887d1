// Counts the calls of operator new that this thread has made.
#ifndef PT2_TESTS_RUN_ALLOCATIONS_H
#define PT2_TESTS_RUN_ALLOCATIONS_H

#include <cstddef>

namespace pt2::test {

size_t allocations();

}  // namespace pt2::test

#endif  // PT2_TESTS_RUN_ALLOCATIONS_H
