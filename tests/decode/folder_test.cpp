// Valid and invalid manifests and settings of exported folders.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "decode/exported_folder.h"
#include "pt2/decoder.h"
#include "temporary_folder.h"

namespace pt2::decode {
namespace {

class Folder : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::ofstream(path(name)) << text;
  }
  std::string path(const std::string& name) const { return folder_.file(name); }
  Result<ExportedFolder> read() { return read_exported_folder(folder_.path()); }
  std::string error() {
    const auto found = read();
    return found ? "no error" : found.error().text();
  }

  test::TemporaryFolder folder_;
};

constexpr const char* kManifest =
    R"({"schema_version": 1, "export_format": "dynamo", "components": {
  "prefill": {"file": "prefill.pt2", "metadata": {"architecture": "LlamaForCausalLM"}},
  "decode": {"file": "decode.pt2", "metadata": {}}}})";

TEST_F(Folder, HasTheProgramsOfItsManifest) {
  write("export.json", kManifest);
  write("other.pt2", "");
  const ExportedFolder found = read().value();
  ASSERT_EQ(found.programs.size(), 2u);
  EXPECT_EQ(found.programs[0].name, "prefill");
  EXPECT_EQ(found.programs[0].path, path("prefill.pt2"));
  EXPECT_EQ(found.programs[0].architecture, "LlamaForCausalLM");
  EXPECT_EQ(found.programs[1].architecture, "");
}

// A manifest may name one file thousands of times.
TEST_F(Folder, OfManyProgramsIsRefusedBeforeTheyAreOpened) {
  write("export.json", R"({"export_format": "dynamo", "components": {"a": {"file": "x.pt2"},
      "b": {"file": "x.pt2"}, "c": {"file": "x.pt2"}, "d": {"file": "x.pt2"}}})");
  const Result<Decoder> decoder = Decoder::open(folder_.path());
  ASSERT_FALSE(decoder);
  EXPECT_EQ(decoder.error().code, ErrorCode::unsupported);
  EXPECT_EQ(decoder.error().where, folder_.path());
  EXPECT_NE(decoder.error().message.find("found a, b, c, d"), std::string::npos);
}

// Nobody may ever write to a pipe.
TEST_F(Folder, MayHoldPipes) {
  ASSERT_EQ(mkfifo(path("a.pt2").c_str(), 0600), 0);
  EXPECT_NE(error().find("found no program in the folder"), std::string::npos);
  write("export.json", R"({"export_format": "dynamo", "components": {"a": {"file": "a.pt2"}}})");
  EXPECT_NE(error().find(".components.a.file: found a folder, pipe or device"), std::string::npos);
  ASSERT_EQ(mkfifo(path("config.json").c_str(), 0600), 0);
  std::filesystem::remove(path("export.json"));
  std::filesystem::remove(path("a.pt2"));
  write("a.pt2", "");
  EXPECT_NE(error().find("config.json: found a folder, pipe or device"), std::string::npos);
}

TEST_F(Folder, HasItsFilesWithoutAManifest) {
  write("b.pt2", "");
  write("a.pt2", "");
  write("c.txt", "");
  const ExportedFolder found = read().value();
  ASSERT_EQ(found.programs.size(), 2u);
  EXPECT_EQ(found.programs[0].name, "a");
}

TEST_F(Folder, ReadsSettings) {
  write("a.pt2", "");
  write(
      "generation_config.json",
      R"({"do_sample": true, "temperature": 0.7, "top_k": null, "top_p": 0.9, "eos_token_id": [2, 7],
            "max_new_tokens": 5, "max_length": 20, "num_beams": 4, "repetition_penalty": 1.0, "bad_words_ids": [[1]]})");
  write("config.json", R"({"model_type": "mistral", "sliding_window": 16})");
  const ExportedFolder found = read().value();
  EXPECT_EQ(found.settings.sampling.temperature, 0.7);
  EXPECT_EQ(found.settings.sampling.top_k, 50);
  EXPECT_EQ(found.settings.sampling.top_p, 0.9);
  EXPECT_EQ(found.settings.stop_ids, (std::vector<int64_t>{2, 7}));
  EXPECT_EQ(found.settings.max_new_tokens, 5);
  EXPECT_EQ(found.settings.max_length, 20);
  EXPECT_EQ(found.settings.ignored, (std::vector<std::string>{"num_beams", "bad_words_ids"}));
  EXPECT_EQ(found.model_type, "mistral");
  EXPECT_EQ(found.sliding_window, 16);
}

