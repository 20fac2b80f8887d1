// Folders that Transformers exported: the tokens equal those of Transformers, results of a step
// become inputs of the next, and weights are in memory once.
#include "pt2/decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/json.h"
#include "pt2/package.h"
#include "read_file.h"
#include "temporary_folder.h"

namespace pt2 {
namespace {

std::string folder(const std::string& name) {
  return std::string(PT2_TEST_DATA) + "/decoders/" + name;
}

// Returns the recorded calls in tokens.json.
std::vector<JsonValue> calls_of(const std::string& name) {
  return parse_json(test::read_file(folder(name) + "/tokens.json")).value().find("calls")->items;
}
std::vector<int64_t> numbers(const JsonValue& list) {
  std::vector<int64_t> out;
  for (const JsonValue& each : list.items) out.push_back(*each.get_int());
  return out;
}
std::vector<std::vector<int64_t>> rows(const JsonValue& lists) {
  std::vector<std::vector<int64_t>> out;
  for (const JsonValue& each : lists.items) out.push_back(numbers(each));
  return out;
}

// The prompt and the result of a call of model.generate.
struct Expected {
  std::vector<int64_t> prompt, tokens;
};
std::vector<Expected> expected_calls(const std::string& name) {
  std::vector<Expected> out;
  for (const JsonValue& call : calls_of(name))
    out.push_back({numbers(*call.find("prompt")), numbers(*call.find("tokens"))});
  return out;
}
Expected expected(const std::string& name) { return expected_calls(name).at(0); }

std::vector<int64_t> tokens_of(Decoder& decoder, const Expected& wanted,
                               GenerateOptions options = {}) {
  options.stop_ids.emplace();
  if (!options.max_new_tokens) options.max_new_tokens = static_cast<int64_t>(wanted.tokens.size());
  const Result<Generated> found = decoder.generate(wanted.prompt, options);
  EXPECT_TRUE(found) << found.error().text();
  return found ? found->tokens : std::vector<int64_t>();
}

class Folders : public ::testing::TestWithParam<const char*> {};

TEST_P(Folders, GiveTheTokensOfTransformers) {
  const std::vector<Expected> calls = expected_calls(GetParam());
  ASSERT_EQ(calls.size(), 3u);
  for (const EngineKind engine : {EngineKind::planned, EngineKind::reference}) {
    Decoder decoder = Decoder::open(folder(GetParam()), {.engine = engine}).value();
    // No state of one text affects the next one.
    for (const Expected& wanted : calls) EXPECT_EQ(tokens_of(decoder, wanted), wanted.tokens);
    EXPECT_EQ(tokens_of(decoder, calls[0]), calls[0].tokens);
  }
}

TEST_P(Folders, GoOnWhereTheyWere) {
  const Expected wanted = expected(GetParam());
  Decoder decoder = Decoder::open(folder(GetParam())).value();
  ASSERT_TRUE(decoder.feed(wanted.prompt));
  // Feeding five tokens of the answer in one call gives its sixth token.
  const auto logits = decoder.feed(std::span(wanted.tokens).first(5));
  ASSERT_TRUE(logits) << logits.error().text();
  EXPECT_EQ(Sampler(Sampling{}).draw(logits->as<float>()), wanted.tokens[5]);
  EXPECT_EQ(decoder.position(), static_cast<int64_t>(wanted.prompt.size()) + 5);
}

INSTANTIATE_TEST_SUITE_P(Decoder, Folders,
                         ::testing::Values("dynamic", "static", "buffers", "bounded", "counted",
                                           "named", "flat", "window", "mixed", "chunks"));

// What is returned first is a state of each token, not its scores.
TEST(Decoder, RefusesAModelWithoutScores) {
  test::TemporaryFolder copy;
  std::filesystem::copy(folder("encoder") + "/encoder.pt2", copy.file("model.pt2"));
  const auto found = Decoder::open(copy.path());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code, ErrorCode::unsupported);
  EXPECT_NE(found.error().text().find("the first output is 'last_hidden_state'"), std::string::npos)
      << found.error().text();
}

TEST(Decoder, CountsThePromptWhereSettingsBoundBoth) {
  test::TemporaryFolder copy;
  std::filesystem::copy(folder("named") + "/model.pt2", copy.path());
  std::ofstream(copy.file("generation_config.json")) << R"({"max_length": 12})";
  Decoder decoder = Decoder::open(copy.path()).value();
  const std::vector<Expected> calls = expected_calls("named");
  const auto count = [&](const std::vector<int64_t>& prompt) {
    return decoder.generate(prompt, {}).value().tokens.size();
  };
  EXPECT_EQ(count(calls[0].prompt), 4u);   // 8 and 4
  EXPECT_EQ(count(calls[1].prompt), 11u);  // 1 and 11
  // model.generate pads shorter prompts to the longest, and counts the padding.
  const std::vector<std::vector<int64_t>> both = {calls[1].prompt, calls[0].prompt};
  for (const Generated& each : decoder.generate(both).value()) EXPECT_EQ(each.tokens.size(), 4u);
  EXPECT_EQ(tokens_of(decoder, calls[2]), calls[2].tokens);
  const auto too_long = decoder.generate(calls[2].prompt, {});
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().text(),
            "the prompt has 21 tokens, expected fewer than the max_length of the settings, 12; or "
            "give max_new_tokens");
}

