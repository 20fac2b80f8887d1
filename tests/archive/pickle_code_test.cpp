// Which calls Python would make to read a pickle, and which it would not.
#include "archive/pickle/pickle_code.h"

#include <gtest/gtest.h>

namespace pt2 {
namespace {

std::string calls_of(std::string_view pickle) {
  const PickleCode code = find_pickle_code(std::as_bytes(std::span(pickle)), {});
  std::string out;
  for (const ForeignCall& call : code.calls) out += call.text + ";";
  return out + (code.stopped ? "stopped" : "");
}

TEST(PickleCode, IsWhateverIsCalled) {
  using namespace std::string_view_literals;
  EXPECT_EQ(calls_of("\x80\x02"
                     "cos\nsystem\nX\x04\0\0\0true\x85R."sv),
            "os.system('true');");
  EXPECT_EQ(calls_of("(S'true'\nios\nsystem\n."sv), "os.system('true');");
  EXPECT_EQ(calls_of("\x80\x02"
                     "cfunctools\npartial\ncos\nsystem\n\x85\x81)R."sv),
            "what functools.partial makes();");
  EXPECT_EQ(calls_of("\x80\x02"
                     "cm\nModule\nN}\x86"
                     "b."sv),
            "setattr of m.Module(<tuple>);");
  EXPECT_EQ(calls_of("\x80\x02"
                     "cos\nsystem\n)R\xff"sv),
            "os.system();stopped");
}

TEST(PickleCode, IsNotAnObjectOfAClass) {
  using namespace std::string_view_literals;
  EXPECT_EQ(calls_of("\x80\x02"
                     "cmine\nConfig\n)\x81}b."sv),
            "");
  EXPECT_EQ(calls_of("\x80\x02"
                     "ctransformers.modeling_outputs\nBaseModelOutput\nN\x85R."sv),
            "");
  EXPECT_EQ(calls_of("\x80\x02"
                     "ctransformers.utils\nrunOutput\nN\x85R."sv),
            "transformers.utils.runOutput(<none>);");
  // Members of enumerations of torchao; other calls in that package may do anything.
  EXPECT_EQ(calls_of("\x80\x02"
                     "ctorchao.quantization.quant_primitives\nMappingType\nK\x01\x85R."sv),
            "");
  EXPECT_EQ(calls_of("\x80\x02"
                     "ctorchao.utils\nrun\nK\x01\x85R."sv),
            "torchao.utils.run(1);");
  EXPECT_EQ(calls_of("\x80\x02"
                     "ctorchao.x\nMappingType\ncos\nsystem\n\x85R."sv),
            "torchao.x.MappingType(os.system);");
  EXPECT_EQ(calls_of("\x80\x02"
                     "cmine\nMappingType\nK\x01\x85R."sv),
            "mine.MappingType(1);");
  EXPECT_EQ(calls_of("\x80\x02"
                     "ccollections\nOrderedDict\n)R."sv),
            "");
}

}  // namespace
}  // namespace pt2
