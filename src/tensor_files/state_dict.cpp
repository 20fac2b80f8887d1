#include "tensor_files/state_dict.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "pt2/format/pickle.h"
#include "tensor_files/bytes.h"

namespace pt2::tensor_files {
namespace {

constexpr std::string_view kWayOut =
    "torch.save a dict of nothing but tensors, such as model.state_dict()";

// With a stride of 0 a few bytes of a file may stand for more elements than any memory holds. Tied
// weights have several names, so an honest file may hold fewer bytes than its tensors, too.
class ByteBudget {
 public:
  explicit ByteBudget(const Record& record) : left_((64 << 20) + 16 * record.bytes.size()) {}

  Result<void> take(const Tensor& tensor) {
    const auto bytes = static_cast<uint64_t>(tensor.nbytes());
    if (bytes > left_)
      return Error{
          ErrorCode::limit,
          fmt::format("found {}, of far more bytes than the file holds", tensor.type_text()), ""};
    left_ -= bytes;
    return {};
  }

 private:
  uint64_t left_;
};

// Returns "integer", "an object of the class argparse.Namespace".
std::string found_text(const PickleValue& value) {
  if (value.is(PickleKind::object) || value.is(PickleKind::global))
    return fmt::format("an object of the class {}", printable(value.text()));
  return std::string(pickle_kind_name(value.kind()));
}

Result<Tensor> plain_tensor(const PickleValue& value, ByteBudget& bytes) {
  if (!value.is(PickleKind::tensor))
    return Error{ErrorCode::unsupported,
                 fmt::format("found {}, expected a tensor; {}", found_text(value), kWayOut), ""};
  const PickleTensor& found = value.tensor();
  const std::string missing =
      found.class_name.empty() ? found.missing : fmt::format("subclass {}", found.class_name);
  if (!missing.empty() || !found.tensor.defined())
    return Error{ErrorCode::unsupported,
                 fmt::format("the tensor has no plain elements: {}", printable(missing)), ""};
  PT2_TRY_VOID(check_dim_count(found.sizes.size()));
  PT2_TRY_VOID(bytes.take(found.tensor));
  return found.tensor;
}

// True for a dict of nothing but tensors.
bool is_state_dict(const PickleValue& value) {
  if (!value.is_dict() || value.dict_size() == 0) return false;
  for (size_t i = 0; i < value.dict_size(); ++i)
    if (!value.key(i).is(PickleKind::string) || !value.value(i).is(PickleKind::tensor))
      return false;
  return true;
}

// A checkpoint of a training is a dict with a state dict in it, beside numbers and objects: of the
// optimizer, of the command line. Returns the state dicts in it by their keys. The root may have
// tensors, too: counters without dimensions, the state of a random generator. The weights are where
// more tensors are, so the root's `_extra_state` is none of the state dicts.
std::vector<std::pair<std::string, PickleValue>> inner_state_dicts(const PickleValue& root) {
  size_t own_tensors = 0;
  for (size_t i = 0; i < root.dict_size(); ++i) {
    const PickleValue value = root.value(i);
    if (value.is(PickleKind::tensor) && !value.tensor().sizes.empty()) ++own_tensors;
  }
  std::vector<std::pair<std::string, PickleValue>> found;
  // A hostile root may hold one dict of many values under thousands of keys.
  size_t values_left = size_t{1} << 24;
  for (size_t i = 0; i < root.dict_size(); ++i) {
    const PickleValue value = root.value(i);
    if (!root.key(i).is(PickleKind::string) || value.dict_size() <= own_tensors) continue;
    if (value.dict_size() > values_left) break;
    values_left -= value.dict_size();
    if (is_state_dict(value)) found.emplace_back(root.key(i).text(), value);
  }
  return found;
}

// Returns "'state_dict', 'state_dict_ema'", the first few of many.
std::string keys_text(const std::vector<std::pair<std::string, PickleValue>>& state_dicts) {
  constexpr size_t kMostKeys = 8;
  std::string text;
  for (size_t i = 0; i < std::min(state_dicts.size(), kMostKeys); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", printable(state_dicts[i].first));
  return text + (state_dicts.size() > kMostKeys ? ", ..." : "");
}

// Returns the value that holds the weights: the dict under `key`, the only state dict in a
// checkpoint, or the root itself.
Result<PickleValue> find_weights(const PickleValue& root, std::string_view key) {
  if (!root.is_dict() || (key.empty() && is_state_dict(root))) return root;
  for (size_t i = 0; i < root.dict_size() && !key.empty(); ++i)
    if (root.key(i).is(PickleKind::string) && root.key(i).text() == key && root.value(i).is_dict())
      return root.value(i);
  const auto inner = inner_state_dicts(root);
  if (key.empty() && inner.empty()) return root;
  if (key.empty() && inner.size() == 1) return inner.front().second;
  return Error{ErrorCode::argument,
               key.empty()
                   ? fmt::format("found {} state dicts, expected one; their keys are {}",
                                 inner.size(), keys_text(inner))
                   : fmt::format("found no dict under the key '{}'{}{}", printable(key),
                                 inner.empty() ? "" : "; state dicts are under ", keys_text(inner)),
               ""};
}

// Listing mode keeps what is no tensor or container as a name, and makes no object of it.
Result<Pickle> read_saved(const Record& record, const Limits& limits) {
  Result<Pickle> pickle = is_legacy_torch_save(record.bytes)
                              ? read_legacy_torch_save(record, PickleMode::listing, limits)
                              : read_torch_save(record, PickleMode::listing, limits);
  if (pickle || pickle.error().code != ErrorCode::unsupported) return pickle;
  Error error = std::move(pickle).error();
  error.message += fmt::format("; {}", kWayOut);
  return error;
}

}  // namespace

bool is_torch_save(const Record& record, const Limits& limits) {
  if (is_legacy_torch_save(record.bytes)) return true;
  if (!record.text().starts_with("PK")) return false;
  Diagnostics ignored;
  const auto zip = ZipReader::open(record, limits, ignored);
  if (!zip || zip->entries().empty()) return false;
  const std::string& first = zip->entries().front().name;
  return zip->find(first.substr(0, first.find('/')) + "/data.pkl") != nullptr;
}

Result<NamedTensors> read_state_dict(const Record& record, std::string_view key,
                                     const Limits& limits) {
  PT2_TRY(const Pickle pickle, read_saved(record, limits));
  PT2_TRY(const PickleValue root, find_weights(pickle.root(), key));
  NamedTensors tensors;
  ByteBudget bytes(record);
  if (!root.is_dict()) {
    PT2_TRY(Tensor tensor, plain_tensor(root, bytes));
    tensors.emplace_back("", std::move(tensor));
    return tensors;
  }
  for (size_t i = 0; i < root.dict_size(); ++i) {
    const PickleValue name = root.key(i);
    if (!name.is(PickleKind::string))
      return Error{ErrorCode::unsupported,
                   fmt::format("found {} as a key of the dict, expected the name of a tensor",
                               pickle_kind_name(name.kind())),
                   ""};
    Result<Tensor> tensor = plain_tensor(root.value(i), bytes);
    if (!tensor) return at(std::move(tensor).error(), printable(name.text()));
    tensors.emplace_back(name.text(), *std::move(tensor));
  }
  return tensors;
}

}  // namespace pt2::tensor_files