TEST(Decoder, AddsToCachesInPlace) {
  const Expected wanted = expected("dynamic");
  Decoder decoder = Decoder::open(folder("dynamic")).value();
  ASSERT_TRUE(decoder.feed(wanted.prompt));
  const uint64_t first = decoder.copied_bytes();  // results of prefill, copied into rooms
  EXPECT_GT(first, 0u);
  for (const int64_t token : wanted.tokens) {
    ASSERT_TRUE(decoder.feed(std::span(&token, 1)));
    EXPECT_EQ(decoder.copied_bytes(), first) << "after " << decoder.position();
  }
}

TEST(Decoder, HasEqualWeightsOnce) {
  const Decoder decoder = Decoder::open(folder("dynamic")).value();
  // prefill.pt2 and decode.pt2 have the same weights, so all bytes of prefill.pt2 are shared.
  const Package prefill = Package::open(folder("dynamic") + "/prefill.pt2").value();
  uint64_t bytes = 0;
  for (const PayloadTensor& each : prefill.payloads().value()->tensors())
    bytes += static_cast<uint64_t>(each.tensor.nbytes());
  EXPECT_EQ(decoder.shared_bytes(), bytes);
}

TEST(Decoder, StopsWhereItIsTold) {
  const Expected wanted = expected("dynamic");
  Decoder decoder = Decoder::open(folder("dynamic")).value();
  const int64_t stop = wanted.tokens[6];
  const auto first = std::ranges::find(wanted.tokens, stop) - wanted.tokens.begin();
  const Generated stopped =
      decoder.generate(wanted.prompt, {.max_new_tokens = 30, .stop_ids = {{stop}}}).value();
  EXPECT_EQ(stopped.reason, StopReason::stop_id);
  EXPECT_EQ(stopped.tokens.size(), static_cast<size_t>(first) + 1);
  EXPECT_EQ(stopped.tokens.back(), stop);

  std::vector<int64_t> told;
  const Generated interrupted = decoder
                                    .generate(wanted.prompt, {.stop_ids = {{}},
                                                              .on_token =
                                                                  [&](int64_t token) {
                                                                    told.push_back(token);
                                                                    return told.size() < 3;
                                                                  }})
                                    .value();
  EXPECT_EQ(interrupted.reason, StopReason::callback);
  EXPECT_EQ(told, interrupted.tokens);
  EXPECT_EQ(told.size(), 3u);
  EXPECT_EQ(tokens_of(decoder, wanted, {.max_new_tokens = 0}).size(), 0u);
}

// The cache is an input of fixed sizes, or in the program's buffers.
TEST(Decoder, FillsAFixedCacheAndNoMore) {
  for (const char* name : {"static", "buffers"}) {
    const Expected wanted = expected(name);
    Decoder decoder = Decoder::open(folder(name)).value();
    const auto found = decoder.generate(wanted.prompt, {.max_new_tokens = 1000, .stop_ids = {{}}});
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->reason, StopReason::cache_full);
    ASSERT_TRUE(decoder.capacity());
    EXPECT_EQ(decoder.position(), *decoder.capacity());
    EXPECT_EQ(static_cast<int64_t>(found->tokens.size() + wanted.prompt.size()),
              *decoder.capacity() + 1);
    const auto more = decoder.feed(std::vector<int64_t>{1});
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code, ErrorCode::limit);
  }
}

