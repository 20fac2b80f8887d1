// Compares every tensor of every payload with the tensor that PyTorch loads
// (tests/data/tensor_digests.jsonl).
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "archive/crc32.h"
#include "base/json.h"
#include "package/corpus.h"
#include "pt2/package.h"

namespace pt2 {
namespace {

// The columns of a row of tensor_digests.jsonl.
enum Column : size_t {
  name,
  dtype,
  sizes,
  strides,
  storage_offset,
  storage_bytes,
  storage,
  requires_grad,
  is_parameter,
  crc
};

struct Expected {
  JsonValue program;
  const std::vector<JsonValue>* rows(std::string_view payload) const {
    const JsonValue* found = program.find(payload);
    return found ? &found->items : nullptr;
  }
};

using Digests = std::map<std::tuple<std::string, std::string, std::string>, Expected>;

Digests read_digests() {
  Digests digests;
  std::ifstream in(std::string(PT2_TEST_DATA) + "/tensor_digests.jsonl");
  for (std::string line; std::getline(in, line);) {
    JsonValue program = parse_json(line).value();
    if (program.find("release") == nullptr) continue;
    const auto text = [&](std::string_view key) { return program.find(key)->text; };
    const auto key = std::make_tuple(text("release"), text("file"), text("program"));
    digests[key].program = std::move(program);
  }
  return digests;
}

Sizes numbers(const JsonValue& list) {
  Sizes values;
  for (const JsonValue& item : list.items) values.push_back(item.get_int().value());
  return values;
}

uint32_t crc_of(const Tensor& tensor) {
  const Tensor contiguous = tensor.contiguous();
  return crc32(0, {contiguous.raw_data(), static_cast<size_t>(contiguous.nbytes())});
}

// Both sides number storages differently. Checks that the numbers correspond one to one.
class Pairing {
 public:
  bool agrees(int64_t expected, const void* found) {
    const auto [left, left_new] = forward_.emplace(expected, found);
    const auto [right, right_new] = backward_.emplace(found, expected);
    return left->second == found && right->second == expected;
  }

 private:
  std::map<int64_t, const void*> forward_;
  std::map<const void*, int64_t> backward_;
};

void expect_tensor(const JsonValue& row, const Tensor& tensor, Pairing& storages) {
  SCOPED_TRACE(row.items[name].text);
  const auto number = [&](Column column) { return row.items[column].get_int().value(); };
  ASSERT_TRUE(tensor.defined());
  EXPECT_EQ(dtype_name(tensor.dtype()), row.items[dtype].text);
  EXPECT_EQ(tensor.sizes(), numbers(row.items[sizes]));
  EXPECT_EQ(tensor.strides(), numbers(row.items[strides]));
  EXPECT_EQ(tensor.storage_offset(), number(storage_offset));
  EXPECT_EQ(static_cast<int64_t>(tensor.storage()->size()), number(storage_bytes));
  EXPECT_EQ(crc_of(tensor), static_cast<uint32_t>(number(crc)));
  // Empty storages have no address that could be compared.
  if (number(storage_bytes) != 0) {
    EXPECT_TRUE(storages.agrees(number(storage), tensor.storage().get()));
  }
}

size_t expect_payloads(const Expected& expected, const Payloads& payloads, PayloadKind kind,
                       std::string_view key) {
  size_t count = 0;
  Pairing storages;
  for (const PayloadTensor& payload : payloads.tensors())
    count += payload.kind == kind && payload.missing.empty();
  const auto* rows = expected.rows(key);
  EXPECT_EQ(rows ? rows->size() : 0, count) << key;
  if (rows == nullptr) return 0;
  for (const JsonValue& row : *rows) {
    const PayloadTensor* payload = payloads.find(kind, row.items[name].text);
    if (payload == nullptr) {
      ADD_FAILURE() << "no " << key << " " << row.items[name].text;
      continue;
    }
    expect_tensor(row, payload->tensor, storages);
    EXPECT_EQ(payload->requires_grad, row.items[requires_grad].get_int().value() != 0)
        << payload->name;
    EXPECT_EQ(payload->is_parameter, row.items[is_parameter].get_int().value() != 0)
        << payload->name;
  }
  return rows->size();
}

size_t expect_samples(const Expected& expected, const SampleInputs& samples) {
  Pairing storages;
  size_t count = 0;
  const auto* rows = expected.rows("sample_inputs");
  for (const SampleInput& leaf : samples.leaves) {
    if (!leaf.value.is(PickleKind::tensor)) continue;
    if (rows == nullptr || count >= rows->size()) {
      ADD_FAILURE() << "unexpected sample input " << leaf.path;
      continue;
    }
    const JsonValue& row = (*rows)[count++];
    EXPECT_EQ(leaf.path, row.items[name].text);
    expect_tensor(row, leaf.value.tensor().tensor, storages);
  }
  EXPECT_EQ(count, rows ? rows->size() : 0);
  return count;
}

TEST(Digests, EveryTensorIsWhatPyTorchLoads) {
  const Digests digests = read_digests();
  size_t tensors = 0, programs = 0;
  for (const corpus::File& file : corpus::files()) {
    const auto package = Package::open(file.path);
    if (!package) {
      ADD_FAILURE() << package.error().text();
      continue;
    }
    for (const std::string& model : package->models()) {
      SCOPED_TRACE(file.path + " " + model);
      const auto expected = digests.find(std::make_tuple(file.release, file.name, model));
      if (expected == digests.end()) {
        ADD_FAILURE() << "PyTorch was not asked";
        continue;
      }
      ++programs;
      const auto payloads = package->payloads(model);
      Diagnostics warnings;
      const auto samples = package->sample_inputs(warnings, model);
      if (!payloads || !samples) {
        ADD_FAILURE() << (payloads ? samples.error().text() : payloads.error().text());
        continue;
      }
      EXPECT_TRUE(warnings.empty());
      tensors += expect_payloads(expected->second, **payloads, PayloadKind::weight, "weights");
      tensors += expect_payloads(expected->second, **payloads, PayloadKind::constant, "constants");
      tensors += expect_samples(expected->second, *samples);
    }
  }
  EXPECT_GT(programs, 100u);
  EXPECT_GT(tensors, 1000u);
  RecordProperty("tensors", static_cast<int>(tensors));
}

}  // namespace
}  // namespace pt2
