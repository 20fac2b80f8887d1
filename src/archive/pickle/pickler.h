// The machine that writes a pickle of protocol 2, opcode by opcode, as Python's C pickler does. The
// choice and order of memo numbers is part of the bytes.
#ifndef PT2_ARCHIVE_PICKLE_PICKLER_H
#define PT2_ARCHIVE_PICKLE_PICKLER_H

#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "archive/pickle/pickle_graph.h"
#include "pt2/format/pickle_write.h"

namespace pt2 {

class Pickler {
 public:
  Pickler(const Pickle& pickle, const Limits& limits) : graph_(*pickle.graph_), limits_(limits) {}
  Result<PickledBytes> run();

 private:
  using Args = std::span<const PickleId>;
  using Save = std::function<Result<void>()>;

  // Opcodes.
  void op(char code) { out_ += code; }
  template <std::unsigned_integral T>
  void number(T value);
  void integer(int64_t value);
  Result<void> big_integer(std::string_view digits);
  void long_bytes(std::string_view bytes);
  void floating(double value);
  Result<void> text(std::string_view utf8);
  void boolean(bool value) { op(value ? '\x88' : '\x89'); }
  void begin_tuple(size_t count);
  void end_tuple(size_t count);

  // The memo. `put` numbers the value on top of the stack, `get` pushes a value that has a number.
  using Names = std::map<std::string, uint32_t, std::less<>>;
  void put();
  void get(uint32_t slot);
  bool get(const Names& memo, std::string_view name);
  Result<void> numbered(PickleId id, const Result<void>& saved);
  // Writes a text that torch holds as a single object, wherever it occurs.
  Result<void> torch_text(std::string_view value);
  Result<void> global(std::string_view qualified_name);

  // Values.
  Result<void> save(PickleId id);
  Result<void> save_new(PickleId id);
  Result<void> save_each(Args values);
  // Writes a call of `function` with `count` arguments; the result has no memo number yet.
  Result<void> call(std::string_view function, size_t count, const Save& arguments);
  Result<void> save_complex(std::complex<double> value);
  Result<void> save_bytes(std::string_view bytes);
  Result<void> save_device(std::string_view device);
  Result<void> save_layout(std::string_view layout);
  Result<void> save_tuple(PickleId id);
  Result<void> save_list(PickleId id);
  Result<void> save_set(PickleId id);
  Result<void> save_deque(PickleId id);
  Result<void> save_size(Args values);
  Result<void> save_dict(PickleId id);
  Result<void> save_object(PickleId id);
  // Builtin lists and dicts are batched differently from containers that Python iterates over.
  enum class Batches : uint8_t { builtin, iterated };
  Result<void> append_items(Args values, Batches form);
  Result<void> append_pairs(Args values, Batches form);
  Result<void> append(Args values, size_t width, Batches form);

  // Tensors (pickle_tensors.cpp).
  Result<void> save_tensor(PickleId id);
  Result<void> save_plain(const PickleTensor& tensor, bool requires_grad);
  Result<void> save_parameter(const PickleTensor& tensor, const PickleId* state);
  Result<void> save_of_type(const PickleTensor& tensor, const PickleId* state);
  Result<void> save_tensor_arguments(const PickleTensor& tensor, bool requires_grad);
  Result<void> save_no_hooks();
  Result<void> save_made(PickleId id);
  Result<void> save_storage(const std::shared_ptr<Storage>& storage, const KnownGlobal* type,
                            std::string_view device);
  void save_sizes(const Sizes& sizes);

  const PickleNode& node(PickleId id) const { return graph_.nodes[id]; }
  const PickleItems& items(PickleId id) const { return std::get<PickleItems>(node(id).payload); }
  const PickleObject& object(PickleId id) const {
    return *std::get<std::unique_ptr<PickleObject>>(node(id).payload);
  }
  std::string_view name_of(const PickleNode& value) const;

  const PickleGraph& graph_;
  const Limits& limits_;
  std::string out_;
  uint32_t memo_size_ = 0;
  std::vector<uint32_t> memo_;  // memo slot + 1 by id; 0: none
  Names globals_;
  Names texts_;
  std::map<const Storage*, uint32_t> saved_storages_;  // memo slot of the key
  std::vector<std::shared_ptr<Storage>> storages_;
  uint32_t depth_ = 0;
};

}  // namespace pt2

#endif  // PT2_ARCHIVE_PICKLE_PICKLER_H
