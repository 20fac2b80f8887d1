// How often this thread has asked for memory: operator new of the test program counts.
#ifndef PT2_TESTS_RUN_ALLOCATIONS_H
#define PT2_TESTS_RUN_ALLOCATIONS_H

#include <cstddef>

namespace pt2::test {

size_t allocations();

}  // namespace pt2::test

#endif  // PT2_TESTS_RUN_ALLOCATIONS_H
