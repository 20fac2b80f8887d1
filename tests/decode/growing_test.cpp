// Inputs that grow in place, in a real decoding step: `cat(past, new)` writes only `new`, after
// `past`, and attention does not repeat heads of keys.
#include <gtest/gtest.h>

#include <numeric>

#include "pt2/model.h"

namespace pt2 {
namespace {

// The inputs of tests/data/decoders/dynamic/decode.pt2 are ids [1, 1], positions [1, 1], keys and
// values [1, 2, s, 4].
class Growing : public ::testing::Test {
 protected:
  Tensor numbers(const Sizes& sizes, float first) const {
    Tensor out = Tensor::zeros(Dtype::float32, sizes);
    for (int64_t i = 0; i < out.numel(); ++i)
      out.data<float>()[i] = first + 0.01f * static_cast<float>(i % 17);
    return out;
  }
  static Tensor beginning(const Tensor& room, int64_t size) {
    return room.with_view({1, 2, size, 4}, room.strides(), room.storage_offset());
  }
  std::vector<Value> inputs(Tensor keys, Tensor values) const {
    return {Value(Tensor::of<int64_t>({1, 1}, {3})), Value(Tensor::of<int64_t>({1, 1}, {5})),
            Value(std::move(keys)), Value(std::move(values))};
  }
  static std::vector<float> elements_of(const Value& value) {
    std::vector<float> out;
    for (const float each : value.get_if<Tensor>()->elements<float>()) out.push_back(each);
    return out;
  }

  const Model model_ =
      Model::load(std::string(PT2_TEST_DATA) + "/decoders/dynamic/decode.pt2").value();
  // Memory for seven positions, of which five are in use.
  const Tensor keys_ = numbers({1, 2, 7, 4}, 0.1f), values_ = numbers({1, 2, 7, 4}, -0.3f);
  const std::vector<GrowingInput> growing_ = {{2, 2, keys_}, {3, 2, values_}};
};

TEST_F(Growing, ResultsLieInTheRoom) {
  Session session(model_);
  std::vector<Value> plain =
      inputs(beginning(keys_, 5).contiguous(), beginning(values_, 5).contiguous());
  const std::vector<Value> expected = session.run(plain).value();
  const std::vector<float> before = elements_of(plain[2]);
  for (int round = 0; round < 3; ++round) {
    std::vector<Value> grown = inputs(beginning(keys_, 5), beginning(values_, 5));
    const std::vector<Value> found = session.run(grown, {.growing = growing_}).value();
    ASSERT_EQ(found.size(), 3u);
    for (size_t i = 0; i < found.size(); ++i) {
      const std::vector<float> a = elements_of(found[i]), b = elements_of(expected[i]);
      ASSERT_EQ(a.size(), b.size());
      for (size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(a[j], b[j], 1e-5);
    }
    EXPECT_EQ(found[1].get_if<Tensor>()->storage(), keys_.storage());
    EXPECT_EQ(found[2].get_if<Tensor>()->storage(), values_.storage());
    EXPECT_EQ(elements_of(grown[2]), before);  // old elements are unchanged
  }
}

TEST_F(Growing, AFullRoomIsLeftAlone) {
  Session session(model_);
  const Tensor room = beginning(keys_, 5);
  std::vector<Value> given = inputs(beginning(keys_, 5), beginning(values_, 5));
  const std::vector<GrowingInput> growing = {{2, 2, room}};
  const std::vector<float> all = elements_of(Value(keys_));
  const std::vector<Value> found = session.run(given, {.growing = growing}).value();
  EXPECT_NE(found[1].get_if<Tensor>()->storage(), keys_.storage());
  EXPECT_EQ(found[1].get_if<Tensor>()->size(2), 6);
  EXPECT_EQ(elements_of(Value(keys_)), all);
}

TEST_F(Growing, TheReferenceEngineDoesWithout) {
  const Model plain = Model::load(std::string(PT2_TEST_DATA) + "/decoders/dynamic/decode.pt2",
                                  {.engine = EngineKind::reference})
                          .value();
  Session session(plain);
  std::vector<Value> given = inputs(beginning(keys_, 5), beginning(values_, 5));
  const std::vector<Value> found = session.run(given, {.growing = growing_}).value();
  EXPECT_NE(found[1].get_if<Tensor>()->storage(), keys_.storage());
}

TEST_F(Growing, RoomsFitTheirInputs) {
  Session session(model_);
  const auto code = [&](GrowingInput growing) {
    std::vector<Value> given = inputs(beginning(keys_, 5), beginning(values_, 5));
    const auto found = session.run(given, {.growing = std::span(&growing, 1)});
    return found ? std::optional<ErrorCode>() : found.error().code;
  };
  EXPECT_EQ(code({2, 2, keys_}), std::nullopt);
  EXPECT_EQ(code({9, 2, keys_}), ErrorCode::argument);
  EXPECT_EQ(code({0, 2, keys_}), ErrorCode::argument);
  EXPECT_EQ(code({2, 4, keys_}), ErrorCode::argument);
  EXPECT_EQ(code({2, 1, keys_}), ErrorCode::argument);    // grows along another dimension
  EXPECT_EQ(code({2, 2, values_}), ErrorCode::argument);  // another storage
  EXPECT_EQ(code({2, 2, beginning(keys_, 4)}), ErrorCode::argument);  // smaller than the input
  EXPECT_EQ(code({2, 2, Tensor()}), ErrorCode::argument);
}

TEST_F(Growing, HeadsOfKeysAreNotRepeated) {
  Session session(model_);
  std::vector<Value> given = inputs(beginning(keys_, 5), beginning(values_, 5));
  size_t joined = 0;
  const auto found = session.run(given, {.on_step = [&](const StepTime& step) {
                                   if (step.kernel == "attention") joined = step.nodes.size();
                                 }});
  ASSERT_TRUE(found) << found.error().text();
  // The attention node, and unsqueeze, expand and reshape of both keys and values. A slice of all of
  // them is dropped before.
  EXPECT_EQ(joined, 7u);
}

}  // namespace
}  // namespace pt2