TEST_F(Folder, NamesSettingsThatItDoesNotFollow) {
  write("a.pt2", "");
  write("generation_config.json",
        R"({"num_return_sequences": 2, "encoder_no_repeat_ngram_size": 3, "top_h": 0.4,
            "exponential_decay_length_penalty": [2, 1.5], "watermarking_config": {"bias": 9.0}})");
  EXPECT_EQ(read().value().settings.ignored,
            (std::vector<std::string>{"encoder_no_repeat_ngram_size", "num_return_sequences",
                                      "exponential_decay_length_penalty", "watermarking_config",
                                      "top_h"}));
  write("generation_config.json",
        R"({"num_return_sequences": 1, "encoder_no_repeat_ngram_size": 0, "top_h": null})");
  EXPECT_TRUE(read().value().settings.ignored.empty());
}

// As model.generate without a prompt.
TEST_F(Folder, SaysWhatTextsBeginWith) {
  write("a.pt2", "");
  EXPECT_EQ(read().value().settings.start_id, std::nullopt);
  write("config.json", R"({"bos_token_id": 1})");
  EXPECT_EQ(read().value().settings.start_id, 1);
  write("generation_config.json", R"({"bos_token_id": 2})");
  EXPECT_EQ(read().value().settings.start_id, 2);
  write("generation_config.json", R"({"bos_token_id": 2, "decoder_start_token_id": 3})");
  EXPECT_EQ(read().value().settings.start_id, 3);
}

TEST_F(Folder, IsGreedyUnlessItSamples) {
  write("a.pt2", "");
  write("generation_config.json", R"({"temperature": 0.7, "eos_token_id": 2})");
  const ExportedFolder found = read().value();
  EXPECT_EQ(found.settings.sampling.temperature, 0);
  EXPECT_EQ(found.settings.stop_ids, (std::vector<int64_t>{2}));
}

TEST_F(Folder, NamesNoFileOutsideOfIt) {
  for (const char* file : {"../a.pt2", "/etc/passwd", "..", "", "a/b.pt2", "c:a.pt2"}) {
    write("export.json",
          std::string(R"({"export_format": "dynamo", "components": {"model": {"file": ")") + file +
              "\"}}}");
    EXPECT_NE(error().find("expected a file of the folder"), std::string::npos) << file;
  }
}

TEST_F(Folder, SaysWhatIsWrong) {
  EXPECT_NE(error().find("found no program in the folder"), std::string::npos);
  write("export.json", R"({"export_format": "onnx", "components": {}})");
  EXPECT_NE(error().find("found programs of the format 'onnx'"), std::string::npos);
  write("export.json", R"({"export_format": "dynamo", "components": [1]})");
  EXPECT_NE(error().find("no object 'components'"), std::string::npos);
  write("export.json", R"({"export_format": "dynamo", "components": {"a": 3}})");
  EXPECT_NE(error().find("expected a file of the folder"), std::string::npos);
  write("export.json", "[]");
  EXPECT_NE(error().find("expected an object"), std::string::npos);
  write("export.json", "{");
  EXPECT_NE(error().find("export.json"), std::string::npos);
  write("export.json", kManifest);
  write("generation_config.json", R"({"eos_token_id": [1, "x"]})");
  EXPECT_NE(error().find("eos_token_id"), std::string::npos);
}

}  // namespace
}  // namespace pt2::decode
