// The C interface: calls every function from C99 (every_function.c), then tests threads, reentrant
// calls and hostile arguments.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "c/dlpack_abi.h"
#include "c/every_function.h"
#include "c/random_calls.h"
#include "pt2/c/pt2.h"
#include "pt2/ir/builder.h"
#include "pt2/save.h"
#include "temporary_folder.h"

namespace pt2 {
namespace {

const std::string kData = std::string(PT2_TEST_DATA) + "/";
const std::string kModels = kData + "corpus/2.15.0/";

// Returns the text of an error and frees it; empty for success.
std::string text_of(pt2_error* error) {
  std::string text = error == nullptr ? "" : pt2_error_text(error, nullptr);
  pt2_error_free(error);
  return text;
}

pt2_model* load(const std::string& name) {
  const std::string path = kModels + name + ".pt2";
  pt2_model* model = nullptr;
  EXPECT_EQ(text_of(pt2_model_load(path.data(), path.size(), nullptr, &model)), "");
  return model;
}

TEST(CInterface, EveryFunctionServesC99) {
  const test::TemporaryFolder scratch;
  const char* failed = pt2_call_every_function((kData + "../../examples/").c_str(), kData.c_str(),
                                               (scratch.path() + "/").c_str());
  EXPECT_EQ(failed, nullptr) << failed;
}

TEST(CInterface, AnswersEveryCall) {
  const test::RandomCalls calls = test::make_random_calls(1, 20'000, kModels);
  EXPECT_GT(calls.succeeded, 1000u);
  EXPECT_GT(calls.failed, 1000u);
}

TEST(CInterface, OptionsOfANewerVersionAreRefusedUnlessUnused) {
  struct Newer {
    pt2_load_options known;
    uint64_t later;
  } options{};
  options.known.size = sizeof(options);
  const std::string path = kModels + "mlp.pt2";
  pt2_package* package = nullptr;
  EXPECT_EQ(text_of(pt2_package_open(path.data(), path.size(), &options.known, &package)), "");
  pt2_package_free(package);
  options.later = 1;
  EXPECT_EQ(text_of(pt2_package_open(path.data(), path.size(), &options.known, &package)),
            "the options have members that this version does not know");
  options.known.size = 0;
  EXPECT_EQ(text_of(pt2_package_open(path.data(), path.size(), &options.known, &package)),
            "found options of 0 bytes; begin with PT2_INIT");
}

// Programs compiled with an older header give smaller structs. The first version of
// pt2_generate_options ended before `token_of`.
TEST(CInterface, OptionsOfAnOlderVersionAreAccepted) {
  const std::string path = kData + "decoders/dynamic";
  pt2_decoder* decoder = nullptr;
  ASSERT_EQ(text_of(pt2_decoder_open(path.data(), path.size(), nullptr, &decoder)), "");
  pt2_generate_options known{.max_new_tokens = 2, .has_sampling = 1};
  constexpr size_t kFirst = offsetof(pt2_generate_options, token_of);
  const int64_t prompt[] = {5, 17, 3};
  const auto generate = [&](size_t size) {
    known.size = size;
    // A block of its own, so that a sanitizer notices if more is read.
    std::vector<char> given(size);
    std::memcpy(given.data(), &known, std::min(size, sizeof(known)));
    pt2_value* tokens = nullptr;
    std::string refusal = text_of(pt2_decoder_generate(
        decoder, prompt, 3, reinterpret_cast<const pt2_generate_options*>(given.data()), nullptr,
        &tokens, nullptr));
    pt2_value_free(tokens);
    return refusal;
  };
  EXPECT_EQ(generate(sizeof(known)), "");
  EXPECT_EQ(generate(kFirst), "");
  EXPECT_EQ(
      generate(kFirst - sizeof(void*)),
      "found options of " + std::to_string(kFirst - sizeof(void*)) + " bytes; begin with PT2_INIT");
  EXPECT_EQ(generate(kFirst + 1),
            "found options of " + std::to_string(kFirst + 1) + " bytes; begin with PT2_INIT");
  pt2_decoder_free(decoder);
}

TEST(CInterface, ErrorsSayWhere) {
  pt2_model* model = load("mlp");
  pt2_session* session = nullptr;
  ASSERT_EQ(text_of(pt2_session_create(model, nullptr, &session)), "");
  pt2_value* wrong = nullptr;
  ASSERT_EQ(text_of(pt2_value_int(3, &wrong)), "");
  std::vector<const pt2_value*> inputs(pt2_model_input_count(model), wrong);
  std::vector<pt2_value*> outputs(pt2_model_output_count(model));
  pt2_error* error = pt2_session_run(session, inputs.data(), inputs.size(), nullptr, outputs.data(),
                                     outputs.size());
  EXPECT_EQ(pt2_error_code(error), PT2_ARGUMENT);
  EXPECT_TRUE(std::string(pt2_error_place(error, nullptr)).starts_with("input '"))
      << pt2_error_text(error, nullptr);
  pt2_error_free(error);
  pt2_value_free(wrong);
  pt2_session_free(session);
  pt2_model_free(model);
}

struct Reentry {
  pt2_session* session;
  std::string refusal;
};

TEST(CInterface, ASessionNoticesASecondCall) {
  pt2_model* model = load("mlp");
  pt2_session* session = nullptr;
  ASSERT_EQ(text_of(pt2_session_create(model, nullptr, &session)), "");
  pt2_model_free(model);  // the session keeps the model alive
  Reentry reentry{session, ""};
  const auto observe = [](const pt2_observed*, void* user) -> pt2_error* {
    auto* seen = static_cast<Reentry*>(user);
    seen->refusal = text_of(pt2_session_seed(seen->session, 1));
    return pt2_error_create(PT2_UNSUPPORTED, "enough", 6);
  };
  ASSERT_EQ(text_of(pt2_session_observe(session, observe, &reentry)), "");
  std::vector<float> numbers(1000, 0.5f);
  pt2_value* input = nullptr;
  const int64_t sizes[] = {2, 8};
  const pt2_tensor_view view{numbers.data(), sizes, nullptr, 2, {2, 32}, 1};
  ASSERT_EQ(text_of(pt2_value_borrow(&view, nullptr, nullptr, &input)), "");
  pt2_value* output = nullptr;
  pt2_error* error = pt2_session_run(session, &input, 1, nullptr, &output, 1);
  if (pt2_error_code(error) != PT2_ARGUMENT) {  // the input's sizes were accepted
    EXPECT_EQ(reentry.refusal, "the session is used by another call");
    EXPECT_EQ(pt2_error_code(error), PT2_UNSUPPORTED);
  } else {
    ADD_FAILURE() << pt2_error_text(error, nullptr);
  }
  pt2_error_free(error);
  pt2_value_free(input);
  pt2_session_free(session);
}

TEST(CInterface, ThreadsShareAModel) {
  pt2_model* model = load("mlp");
  std::atomic<int> failures = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      pt2_session* session = nullptr;
      if (pt2_session_create(model, nullptr, &session) != nullptr) return void(++failures);
      for (int run = 0; run < 20; ++run) {
        std::vector<float> numbers(16, 0.5f);
        const int64_t sizes[] = {2, 8};
        const pt2_tensor_view view{numbers.data(), sizes, nullptr, 2, {2, 32}, 1};
        pt2_value *input = nullptr, *output = nullptr;
        failures += !text_of(pt2_value_borrow(&view, nullptr, nullptr, &input)).empty();
        failures += !text_of(pt2_session_run(session, &input, 1, nullptr, &output, 1)).empty();
        pt2_value_free(input);
        pt2_value_free(output);
      }
      pt2_session_free(session);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  pt2_model_free(model);
}

// Errors quote names of files and of their parts, which may contain control characters.
TEST(CInterface, ErrorsHoldNoControlCharacters) {
  const std::string path = "no\x1b[2Jsuch\nfile.pt2";
  pt2_package* package = nullptr;
  const std::string text = text_of(pt2_package_open(path.data(), path.size(), nullptr, &package));
  EXPECT_NE(text.find("no\\x1b[2Jsuch\\x0afile.pt2"), std::string::npos) << text;
  const std::string made = text_of(pt2_error_create(PT2_INVALID, "\r\x07", 2));
  EXPECT_EQ(made, "\\x0d\\x07");
}

TEST(CInterface, DlpackTensorsWithoutAShapeAreRefused) {
  DLManagedTensorVersioned tensor{.version = {1, 0}};
  tensor.dl_tensor = {.device = {c::kDlpackCpu, 0}, .ndim = 2, .dtype = {2, 32, 1}};
  pt2_value* value = nullptr;
  EXPECT_EQ(text_of(pt2_value_from_dlpack(&tensor, &value)), "'shape' is NULL");
}

// The system would cut a path at its first zero byte.
TEST(CInterface, PathsHoldNoZeros) {
  const test::TemporaryFolder scratch;
  const std::string refusal = "found no path of a file";
  const std::string folder = kData + "decoders/dynamic" + std::string("\0x", 2);
  pt2_decoder* decoder = nullptr;
  EXPECT_EQ(text_of(pt2_decoder_open(folder.data(), folder.size(), nullptr, &decoder)), refusal);
  const std::string traced = scratch.path() + "/trace.npz" + std::string("\0x.npz", 6);
  pt2_model* model = load("mlp");
  pt2_session* session = nullptr;
  ASSERT_EQ(text_of(pt2_session_create(model, nullptr, &session)), "");
  pt2_value* input = nullptr;
  ASSERT_EQ(text_of(pt2_value_int(1, &input)), "");
  EXPECT_EQ(text_of(pt2_session_trace(session, &input, 1, traced.data(), traced.size())), refusal);
  pt2_value_free(input);
  pt2_session_free(session);
  pt2_model_free(model);
}

TEST(CInterface, ALossThatIsMissingIsNoBlocker) {
  const std::string path = kModels + "mlp.pt2";
  pt2_package* package = nullptr;
  pt2_conversion* conversion = nullptr;
  ASSERT_EQ(text_of(pt2_package_open(path.data(), path.size(), nullptr, &package)), "");
  ASSERT_EQ(text_of(pt2_convert(package, nullptr, 0, nullptr, 0, &conversion)), "");
  pt2_blocker blocker = PT2_INIT(pt2_blocker);
  EXPECT_EQ(text_of(pt2_conversion_get_loss(conversion, 9, &blocker)), "there is no loss 9");
  EXPECT_EQ(text_of(pt2_conversion_get_blocker(conversion, 9, &blocker)), "there is no blocker 9");
  pt2_conversion_free(conversion);
  pt2_package_free(package);
}

TEST(CInterface, ConversionsKeepTheLimitsOfThePackage) {
  const std::string path = kData + "hostile/convert-guard-of-large-size.pt2";
  const std::string limits = "max_new_nodes=1", release = "torch-2.6";
  pt2_load_options options = PT2_INIT(pt2_load_options);
  options.limits = limits.data();
  options.limits_length = limits.size();
  pt2_package* package = nullptr;
  ASSERT_EQ(text_of(pt2_package_open(path.data(), path.size(), &options, &package)), "");
  pt2_conversion* conversion = nullptr;
  pt2_error* error = pt2_convert(package, release.data(), release.size(), nullptr, 0, &conversion);
  EXPECT_EQ(pt2_error_code(error), PT2_LIMIT);
  pt2_error_free(error);
  pt2_package_free(package);
}

TEST(CInterface, ListsDoNotGrowWithoutEnd) {
  pt2_value* value = nullptr;
  ASSERT_EQ(text_of(pt2_value_int(1, &value)), "");
  std::string refusal;
  for (int i = 0; i < 64 && refusal.empty(); ++i) {
    const pt2_value* twice[] = {value, value};
    pt2_value* list = nullptr;
    refusal = text_of(pt2_value_list(twice, 2, &list));
    if (list != nullptr) std::swap(list, value);
    pt2_value_free(list);
  }
  pt2_value_free(value);
  EXPECT_EQ(refusal, "found a list of too many lists");
}

// Results and states share the session's memory, so a caller may pass a view of it as the new
// state.
TEST(CInterface, AStateMayBecomeAViewOfItself) {
  ProgramBuilder builder;
  const TensorMeta meta = builder.tensor(Dtype::float32, {3, 3});
  const ValueId square = builder.buffer("square", meta), x = builder.input("x", meta);
  builder.output(
      builder.call("torch.ops.aten.add.Tensor", {arg("self", x), arg("other", square)}, meta));
  PackageContents contents;
  contents.programs.resize(1);
  contents.programs[0].json = program_json(std::move(builder).finish().value());
  const Tensor numbers = Tensor::of<float>({3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8});
  contents.programs[0].state_dict = std::vector<SavedTensor>{{.name = "square", .tensor = numbers}};
  const test::TemporaryFolder folder;
  const std::string path = folder.file("square.pt2");
  ASSERT_TRUE(save_package(contents, path));
  pt2_model* model = nullptr;
  pt2_session* session = nullptr;
  ASSERT_EQ(text_of(pt2_model_load(path.data(), path.size(), nullptr, &model)), "");
  ASSERT_EQ(text_of(pt2_session_create(model, nullptr, &session)), "");
  const int64_t turned[] = {1, 3};
  const std::vector<float> columns{0, 3, 6, 1, 4, 7, 2, 5, 8}, rows{0, 1, 2, 3, 4, 5, 6, 7, 8};
  // The first call gives the session a copy of the model's weight.
  for (const std::vector<float>& expected : {columns, rows, columns}) {
    pt2_value* state = nullptr;
    pt2_tensor_view view{};
    ASSERT_EQ(text_of(pt2_session_get_state(session, "square", 6, &state)), "");
    ASSERT_EQ(text_of(pt2_value_get_tensor(state, &view)), "");
    view.strides = turned;
    EXPECT_EQ(text_of(pt2_session_set_state(session, "square", 6, &view)), "");
    pt2_value_free(state);
    ASSERT_EQ(text_of(pt2_session_get_state(session, "square", 6, &state)), "");
    ASSERT_EQ(text_of(pt2_value_get_tensor(state, &view)), "");
    const auto* found = static_cast<const float*>(view.data);
    EXPECT_EQ(std::vector<float>(found, found + 9), expected);
    pt2_value_free(state);
  }
  pt2_session_free(session);
  pt2_model_free(model);
}

}  // namespace
}  // namespace pt2
