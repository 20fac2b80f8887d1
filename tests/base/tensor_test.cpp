#include "pt2/tensor.h"

#include <gtest/gtest.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace pt2 {
namespace {

TEST(Tensor, ViewOfRefusesWhatReachesOutside) {
  auto storage = Storage::allocate(16);
  EXPECT_TRUE(Tensor::view_of(storage, Dtype::float32, {2, 2}, {2, 1}, 0));
  EXPECT_FALSE(Tensor::view_of(storage, Dtype::float32, {2, 2}, {2, 1}, 1));
  EXPECT_FALSE(Tensor::view_of(storage, Dtype::float32, {2, 2}, {2, -1}, 1));
  EXPECT_FALSE(Tensor::view_of(storage, Dtype::float32, {-1}, {1}, 0));
  EXPECT_FALSE(
      Tensor::view_of(storage, Dtype::float32, {int64_t{1} << 62, int64_t{1} << 62}, {0, 0}, 0));
  EXPECT_FALSE(Tensor::view_of(storage, Dtype::float32, {2}, {INT64_MAX}, 4));
  EXPECT_FALSE(Tensor::view_of(storage, Dtype::float32, {2}, {1, 1}, 0));
}

TEST(Tensor, ViewOfRefusesWhatHasNoMemory) {
  const auto none = Tensor::view_of(nullptr, Dtype::float32, {2}, {1}, 0);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::invalid);
  const auto null = Storage::borrow({static_cast<std::byte*>(nullptr), size_t{16}}, nullptr);
  EXPECT_FALSE(Tensor::view_of(null, Dtype::float32, {4}, {1}, 0));
  EXPECT_TRUE(Tensor::view_of(null, Dtype::float32, {0}, {1}, 0));
}

TEST(Tensor, WithoutMemoryGivesNoElements) {
  float* nothing = nullptr;
  EXPECT_TRUE(Tensor::view(nothing, {0, 3}).has_memory());
  EXPECT_TRUE(Tensor().has_memory());
  for (const Tensor& tensor :
       {Tensor::without_elements(Dtype::float32, {4}), Tensor::view(nothing, {4})}) {
    EXPECT_FALSE(tensor.has_memory());
    EXPECT_EQ(tensor.try_as<float>().error().message, "f32[4] has no memory for its elements");
    EXPECT_DEATH((void)tensor.as<float>(), "wrong use: as<T>.. of a tensor f32.4. that has no mem");
    EXPECT_DEATH((void)tensor.elements<float>(), "wrong use: elements<T>.. of a tensor f32.4. th");
    EXPECT_DEATH((void)tensor.clone(), "wrong use: clone.. of a tensor f32.4. that has no memory");
  }
}

TEST(Tensor, SaysWhoseMistakeItIs) {
  EXPECT_DEATH((void)Tensor::zeros(Dtype::float32, {-1}),
               "wrong use: Tensor::zeros with a negative size: f32.-1.");
  EXPECT_DEATH((void)Tensor::zeros_strided(Dtype::float32, {2, 3}, {1}),
               "wrong use: Tensor::zeros_strided with 1 strides: f32.2, 3.");
  float element = 0;
  EXPECT_DEATH((void)Tensor::view(&element, {-1, 3}),
               "wrong use: Tensor::view with a negative size: f32.-1, 3.");
  EXPECT_DEATH((void)Tensor::view(&element, {int64_t{1} << 62, 4}), "wrong use: .*64 bits");
  EXPECT_DEATH((void)Tensor::of({1.f}).with_dtype(Dtype::float64),
               "wrong use: Tensor::with_dtype with float64, whose elements are of another size");
}

TEST(Tensor, TakesAsManyValuesAsItHas) {
  const std::vector<float> values = {1, 2};
  EXPECT_DEATH((void)Tensor::from<float>(Dtype::float32, {4}, values),
               "wrong use: Tensor::from with 2 values for a tensor f32.4.");
  EXPECT_DEATH((void)Tensor::from<float>(Dtype::float32, {1}, values),
               "wrong use: Tensor::from with 2 values for a tensor f32.1.");
  EXPECT_DEATH((void)Tensor::from<float>(Dtype::int32, {2}, values),
               "wrong use: Tensor::from with values of float32 for a tensor i32.2.");
  const std::vector<uint16_t> bits = {0x3c00};
  EXPECT_EQ(Tensor::from<uint16_t>(Dtype::float16, {1}, bits).as<uint16_t>()[0], 0x3c00);
}

template <class T>
concept GivesIterators = requires(T elements) {
  std::move(elements).begin();
};
static_assert(!GivesIterators<Elements<float>>);

