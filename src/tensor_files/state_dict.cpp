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

Result<Tensor> plain_tensor(const PickleValue& value, ByteBudget& bytes) {
  if (!value.is(PickleKind::tensor))
    return Error{
        ErrorCode::unsupported,
        fmt::format("found {}, expected a tensor; {}", pickle_kind_name(value.kind()), kWayOut),
        ""};
  const PickleTensor& found = value.tensor();
  if (!found.tensor.defined())
    return Error{ErrorCode::unsupported,
                 fmt::format("the tensor has no plain elements: {}", printable(found.missing)), ""};
  PT2_TRY_VOID(check_dim_count(found.sizes.size()));
  PT2_TRY_VOID(bytes.take(found.tensor));
  return found.tensor;
}

}  // namespace

bool is_torch_save(const Record& record, const Limits& limits) {
  Diagnostics ignored;
  const auto zip = ZipReader::open(record, limits, ignored);
  if (!zip || zip->entries().empty()) return false;
  const std::string& first = zip->entries().front().name;
  return zip->find(first.substr(0, first.find('/')) + "/data.pkl") != nullptr;
}

Result<NamedTensors> read_state_dict(const Record& record, const Limits& limits) {
  const Result<Pickle> pickle = read_torch_save(record, PickleMode::strict, limits);
  if (!pickle) {
    Error error = pickle.error();
    if (error.code == ErrorCode::unsupported) error.message += fmt::format("; {}", kWayOut);
    return error;
  }
  const PickleValue root = pickle->root();
  NamedTensors tensors;
  ByteBudget bytes(record);
  if (!root.is_dict()) {
    PT2_TRY(Tensor tensor, plain_tensor(root, bytes));
    tensors.emplace_back("", std::move(tensor));
    return tensors;
  }
  for (size_t i = 0; i < root.dict_size(); ++i) {
    const PickleValue key = root.key(i);
    if (!key.is(PickleKind::string))
      return Error{ErrorCode::unsupported,
                   fmt::format("found {} as a key of the dict, expected the name of a tensor",
                               pickle_kind_name(key.kind())),
                   ""};
    Result<Tensor> tensor = plain_tensor(root.value(i), bytes);
    if (!tensor) return at(std::move(tensor).error(), printable(key.text()));
    tensors.emplace_back(key.text(), *std::move(tensor));
  }
  return tensors;
}

}  // namespace pt2::tensor_files