TEST(Decoder, DrawsTheSameWithTheSameSeed) {
  const Expected wanted = expected("dynamic");
  Decoder decoder = Decoder::open(folder("dynamic")).value();
  const auto draw = [&](uint64_t seed) {
    return tokens_of(decoder, wanted, {.sampling = Sampling{.temperature = 5, .seed = seed}});
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Decoder, RefusesWhatItCannotUse) {
  Decoder decoder = Decoder::open(folder("dynamic")).value();
  EXPECT_EQ(decoder.feed({}).error().code, ErrorCode::argument);
  for (const int64_t id : {int64_t{1000000}, int64_t{32}, int64_t{-1}}) {
    const auto unknown = decoder.feed(std::vector<int64_t>{3, id});
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().code, ErrorCode::argument);
    EXPECT_EQ(unknown.error().text(), "found token id " + std::to_string(id) +
                                          ", expected 0 to 31: the vocabulary has 32 tokens");
  }
  const std::vector<int64_t> prompt = {3, 4};
  EXPECT_EQ(decoder.generate(prompt, {.sampling = Sampling{.top_p = 0}}).error().code,
            ErrorCode::argument);
  EXPECT_EQ(decoder.generate(prompt, {.max_new_tokens = -1}).error().code, ErrorCode::argument);

  const auto digits = Decoder::open(std::string(PT2_TEST_DATA) + "/corpus/2.15.0/conv_bn_relu.pt2");
  ASSERT_FALSE(digits);
  EXPECT_EQ(digits.error().code, ErrorCode::unsupported) << digits.error().text();
  EXPECT_FALSE(Decoder::open("/nowhere"));
}

// Returns the encoder's inputs in a recorded call.
NamedTensors read_by(const std::string& name, size_t call) {
  NamedTensors out;
  const JsonValue recorded = calls_of(name).at(call);
  for (const auto& [input, texts] : recorded.find("inputs")->members) {
    const std::vector<int64_t> ids = rows(texts).at(0);
    const auto count = static_cast<int64_t>(ids.size());
    out.emplace_back(input, Tensor::from<int64_t>(Dtype::int64, {1, count}, ids));
  }
  return out;
}

TEST(Decoder, LooksAtWhatAnEncoderMade) {
  const std::vector<Expected> calls = expected_calls("encoder");
  for (const EngineKind engine : {EngineKind::planned, EngineKind::reference}) {
    Decoder decoder = Decoder::open(folder("encoder"), {.engine = engine}).value();
    EXPECT_EQ(decoder.given_names(), (std::vector<std::string>{"input_ids", "attention_mask"}));
    for (size_t i = 0; i < calls.size(); ++i) {
      NamedTensors given = read_by("encoder", i);
      if (i == 1) std::erase_if(given, [](const auto& each) { return each.first != "input_ids"; });
      ASSERT_TRUE(decoder.give(given));
      EXPECT_EQ(tokens_of(decoder, calls[i]), calls[i].tokens) << i;
      // The given inputs stay valid for further texts.
      EXPECT_EQ(tokens_of(decoder, calls[i]), calls[i].tokens) << i;
    }
    // The prompt of the second call is only the start token, so an empty prompt gives the same.
    ASSERT_EQ(decoder.settings().start_id, calls[1].prompt.at(0));
    ASSERT_TRUE(decoder.give(read_by("encoder", 1)));
    const auto begun = decoder.generate(std::span<const int64_t>(), {.stop_ids = {{}}});
    EXPECT_EQ(begun->tokens, calls[1].tokens);
  }
}

