#include "pt2/tensor.h"

#include <gtest/gtest.h>

namespace pt2 {
namespace {

TEST(Tensor, ViewOfRefusesWhatReachesOutside) {
  auto storage = Storage::allocate(16);
  EXPECT_TRUE(Tensor::view_of(storage, Dtype::float32, {2, 2}, {2, 1}, 0));
  EXPECT_FALSE(Tensor::view_of(storage, Dtype::float32, {2, 2}, {2, 1}, 1));
  EXPECT_FALSE(Tensor::view_of(storage, Dtype::float32, {2, 2}, {2, -1}, 1));
  EXPECT_FALSE(Tensor::view_of(storage, Dtype::float32, {-1}, {1}, 0));
  EXPECT_FALSE(Tensor::view_of(storage, Dtype::float32, {int64_t{1} << 62, int64_t{1} << 62}, {0, 0}, 0));
  EXPECT_FALSE(Tensor::view_of(storage, Dtype::float32, {2}, {INT64_MAX}, 4));
  EXPECT_FALSE(Tensor::view_of(storage, Dtype::float32, {2}, {1, 1}, 0));
}

TEST(Tensor, CopiesStridedElementsRowMajor) {
  const float values[] = {0, 1, 2, 3, 4, 5};
  Tensor tensor = Tensor::from<float>(Dtype::float32, {2, 3}, values);
  Tensor transposed = tensor.with_view({3, 2}, {1, 3}, 0);
  EXPECT_FALSE(transposed.is_contiguous());
  const Tensor copy = transposed.contiguous();
  EXPECT_EQ(std::vector<float>(copy.as<float>().begin(), copy.as<float>().end()),
            (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(transposed.clone().strides(), (Sizes{1, 3}));
  EXPECT_EQ(tensor.type_text(), "f32[2, 3]");
}

TEST(Dtype, NamesAreUnique) {
  for (const DtypeInfo& info : dtypes()) {
    EXPECT_EQ(find_dtype(info.name), info.dtype);
    EXPECT_EQ(find_dtype(info.short_name), info.dtype);
    EXPECT_EQ(find_dtype_by_schema_number(info.schema_number), info.dtype);
  }
  EXPECT_FALSE(find_dtype("float"));
}

}  // namespace
}  // namespace pt2
