// Tensor files that are written tensor by tensor read back as they were.
#include <gtest/gtest.h>

#include <filesystem>

#include "pt2/tensor_file.h"
#include "temporary_folder.h"

namespace pt2 {
namespace {

namespace fs = std::filesystem;

class TensorWriterTest : public testing::TestWithParam<std::string> {
 protected:
  const test::TemporaryFolder folder_;
  const std::string path_ = folder_.file("trace" + GetParam());
};

TEST_P(TensorWriterTest, RefusesWhatHasNoMemory) {
  const Tensor nothing = Tensor::without_elements(Dtype::float32, {2});
  auto writer = TensorWriter::create(path_).value();
  EXPECT_EQ(writer->add("x", nothing).error().code, ErrorCode::argument);
  const Result<void> whole = write_tensor_file(path_, {{"x", nothing}});
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().message, "found no memory for the elements of f32[2]");
  EXPECT_FALSE(fs::exists(path_));
}

// With a stride of 0 one element becomes more elements than any memory can hold.
TEST_P(TensorWriterTest, RefusesWhatNoMemoryHolds) {
  const Tensor huge =
      Tensor::view_of(Tensor::of({7.f}).storage(), Dtype::float32, {int64_t{1} << 60}, {0}, 0)
          .value();
  auto writer = TensorWriter::create(path_);
  ASSERT_TRUE(writer) << writer.error().text();
  for (const Result<void>& written :
       {(*writer)->add("huge", huge),
        write_tensor_file(folder_.file("whole" + GetParam()), {{"huge", huge}})}) {
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, ErrorCode::limit) << written.error().text();
  }
  EXPECT_FALSE(fs::exists(folder_.file("whole" + GetParam())));
}

TEST_P(TensorWriterTest, ReadsBack) {
  auto writer = TensorWriter::create(path_);
  ASSERT_TRUE(writer) << writer.error().text();
  const float numbers[] = {1, 2, 3, 4, 5, 6};
  const Tensor matrix = Tensor::from<float>(Dtype::float32, {2, 3}, numbers);
  ASSERT_TRUE((*writer)->add("turned", matrix.with_view({3, 2}, {1, 3}, 0)));
  ASSERT_TRUE((*writer)->add("none", Tensor::zeros(Dtype::int64, {0, 2})));
  ASSERT_TRUE((*writer)->add("flag", Tensor::zeros(Dtype::bool_, {})));
  const Result<void> finished = (*writer)->finish();
  ASSERT_TRUE(finished) << finished.error().text();
  const NamedTensors tensors = read_tensor_file(path_).value();
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0].first, "turned");
  const auto found = tensors[0].second.contiguous().as<float>();
  EXPECT_EQ(std::vector<float>(found.begin(), found.end()), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(tensors[1].second.type_text(), "i64[0, 2]");
  EXPECT_EQ(tensors[2].second.type_text(), "bool[]");
  // The folder contains no temporary file.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
}

TEST_P(TensorWriterTest, LeavesNothingUnfinished) {
  {
    auto writer = TensorWriter::create(path_).value();
    ASSERT_TRUE(writer->add("a", Tensor::zeros(Dtype::float32, {1000})));
  }
  EXPECT_TRUE(fs::is_empty(folder_.path()));
}

TEST_P(TensorWriterTest, RefusesANameTwice) {
  auto writer = TensorWriter::create(path_).value();
  ASSERT_TRUE(writer->add("a", Tensor::zeros(Dtype::float32, {1})));
  const Result<void> added = writer->add("a", Tensor::zeros(Dtype::float32, {1}));
  EXPECT_FALSE(added && writer->finish());
}

INSTANTIATE_TEST_SUITE_P(Formats, TensorWriterTest, testing::Values(".npz", ".safetensors"));

TEST(TensorWriter, KnowsWhatTheFormatLacks) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(TensorWriter::create(folder.file("a.npy")).error().code, ErrorCode::argument);
  EXPECT_EQ(TensorWriter::create(folder.file("a.txt")).error().code, ErrorCode::argument);
  EXPECT_EQ(TensorWriter::create(folder.file("nowhere/a.npz")).error().code, ErrorCode::io);
  auto writer = TensorWriter::create(folder.file("a.npz")).value();
  const Result<void> added = writer->add("half", Tensor::zeros(Dtype::bfloat16, {1}));
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::unsupported);
}

}  // namespace
}  // namespace pt2