TEST(Decoder, SaysWhatIsNotGiven) {
  Decoder decoder = Decoder::open(folder("encoder")).value();
  EXPECT_EQ(decoder.feed(std::vector<int64_t>{3}).error().text(),
            "the encoder was given nothing, expected input_ids, attention_mask");
  EXPECT_EQ(decoder.give({{"pixels", Tensor::zeros(Dtype::float32, {1})}}).error().code,
            ErrorCode::argument);
  const auto mask_alone = decoder.give({{"attention_mask", Tensor::zeros(Dtype::int64, {1, 3})}});
  ASSERT_FALSE(mask_alone);
  EXPECT_EQ(mask_alone.error().code, ErrorCode::argument) << mask_alone.error().text();
  Decoder plain = Decoder::open(folder("dynamic")).value();
  EXPECT_TRUE(plain.given_names().empty());
  EXPECT_FALSE(plain.give({{"input_ids", Tensor::zeros(Dtype::int64, {1, 3})}}));
}

TEST(Decoder, ComputesSeveralPrompts) {
  // The program takes one sequence, so prompts are computed one after another.
  const std::vector<Expected> calls = expected_calls("dynamic");
  std::vector<std::vector<int64_t>> prompts;
  for (const Expected& each : calls) prompts.push_back(each.prompt);
  Decoder decoder = Decoder::open(folder("dynamic")).value();
  const auto count = static_cast<int64_t>(calls[0].tokens.size());
  const std::vector<Generated> found =
      decoder.generate(prompts, {.max_new_tokens = count, .stop_ids = {{}}}).value();
  ASSERT_EQ(found.size(), calls.size());
  for (size_t i = 0; i < calls.size(); ++i) EXPECT_EQ(found[i].tokens, calls[i].tokens) << i;

  std::vector<size_t> told;
  const std::vector<Generated> ended = decoder
                                           .generate(prompts, {.max_new_tokens = 3,
                                                               .stop_ids = {{}},
                                                               .on_token_of =
                                                                   [&](size_t prompt, int64_t) {
                                                                     told.push_back(prompt);
                                                                     return told.size() < 4;
                                                                   }})
                                           .value();
  EXPECT_EQ(told, (std::vector<size_t>{0, 0, 0, 1}));
  EXPECT_EQ(ended[0].reason, StopReason::max_new_tokens);
  EXPECT_EQ(ended[1].reason, StopReason::callback);
  EXPECT_EQ(ended[2].reason, StopReason::callback);
  EXPECT_TRUE(ended[2].tokens.empty());
  EXPECT_EQ(decoder.position(), 0);
  EXPECT_TRUE(decoder.generate(std::span<const std::vector<int64_t>>()).value().empty());
}

