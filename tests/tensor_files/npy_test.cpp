#include "pt2/format/npy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <complex>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "pt2/format/pickle_write.h"
#include "pt2/tensor_file.h"
#include "temporary_folder.h"

namespace pt2 {
namespace {

std::string data_file(std::string_view name) {
  return std::string(PT2_TEST_DATA "/tensor_files/").append(name);
}

Record file_record(std::string_view name) { return map_file(data_file(name)).value(); }

template <class T>
std::vector<T> elements(const Tensor& tensor) {
  const Tensor copy = tensor.contiguous();
  return {copy.as<T>().begin(), copy.as<T>().end()};
}

template <class T>
std::vector<T> count_up(size_t count) {
  std::vector<T> numbers(count);
  std::iota(numbers.begin(), numbers.end(), T(0));
  return numbers;
}

std::string written(const Tensor& tensor) {
  StringSink sink;
  EXPECT_TRUE(write_npy(tensor, sink));
  return sink.take();
}

// Returns a .npy file of version 1 with the given header.
Record npy_with_header(std::string header, std::string_view elements = "") {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += {static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  return make_record(bytes + header + std::string(elements));
}

TEST(Npy, ReadsEveryVersionAndWritesTheBytesOfNumpy) {
  for (const char* name : {"version1.npy", "version2.npy", "version3.npy"}) {
    const Tensor tensor = read_npy(file_record(name)).value();
    EXPECT_EQ(tensor.type_text(), "f32[2, 3]") << name;
    EXPECT_EQ(elements<float>(tensor), count_up<float>(6)) << name;
    EXPECT_EQ(written(tensor), file_record("version1.npy").text()) << name;
  }
  for (const char* name : {"scalar.npy", "vector.npy", "empty.npy", "bool.npy"})
    EXPECT_EQ(written(read_npy(file_record(name)).value()), file_record(name).text()) << name;
}

TEST(Npy, ElementsStayInTheFile) {
  const Record record = file_record("version1.npy");
  const Tensor tensor = read_npy(record).value();
  EXPECT_EQ(tensor.raw_data(), record.bytes.data() + 128);
  EXPECT_TRUE(tensor.storage()->is_read_only());
}

TEST(Npy, FortranOrderBecomesStrides) {
  const Tensor tensor = read_npy(file_record("fortran.npy")).value();
  EXPECT_EQ(tensor.sizes(), (Sizes{2, 3}));
  EXPECT_EQ(tensor.strides(), (Sizes{1, 2}));
  EXPECT_EQ(elements<double>(tensor), count_up<double>(6));
}

TEST(Npy, BigEndianElementsAreSwapped) {
  EXPECT_EQ(elements<int32_t>(read_npy(file_record("big_endian.npy")).value()),
            count_up<int32_t>(6));
  const Tensor complex = read_npy(file_record("big_endian_complex.npy")).value();
  EXPECT_EQ(complex.type_text(), "c64[2, 3]");
  EXPECT_EQ(complex.as<std::complex<float>>()[5], std::complex<float>(5, 0));
}

// numpy.load reads a descriptor without a byte order, and '?'. ml_dtypes writes '<V2' and '<f1'.
TEST(Npy, ReadsOtherDescriptors) {
  const std::pair<const char*, const char*> cases[] = {
      {"f2", "f16[2]"}, {"i2", "i16[2]"},   {"|u2", "u16[2]"},   {"u1", "u8[4]"},
      {"?", "bool[4]"}, {"<V2", "bf16[2]"}, {"<f1", "f8e5m2[4]"}};
  for (const auto& [descriptor, type] : cases) {
    const std::string header = std::string("{'descr': '") + descriptor +
                               "', 'fortran_order': False, 'shape': (" +
                               (std::string(type).ends_with("[2]") ? "2" : "4") + ",)}";
    const Result<Tensor> tensor =
        read_npy(npy_with_header(header, std::string_view("\x01\x00\x01\x00", 4)));
    ASSERT_TRUE(tensor) << descriptor << ": " << tensor.error().text();
    EXPECT_EQ(tensor->type_text(), type);
  }
  const Tensor bfloat16 = read_npy(file_record("ml_dtypes_bfloat16.npy")).value();
  EXPECT_EQ(bfloat16.type_text(), "bf16[3]");
  for (const char* unknown : {"|V2", "<V1", "x2", ""})
    EXPECT_EQ(read_npy(npy_with_header(std::string("{'descr': '") + unknown +
                                           "', 'fortran_order': False, 'shape': (1,)}",
                                       "ab"))
                  .error()
                  .code,
              ErrorCode::unsupported)
        << unknown;
}

TEST(Npy, RefusesWhatTorchHasNoDtypeFor) {
  const std::pair<const char*, const char*> cases[] = {
      {"structured.npy", ".npy arrays of structures are not supported"},
      {"object.npy", ".npy arrays of dtype '|O' are not supported"},
      {"unicode.npy", ".npy arrays of dtype '<U2' are not supported"},
      {"long_double.npy", ".npy arrays of dtype '<f16' are not supported"}};
  for (const auto& [name, message] : cases) {
    const Result<Tensor> tensor = read_npy(file_record(name));
    ASSERT_FALSE(tensor) << name;
    EXPECT_EQ(tensor.error().code, ErrorCode::unsupported) << name;
    EXPECT_EQ(tensor.error().message, message);
  }
  StringSink sink;
  const Result<void> bfloat16 = write_npy(Tensor::zeros(Dtype::bfloat16, {2}), sink);
  ASSERT_FALSE(bfloat16);
  EXPECT_EQ(bfloat16.error().message,
            "NumPy has no dtype bfloat16; write a .safetensors file instead");
}

TEST(Npy, DamagedHeadersAreRefused) {
  struct Case {
    std::string header;
    ErrorCode code;
    std::string message;
  };
  const std::string good = "{'descr': '|u1', 'fortran_order': False, 'shape': ";
  const Case cases[] = {
      {good + "(4,), }", ErrorCode::corrupt, "found 2 bytes of elements, the .npy header says 4"},
      {good + "(1,), }", ErrorCode::corrupt, "found 2 bytes of elements, the .npy header says 1"},
      {good + "(-1,), }", ErrorCode::malformed,
       ".npy header: found '-1,), }', expected a size below 2^63"},
      {good + "(9223372036854775807, 2), }", ErrorCode::invalid,
       ".npy header: the number of elements exceeds 64 bits"},
      {good + "(9223372036854775808,), }", ErrorCode::malformed,
       ".npy header: found ',), }', expected a size below 2^63"},
      {"{'descr': '|u1', 'shape': (2,)}", ErrorCode::malformed,
       ".npy header: found no 'fortran_order'"},
      {"{'shape': (2,), 'shape': (2,)}", ErrorCode::malformed, ".npy header: 'shape' occurs twice"},
      {"{'order': 1}", ErrorCode::malformed, ".npy header: unknown key 'order'"},
      {"{'descr", ErrorCode::malformed, ".npy header: found ''descr', expected a string"},
      {"", ErrorCode::malformed, ".npy header: found the end, expected '{'"},
      {good + "(2,)} os", ErrorCode::malformed, ".npy header: found 'os', expected the end"},
  };
  for (const Case& each : cases) {
    const Result<Tensor> tensor = read_npy(npy_with_header(each.header, "ab"));
    ASSERT_FALSE(tensor) << each.header;
    EXPECT_EQ(tensor.error().message, each.message) << each.header;
    EXPECT_EQ(tensor.error().code, each.code) << each.header;
  }
  EXPECT_EQ(read_npy(make_record("\x93NUMPY\x01")).error().code, ErrorCode::unsupported);
  EXPECT_EQ(read_npy(make_record("\x93NUMPY\x04")).error().message,
            ".npy version 4 is not supported");
  EXPECT_EQ(read_npy(make_record(std::string("\x93NUMPY\x01\x00\xff\xff{", 11))).error().message,
            "the file ends inside the .npy header");
}

TEST(Npy, TooManyDimensionsAreRefused) {
  std::string header = "{'descr': '|u1', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < 65; ++i) header += "1, ";
  const Result<Tensor> tensor = read_npy(npy_with_header(header + ")}", "a"));
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().code, ErrorCode::limit);
}

TEST(Npz, ReadsStoredAndDeflatedArrays) {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const NamedTensors tensors = read_npz(file_record(name)).value();
    ASSERT_EQ(tensors.size(), 13u) << name;
    for (const auto& [key, tensor] : tensors)
      EXPECT_TRUE(dtype_info(tensor.dtype()).numpy_descriptor.ends_with(key)) << key;
    EXPECT_EQ(tensors[7].first, "f8");
    EXPECT_EQ(elements<double>(tensors[7].second), count_up<double>(6));
    EXPECT_EQ(elements<uint64_t>(tensors[12].second), count_up<uint64_t>(6));
  }
}

TEST(Npz, WhatIsWrittenIsReadAgain) {
  const NamedTensors tensors = read_npz(file_record("stored.npz")).value();
  StringSink sink;
  ASSERT_TRUE(write_npz(tensors, sink));
  const NamedTensors again = read_npz(make_record(sink.take())).value();
  ASSERT_EQ(again.size(), tensors.size());
  for (size_t i = 0; i < again.size(); ++i) {
    EXPECT_EQ(again[i].first, tensors[i].first);
    EXPECT_EQ(written(again[i].second), written(tensors[i].second));
  }
}

TEST(Npz, OtherEntriesAreRefused) {
  const auto refusal_of = [](std::string_view entry) {
    StringSink sink;
    ZipWriter zip(sink, ZipStyle::python);
    EXPECT_TRUE(zip.add(entry, std::string_view("hello")));
    EXPECT_TRUE(zip.finish());
    return read_npz(make_record(sink.take())).error().text();
  };
  EXPECT_EQ(refusal_of("readme.txt"), "readme.txt: found an entry that is not a .npy array");
  EXPECT_EQ(refusal_of("model/data.pkl"),
            "the file is a torch.save checkpoint; safetensors.torch.save_file writes its tensors");
  for (const char* entry : {"model/archive_format", "serialized_exported_program.json"})
    EXPECT_EQ(refusal_of(entry),
              "the file is a .pt2; 'pt2 weights export' writes its weights as .safetensors");
}

TEST(TensorFile, RecognisesFormatsByTheirBytes) {
  EXPECT_EQ(read_tensor_file(data_file("version1.npy")).value().at(0).first, "");
  EXPECT_EQ(read_tensor_file(data_file("deflated.npz")).value().size(), 13u);
  EXPECT_EQ(read_tensor_file(data_file("two.safetensors")).value().size(), 2u);
  EXPECT_EQ(read_tensor_file(data_file("absent.npy")).error().code, ErrorCode::io);
  EXPECT_EQ(read_tensor_file(data_file("object.npy")).error().where, data_file("object.npy"));
  EXPECT_EQ(read_tensors(make_record("")).error().message, "the file is empty");
  EXPECT_EQ(read_tensors(make_record("x,y\n1,2\n3,4\n")).error().message,
            "the file is none of .npy, .npz and .safetensors: it is text");
}

// Returns a file of torch.save that holds what `make` makes.
template <class Make>
Record torch_saved(const Make& make) {
  PickleBuilder builder;
  const PickleValue root = make(builder);
  StringSink sink;
  EXPECT_TRUE(write_torch_save(builder.finish(root), sink));
  return make_record(sink.take());
}

TEST(TensorFile, ReadsStateDicts) {
  const float numbers[] = {1, 2, 3, 4, 5, 6};
  const Tensor matrix = Tensor::from<float>(Dtype::float32, {2, 3}, numbers);
  const NamedTensors tensors =
      read_tensors(torch_saved([&](PickleBuilder& builder) {
        const PickleBuilder::Pair pairs[] = {
            {builder.string("fc.weight"), builder.tensor({.tensor = matrix, .is_parameter = true})},
            {builder.string("turned"), builder.tensor({.tensor = matrix.with_view({3}, {2}, 1)})}};
        return builder.dict(PickleKind::ordered_dict, pairs);
      })).value();
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].first, "fc.weight");
  EXPECT_EQ(elements<float>(tensors[0].second),
            (std::vector<float>(std::begin(numbers), std::end(numbers))));
  EXPECT_EQ(elements<float>(tensors[1].second), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(tensors[1].second.storage(), tensors[0].second.storage());
  const NamedTensors one = read_tensors(torch_saved([&](PickleBuilder& builder) {
                             return builder.tensor({.tensor = matrix});
                           })).value();
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].first, "");
}

