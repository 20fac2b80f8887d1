// Operator libraries: valid ones load, and others give the right error.
#include "pt2/ops/plugin.h"

#include <gtest/gtest.h>

namespace pt2 {
namespace {

std::string refusal(const std::string& path, ErrorCode code) {
  CustomOperators operators;
  const Result<void> loaded = load_plugin(path, operators);
  EXPECT_FALSE(loaded) << path;
  EXPECT_TRUE(operators.empty());
  if (loaded) return "";
  EXPECT_EQ(loaded.error().code, code);
  EXPECT_TRUE(loaded.error().where.starts_with(path)) << loaded.error().text();
  return loaded.error().message;
}

const std::string kFolder = PT2_TEST_PLUGINS "/";

TEST(Plugin, AddsItsOperators) {
  CustomOperators operators;
  const Result<void> loaded = load_plugin(kFolder + "corpus_operators.so", operators);
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_EQ(operators.targets(),
            (std::vector<std::string>{
                "torch.ops.corpus.add_into.default", "torch.ops.corpus.parts.default",
                "torch.ops.corpus.scale_shift.default", "torch.ops.corpus_effect.note.default"}));
  const Result<void> again = load_plugin(kFolder + "corpus_operators.so", operators);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().message.find("registered twice"), std::string::npos);
}

TEST(Plugin, SaysWhatIsWrong) {
  EXPECT_EQ(refusal("nowhere/libmine.so", ErrorCode::io), "No such file or directory");
  EXPECT_NE(refusal(PT2_TEST_DATA "/README.md", ErrorCode::malformed)
                .find("cannot be loaded as a library: "),
            std::string::npos);
  EXPECT_EQ(refusal(kFolder + "no_plugin.so", ErrorCode::malformed),
            "is not a plug-in: it has no PT2_PLUGIN (docs/custom-operators.md)");
  EXPECT_TRUE(refusal(kFolder + "wrong_version.so", ErrorCode::unsupported)
                  .starts_with("was built for plug-in interface 9999."));
  EXPECT_NE(refusal(kFolder + "bad_signature.so", ErrorCode::argument)
                .find("found a type that is not supported here"),
            std::string::npos);
}

}  // namespace
}  // namespace pt2