TEST(Decoder, PutsPaddingBeforeShorterPrompts) {
  // The program takes any number of sequences: prompts of 8, 1 and 21 ids are computed together.
  const std::vector<JsonValue> calls = calls_of("batch");
  ASSERT_EQ(calls.size(), 3u);
  for (const EngineKind engine : {EngineKind::planned, EngineKind::reference}) {
    Decoder decoder = Decoder::open(folder("batch"), {.engine = engine}).value();
    for (const JsonValue& call : calls) {
      const auto prompts = rows(*call.find("prompts")), wanted = rows(*call.find("tokens"));
      // Texts that are computed together receive tokens in turn.
      std::vector<size_t> told;
      const GenerateOptions options{.max_new_tokens = static_cast<int64_t>(wanted[0].size()),
                                    .stop_ids = {{}},
                                    .on_token_of = [&](size_t prompt, int64_t) {
                                      told.push_back(prompt);
                                      return true;
                                    }};
      const std::vector<Generated> found = decoder.generate(prompts, options).value();
      ASSERT_EQ(found.size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(found[i].tokens, wanted[i]) << i;
      EXPECT_EQ(told.at(1), 1u);
      // A prompt alone gives the same tokens.
      EXPECT_EQ(tokens_of(decoder, {prompts[0], wanted[0]}), wanted[0]);
    }
  }
}

// The mask of decode.pt2 has three keys or more, which the second call for one token would not
// have.
TEST(Decoder, PutsPaddingBeforeTooShortAPrompt) {
  const JsonValue call = calls_of("batch").at(0);
  const Expected wanted{rows(*call.find("prompts")).at(1), rows(*call.find("tokens")).at(1)};
  ASSERT_EQ(wanted.prompt.size(), 1u);
  Decoder decoder = Decoder::open(folder("batch")).value();
  EXPECT_EQ(tokens_of(decoder, wanted), wanted.tokens);
}

// A program without position_ids counts learned positions from the first column, so padding would
// move the tokens of shorter prompts. So would one row of positions for all sequences.
TEST(Decoder, DoesNotPadWithoutPositions) {
  for (const char* name : {"learned", "shared"}) {
    Decoder decoder = Decoder::open(folder(name)).value();
    for (const JsonValue& call : calls_of(name)) {
      const auto prompts = rows(*call.find("prompts")), wanted = rows(*call.find("tokens"));
      const auto count = static_cast<int64_t>(wanted[0].size());
      const std::vector<Generated> found =
          decoder.generate(prompts, {.max_new_tokens = count, .stop_ids = {{}}}).value();
      ASSERT_EQ(found.size(), wanted.size()) << name;
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(found[i].tokens, wanted[i]) << name << i;
    }
  }
}

TEST(Decoder, FeedsAllSequencesOfAFixedBatch) {
  Decoder decoder =
      Decoder::open(std::string(PT2_TEST_DATA) + "/hostile/generate-two-sequences.pt2").value();
  const std::vector<int64_t> ids = {3};
  EXPECT_TRUE(decoder.feed(ids));
  ASSERT_TRUE(decoder.give({}));
  EXPECT_TRUE(decoder.feed(ids));
}

TEST(Decoder, TakesAFolderOfOneProgram) {
  test::TemporaryFolder copy;
  std::filesystem::copy(folder("dynamic") + "/decode.pt2", copy.path());
  // Without prefill.pt2, even the prompt is fed one token at a time, starting with an empty cache.
  Decoder decoder = Decoder::open(copy.path()).value();
  const Expected wanted = expected("dynamic");
  EXPECT_EQ(tokens_of(decoder, wanted), wanted.tokens);
}

TEST(Decoder, IsUnchangedAfterAnErrorInALaterCall) {
  test::TemporaryFolder copy;
  std::filesystem::copy(folder("dynamic") + "/decode.pt2", copy.path());
  Decoder decoder = Decoder::open(copy.path()).value();
  const std::vector<int64_t> begun = {3, 4}, wrong = {5, 6, 1000000}, next = {7};
  EXPECT_FALSE(decoder.feed(wrong));
  EXPECT_EQ(decoder.position(), 0);
  ASSERT_TRUE(decoder.feed(begun));
  EXPECT_FALSE(decoder.feed(wrong));
  EXPECT_EQ(decoder.position(), 2);
  const Tensor found = decoder.feed(next).value();
  decoder.reset();
  const Tensor wanted = decoder.feed(std::vector<int64_t>{3, 4, 7}).value();
  for (int64_t i = 0; i < wanted.numel(); ++i)
    EXPECT_EQ(found.data<float>()[i], wanted.data<float>()[i]);
}

// The limit allows memory for the keys but not for the values.
TEST(Decoder, HasNoPartOfACacheAfterAnError) {
  Decoder decoder =
      Decoder::open(folder("static") + "/decode.pt2", {.limits = {.max_tensor_bytes = 3000}})
          .value();
  const std::vector<int64_t> ids = {3};
  for (int call = 0; call < 2; ++call) {
    const auto refused = decoder.feed(ids);
    ASSERT_FALSE(refused) << "call " << call;
    EXPECT_EQ(refused.error().code, ErrorCode::limit);
  }
}

TEST(Decoder, ComputesAllAgainWhereNoInputTakesTheCache) {
  test::TemporaryFolder copy;
  std::filesystem::copy(folder("dynamic") + "/prefill.pt2", copy.path());
  Decoder decoder = Decoder::open(copy.path()).value();
  const Expected wanted = expected("dynamic");
  EXPECT_EQ(tokens_of(decoder, wanted), wanted.tokens);
}

TEST(Decoder, TakesPromptsOfOneToken) {
  Decoder decoder = Decoder::open(folder("dynamic")).value();
  const std::vector<int64_t> prompt = {5, 17};
  const Tensor both = decoder.feed(prompt).value();
  decoder.reset();
  ASSERT_TRUE(decoder.feed(std::span(prompt).first(1)));
  const Tensor second = decoder.feed(std::span(prompt).last(1)).value();
  for (int64_t i = 0; i < both.numel(); ++i)
    EXPECT_NEAR(both.data<float>()[i], second.data<float>()[i], 1e-4);
}

}  // namespace
}  // namespace pt2