TEST(TensorFile, OtherFilesOfTorchSaveAreRefused) {
  const auto refusal_of = [](const auto& make) {
    return read_tensors(torch_saved([&](PickleBuilder& builder) {
             const PickleBuilder::Pair pairs[] = {{builder.string("epoch"), make(builder)}};
             return builder.dict(PickleKind::dict, pairs);
           }))
        .error();
  };
  EXPECT_EQ(refusal_of([](PickleBuilder& builder) { return builder.integer(3); }).text(),
            "epoch: found integer, expected a tensor; torch.save a dict of nothing but tensors, "
            "such as model.state_dict()");
  const std::string module =
      refusal_of([](PickleBuilder& builder) {
        return builder.object("torch.nn.modules.linear.Linear", builder.integer(3));
      }).text();
  EXPECT_NE(module.find("Linear"), std::string::npos) << module;
  EXPECT_TRUE(module.ends_with("such as model.state_dict()")) << module;
  const Tensor huge = Tensor::of({7.f}).with_view({int64_t{1} << 40}, {0}, 0);
  EXPECT_EQ(
      refusal_of([&](PickleBuilder& builder) { return builder.tensor({.tensor = huge}); }).code,
      ErrorCode::limit);
}

// A training keeps the state of its random generators beside the weights; a state dict may hold a
// module's extra state. The weights are where more tensors are.
TEST(TensorFile, WeightsAreWhereMostTensorsAre) {
  const auto names_of = [](size_t own_tensors) {
    return read_tensors(torch_saved([&](PickleBuilder& builder) {
      const auto add = [&](std::string prefix, size_t count, auto& pairs) {
        for (size_t i = 0; i < count; ++i)
          pairs.emplace_back(builder.string(prefix + std::to_string(i)),
                             builder.tensor({.tensor = Tensor::of({7.f}), .sizes = {1}}));
      };
      std::vector<PickleBuilder::Pair> inner, root;
      add("weight", 2, inner);
      add("own", own_tensors, root);
      root.emplace_back(builder.string("model"), builder.dict(PickleKind::ordered_dict, inner));
      return builder.dict(PickleKind::dict, root);
    }));
  };
  const Result<NamedTensors> weights = names_of(1);
  ASSERT_TRUE(weights) << weights.error().text();
  ASSERT_EQ(weights->size(), 2u);
  EXPECT_EQ(weights->front().first, "weight0");
  EXPECT_EQ(names_of(2).error().where, "model");
}

