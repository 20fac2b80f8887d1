#include "kernels/targets.h"

#include "kernels/convolution_case.h"
#include "upper_halves.h"

namespace pt2::kernels {
namespace {

// GCC leaves the halves in use after depthwise convolutions.
TEST(Targets, UpperHalvesAreZeroedAfterAnyKernel) {
  test::on_every_target([] {
    test::Random random(14);
    test::ConvolutionCase(random, 64, 1, 1, false, 3, 40).run();
    zero_upper_halves();
    EXPECT_FALSE(pt2::test::upper_halves_in_use().value_or(false));
  });
}

}  // namespace
}  // namespace pt2::kernels
