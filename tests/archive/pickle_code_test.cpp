// The calls that Python would make to read a pickle.
#include "archive/pickle/pickle_code.h"

#include <gtest/gtest.h>

#include "base/memory_account.h"

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
  // Members of torchao's enumerations are harmless; other calls of that package may do anything.
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

// Returns the pickle of a storage as pickle.dumps writes that of a generator's state. `storage` is
// the inner pickle that makes the storage.
std::string pickled_storage(const std::string& storage, const std::string& magic =
                                                            "l\xfc\x9c"
                                                            "F\xf9 j\xa8P\x19") {
  using namespace std::string_literals;
  const std::string file = "\x80\x02\x8a\x0a" + magic + ".\x80\x02M\xe9\x03.\x80\x02}." + storage +
                           "\x80\x02]X\x01\0\0\0"s + "0a.\x02\0\0\0\0\0\0\0\x05\x06"s;
  return "ctorch.storage\n_load_from_bytes\nB" +
         std::string(1, static_cast<char>(file.size() & 255)) +
         std::string(1, static_cast<char>(file.size() >> 8)) + "\0\0"s + file + "\x85R";
}

TEST(PickleCode, IsNotAStorageInsideThePickle) {
  using namespace std::string_literals;
  const std::string storage =
      "\x80\x02(X\x07\0\0\0storagectorch\nByteStorage\nX\x01\0\0\0"s + "0X\x03\0\0\0cpuK\x02NtQ."s;
  EXPECT_EQ(calls_of("\x80\x02" + pickled_storage(storage) + "."), "");
  const std::string file = "torch.storage._load_from_bytes(<bytes>);";
  EXPECT_EQ(calls_of("\x80\x02" + pickled_storage("\x80\x02N.") + "."), file);
  EXPECT_EQ(calls_of("\x80\x02" + pickled_storage("cos\nsystem\n)R.") + "."),
            "os.system();" + file);
  EXPECT_EQ(calls_of("\x80\x02" + pickled_storage("cos\nsystem\n)R0" + storage) + "."),
            "os.system();");
  EXPECT_EQ(calls_of("\x80\x02" + pickled_storage(storage, "another") + "."), file);
  EXPECT_EQ(
      calls_of("\x80\x02" + pickled_storage(pickled_storage("\x80\x02N.") + "0" + storage) + "."),
      file);
  EXPECT_EQ(calls_of("\x80\x02" + pickled_storage(storage.substr(0, storage.size() - 2)) + "."),
            file);
}

TEST(PickleCode, IsTheFirstFewCalls) {
  using namespace std::string_literals;
  const std::string call = "cos\nsystem\n)R0";
  const std::string storage =
      "\x80\x02(X\x07\0\0\0storagectorch\nByteStorage\nX\x01\0\0\0"s + "0X\x03\0\0\0cpuK\x02NtQ."s;
  std::string pickle = "\x80\x02";
  for (int i = 0; i < 9; ++i) pickle += call;
  pickle += pickled_storage(call + call + storage) + "0" + call + call + "N.";
  EXPECT_EQ(find_pickle_code(std::as_bytes(std::span(pickle)), {}).calls.size(), 10u);
}

TEST(PickleCode, StorageInsideThePickleIsRead) {
  using namespace std::string_literals;
  const std::string storage =
      "\x80\x02(X\x07\0\0\0storagectorch\nByteStorage\nX\x01\0\0\0"s + "0X\x03\0\0\0cpuK\x02NtQ."s;
  const auto read = [&](const std::string& sizes) {
    const std::string pickle =
        "\x80\x02"
        "ctorch._utils\n_rebuild_tensor_v2\n(" +
        pickled_storage(storage) + "K\0"s + sizes + "K\x01\x85\x89}tR.";
    return read_pickle(std::as_bytes(std::span(pickle)), PickleMode::strict, {});
  };
  const auto pickle = read("K\x02\x85");
  ASSERT_TRUE(pickle) << pickle.error().message;
  const Tensor& tensor = pickle->root().tensor().tensor;
  ASSERT_EQ(tensor.type_text(), "u8[2]");
  EXPECT_EQ(tensor.data<uint8_t>()[1], 6);
  EXPECT_FALSE(read("K\x03\x85"));
}

TEST(PickleCode, NamesOfStoragesInsideThePickleShareTheBytes) {
  using namespace std::string_literals;
  std::string storages = "\x80\x02";
  for (int i = 1; i <= 100; ++i)
    storages += (i > 1 ? "0" : "") + "(X\x07\0\0\0storagectorch\nByteStorage\nX\x01\0\0\0"s +
                static_cast<char>(i) + "X\x03\0\0\0cpuK\x02NtQ"s;
  const std::string pickle = "\x80\x02" + pickled_storage(storages + ".") + ".";
  const auto account = std::make_shared<MemoryAccount>(4096);
  const MemoryAccount::Scope scope(account);
  EXPECT_TRUE(read_pickle(std::as_bytes(std::span(pickle)), PickleMode::strict, {}));
}

}  // namespace
}  // namespace pt2