// Takes minutes if every key's dict is searched.
TEST(TensorFile, OneDictUnderThousandsOfKeysIsRefusedSoon) {
  constexpr size_t kCount = 40000;
  const Error error = read_tensors(torch_saved([](PickleBuilder& builder) {
                        const PickleValue tensor =
                            builder.tensor({.tensor = Tensor::of({7.f}), .sizes = {1}});
                        std::vector<PickleBuilder::Pair> inner, root;
                        for (size_t i = 0; i < kCount; ++i)
                          inner.emplace_back(builder.string(std::to_string(i)), tensor);
                        const PickleValue dict = builder.dict(PickleKind::dict, inner);
                        for (size_t i = 0; i < kCount; ++i)
                          root.emplace_back(builder.string(std::to_string(i)), dict);
                        return builder.dict(PickleKind::dict, root);
                      })).error();
  EXPECT_EQ(error.code, ErrorCode::argument);
  EXPECT_TRUE(error.message.ends_with("their keys are '0', '1', '2', '3', '4', '5', '6', '7', ..."))
      << error.message;
}

std::string checkpoint(std::string_view name) {
  return std::string(PT2_TEST_DATA "/checkpoints/").append(name);
}

// The weights are those of corpus/2.15.0/mlp.pt2, and count up from 0.
TEST(TensorFile, ReadsWeightsOfTrainings) {
  const std::pair<std::string, std::string> cases[] = {{"legacy.pt", ""},
                                                       {"training.pt", ""},
                                                       {"averaged.pt", "state_dict_ema"},
                                                       {"model.safetensors.index.json", ""},
                                                       {"", ""}};
  for (const auto& [name, key] : cases) {
    const auto tensors = read_tensor_file(checkpoint(name), {}, key);
    ASSERT_TRUE(tensors) << name << ": " << tensors.error().text();
    ASSERT_EQ(tensors->size(), 4u) << name;
    for (const auto& [weight, tensor] : *tensors) {
      const bool is_half = name == "training.pt";
      EXPECT_TRUE(weight.starts_with(is_half ? "module.fc" : "fc")) << weight;
      if (is_half)
        EXPECT_EQ(tensor.dtype(), Dtype::bfloat16);
      else
        EXPECT_EQ(elements<float>(tensor), count_up<float>(static_cast<size_t>(tensor.numel())));
    }
  }
}

