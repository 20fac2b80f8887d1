// c_random_calls SEED COUNT MODELS/: makes COUNT random calls of the C interface.
#include <cstdio>
#include <cstdlib>

#include "c/random_calls.h"

int main(int count, char** arguments) {
  if (count != 4) return std::fputs("usage: c_random_calls SEED COUNT MODELS/\n", stderr), 2;
  const pt2::test::RandomCalls calls =
      pt2::test::make_random_calls(std::strtoull(arguments[1], nullptr, 10),
                                   std::strtoull(arguments[2], nullptr, 10), arguments[3]);
  std::printf("%llu succeeded, %llu refused\n", static_cast<unsigned long long>(calls.succeeded),
              static_cast<unsigned long long>(calls.failed));
  return 0;
}