// The memory after a storage is poisoned: the address sanitizer detects kernels that read it.
TEST(Storage, EndsWhereASanitizerSeesIt) {
#if defined(__SANITIZE_ADDRESS__)
  for (const size_t bytes : {size_t{4}, size_t{7}, size_t{64}}) {
    const auto storage = Storage::allocate(bytes);
    EXPECT_TRUE(__asan_address_is_poisoned(storage->data() + bytes)) << bytes;
    EXPECT_EQ(__asan_region_is_poisoned(storage->data(), bytes), nullptr) << bytes;
  }
#else
  GTEST_SKIP() << "not built for the address sanitizer";
#endif
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

TEST(Tensor, IsMadeOfLiteralValues) {
  const Tensor row = Tensor::of({1.f, 2.f, 3.f});
  EXPECT_EQ(row.dtype(), Dtype::float32);
  EXPECT_EQ(row.sizes(), (Sizes{3}));
  const Tensor matrix = Tensor::of<int64_t>({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(matrix.type_text(), "i64[2, 2]");
  EXPECT_EQ(matrix.as<int64_t>()[3], 4);
  EXPECT_EQ(Tensor::of({true, false}).dtype(), Dtype::bool_);
  EXPECT_DEATH((void)Tensor::of<float>({2, 2}, {1, 2, 3}),
               "wrong use: Tensor::of with 3 values for a tensor f32.2, 2.");
}

TEST(Tensor, ViewsACallersElements) {
  float elements[] = {1, 2, 3, 4, 5, 6};
  Tensor view = Tensor::view(elements, {2, 3});
  EXPECT_EQ(view.type_text(), "f32[2, 3]");
  EXPECT_EQ(view.data<float>(), elements);
  EXPECT_FALSE(view.storage()->is_read_only());
  const float* constant = elements;
  EXPECT_TRUE(Tensor::view(constant, {6}).storage()->is_read_only());
  const auto owner = std::make_shared<std::vector<int32_t>>(4, 7);
  const Tensor owned = Tensor::view(owner->data(), {2, 2}, owner);
  EXPECT_EQ(owner.use_count(), 2);
  EXPECT_EQ(owned.as<int32_t>()[3], 7);
}

TEST(Tensor, GivesItsElementsInOrderWhateverItsStrides) {
  const Tensor matrix = Tensor::of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor transposed = matrix.with_view({3, 2}, {1, 3}, 0);
  std::vector<int32_t> found;
  for (int32_t x : transposed.elements<int32_t>()) found.push_back(x);
  EXPECT_EQ(found, (std::vector<int32_t>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(Tensor::zeros(Dtype::float32, {0, 3}).elements<float>().size(), 0u);
  const Elements<double> one = Tensor::of({2.5}).with_view({}, {}, 0).elements<double>();
  EXPECT_EQ(*one.begin(), 2.5);
}

TEST(Tensor, SaysWhyItsElementsAreNoSuchBlock) {
  const Tensor matrix = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ((*matrix.try_as<float>())[5], 6);
  EXPECT_EQ(matrix.try_as<int32_t>().error().message,
            "f32[2, 3] has elements of float32, asked for int32");
  const Tensor transposed = matrix.with_view({3, 2}, {1, 3}, 0);
  EXPECT_EQ(transposed.try_as<float>().error().code, ErrorCode::argument);
  for (const bool same_size : {false, true})
    EXPECT_DEATH(
        same_size ? (void)matrix.as<int32_t>() : (void)matrix.as<double>(),
        "wrong use: as<T>.. with a T of (float64|int32) of a tensor f32.2, 3.; try_as<T>.. tells");
  EXPECT_DEATH((void)transposed.as<float>(), "wrong use: .*use contiguous.. or elements<T>..");
  EXPECT_DEATH((void)matrix.elements<int32_t>(), "wrong use: elements<T>.. with a T of int32");
}

// With strides of 0 one element in memory becomes more elements than any memory can hold.
TEST(Tensor, OfMoreElementsThanMemoryIsNotCopied) {
  float element = 7;
  const Tensor one = Tensor::view(&element, {1});
  for (const Sizes& sizes : {Sizes{int64_t{1} << 60}, Sizes{int64_t{1} << 50, 1 << 10}}) {
    const auto huge =
        Tensor::view_of(one.storage(), Dtype::float32, sizes, Sizes(sizes.size(), 0), 0);
    ASSERT_TRUE(huge);
    const auto copy = huge->try_contiguous();
    ASSERT_FALSE(copy);
    EXPECT_EQ(copy.error().code, ErrorCode::limit);
    EXPECT_EQ(copy.error().where, huge->type_text());
    const Elements<float> elements = huge->elements<float>();
    EXPECT_EQ(*elements.begin(), 7);
  }
  EXPECT_EQ(one.try_contiguous()->raw_data(), one.raw_data());
}

}  // namespace
}  // namespace pt2