TEST(TensorFile, CheckpointsThatDoNotSayEnoughAreRefused) {
  const auto refusal = [](std::string_view name, std::string_view key) {
    return read_tensor_file(checkpoint(name), {}, key).error().message;
  };
  EXPECT_EQ(refusal("averaged.pt", ""),
            "found 2 state dicts, expected one; their keys are 'state_dict', 'state_dict_ema'");
  EXPECT_EQ(refusal("averaged.pt", "ema"),
            "found no dict under the key 'ema'; state dicts are under 'state_dict', "
            "'state_dict_ema'");
  EXPECT_EQ(refusal("model-00001-of-00002.safetensors", "ema"),
            "a key is given, which only a checkpoint of torch.save can have");
  const test::TemporaryFolder temporary;
  const auto refused_index = [&](const std::string& text) {
    const std::string path = temporary.path() + "/index.json";
    std::ofstream(path) << text;
    return read_tensor_file(path).error().message;
  };
  EXPECT_EQ(refused_index(R"({"weight_map": {"a": "../a.npy"}})"),
            "found '../a.npy', expected a file of the index's folder");
  EXPECT_EQ(refused_index(R"({"weight_map": {"a": "index.json"}})"),
            "the file is none of .npy, .npz and .safetensors: it is JSON text");
  std::string legacy(map_file(checkpoint("legacy.pt")).value().text());
  const auto refused_legacy = [](std::string bytes) {
    return read_tensors(make_record(std::move(bytes))).error().text();
  };
  EXPECT_NE(refused_legacy(legacy.substr(0, legacy.size() - 1)).find("the file ends inside"),
            std::string::npos);
  // One key of the list of keys, the last pickle, is written over another: torch.load would read
  // that storage twice, and take the second elements.
  const size_t list = legacy.rfind("\x80\x02]");
  const size_t first = legacy.find("X", list), second = legacy.find("X", first + 1);
  ASSERT_NE(second, legacy.npos);
  const size_t length = 5 + static_cast<size_t>(legacy[first + 1]);
  EXPECT_NE(refused_legacy(legacy.replace(second, length, legacy, first, length))
                .find("found no list of the keys"),
            std::string::npos);
  ASSERT_EQ(mkfifo((temporary.path() + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(refused_index(R"({"weight_map": {"a": "pipe"}})"),
            "found a folder, pipe or device, expected a file");
  EXPECT_TRUE(refused_index("{}").starts_with("the file is JSON without an object 'weight_map'"));
  std::filesystem::copy_file(checkpoint("model-00001-of-00002.safetensors"),
                             temporary.path() + "/a.safetensors");
  EXPECT_EQ(refused_index(R"({"weight_map": {"fc1.bias": "a.safetensors", "b": "a.safetensors"}})"),
            "the index names this file for 'b', which is not in it");
}

TEST(TensorFile, WritesTheFormatOfTheName) {
  const NamedTensors tensors = read_tensor_file(data_file("two.safetensors")).value();
  const test::TemporaryFolder temporary;
  const std::string folder = temporary.path() + "/";
  for (const char* name : {"t.npz", "t.safetensors"}) {
    ASSERT_TRUE(write_tensor_file(folder + name, tensors)) << name;
    const NamedTensors again = read_tensor_file(folder + name).value();
    ASSERT_EQ(again.size(), 2u);
    EXPECT_EQ(written(again[0].second), written(tensors[0].second));
  }
  EXPECT_TRUE(write_tensor_file(folder + "t.npy", {tensors[0]}));
  EXPECT_EQ(write_tensor_file(folder + "t.npy", tensors).error().code, ErrorCode::argument);
  EXPECT_EQ(write_tensor_file(folder + "t.txt", tensors).error().code, ErrorCode::argument);
  const Result<void> unsupported =
      write_tensor_file(folder + "u.npz", {{"w", Tensor::zeros(Dtype::bfloat16, {1})}});
  EXPECT_EQ(unsupported.error().where, folder + "u.npz!w");
  EXPECT_EQ(read_tensor_file(folder + "u.npz").error().code, ErrorCode::io);
}

}  // namespace
}  // namespace pt2
