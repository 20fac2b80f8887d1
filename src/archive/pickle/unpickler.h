// The machine that reads a pickle: a stack of values, a memo, and the few calls of
// pickle_globals.h. It makes values, never Python objects, and charges all values against
// Limits::max_pickle_memory.
#ifndef PT2_ARCHIVE_PICKLE_UNPICKLER_H
#define PT2_ARCHIVE_PICKLE_UNPICKLER_H

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "archive/pickle/pickle_graph.h"
#include "base/byte_cursor.h"

namespace pt2 {

class Unpickler {
 public:
  Unpickler(std::span<const std::byte> bytes, PickleMode mode, const StorageLoader& storages,
            const Limits& limits);
  Result<Pickle> run();
  // Reads in listing mode without storages: tensors have no elements.
  Result<void> follow();
  // The calls found so far, also after a failure.
  std::span<const ForeignCall> calls() const { return graph_->calls; }
  std::span<const ForeignCall> expressions() const { return graph_->expressions; }
  std::span<const RefusedGlobal> foreign_names() const { return graph_->refused; }
  size_t position() const { return cursor_.position(); }

 private:
  using Args = std::span<const PickleId>;
  using Handler = Result<void> (Unpickler::*)();
  struct Op {
    uint8_t code;
    std::string_view name;
    Handler handler;
  };
  static std::span<const Op> ops();
  // A report needs only the first calls and expressions.
  static constexpr size_t kMaxNoted = 10;

  // Opcodes (unpickler.cpp); `T` is the type of the number after the opcode.
  Result<void> protocol();
  Result<void> frame();
  Result<void> stop();
  Result<void> mark();
  Result<void> pop();
  Result<void> pop_mark();
  Result<void> duplicate();
  Result<void> push_none();
  template <bool kValue>
  Result<void> push_bool();
  template <class T>
  Result<void> push_number();
  template <class T>
  Result<void> push_long();
  Result<void> push_int_line();
  Result<void> push_long_line();
  Result<void> push_float();
  Result<void> push_float_line();
  template <class T, PickleKind kKind>
  Result<void> push_text();
  Result<void> push_text_line();
  Result<void> push_string_line();
  template <PickleKind kKind>
  Result<void> push_empty();
  template <PickleKind kKind>
  Result<void> push_since_mark();
  Result<void> push_frozenset();
  template <size_t kCount>
  Result<void> push_tuple_of();
  Result<void> append();
  Result<void> append_since_mark();
  Result<void> set_item();
  Result<void> set_items_since_mark();
  template <class T>
  Result<void> put();
  Result<void> put_line();
  Result<void> memoize();
  template <class T>
  Result<void> get();
  Result<void> get_line();
  Result<void> global_lines();
  Result<void> stack_global();
  Result<void> reduce();
  Result<void> new_object();
  Result<void> new_object_with_keywords();
  Result<void> instance_lines();
  Result<void> instance_since_mark();
  Result<void> build();
  Result<void> execute();
  Result<void> name_script_object(PickleId target, PickleId state);
  Result<void> persistent_id();
  Result<void> unsupported_opcode();

  // The stack; values below the newest mark cannot be taken.
  Result<PickleId> take();
  Result<PickleId> top();
  Result<PickleItems> take_since_mark();
  Result<void> push(Result<PickleId> value);
  Result<void> store(uint64_t index, PickleId value);
  Result<void> fetch(uint64_t index);
  Result<std::string_view> read_line();
  Result<void> extend(PickleId target, Args items, bool pairs);

  // Values.
  template <class T>
  Result<PickleId> add(PickleKind kind, T payload);
  Result<PickleId> add_none() { return add(PickleKind::none, std::monostate()); }
  Result<PickleId> add_global(std::string name);
  Error refusal(const RefusedGlobal& global) const;
  Result<void> check_refused() const;
  Result<PickleId> add_object(std::string_view class_name, Args items, bool called);
  Result<PickleId> forget_making(Result<PickleId> object);
  Result<PickleId> add_tensor(PickleTensor tensor, PickleItems parts = {});
  Result<void> charge(uint64_t bytes);
  const PickleNode& node(PickleId id) const { return graph_->nodes[id]; }
  const PickleItems* find_items(PickleId id) const;
  const PickleObject* find_object(PickleId id) const;
  const std::string* find_text(PickleId id) const;
  const int64_t* find_int(PickleId id) const;
  bool is_opaque(PickleId id) const;
  std::string_view name_of(PickleId global) const;

  // Calls (pickle_calls.cpp).
  Result<PickleId> call(PickleId function, PickleId arguments, bool creates);
  void note_call(std::string_view printed_function, Args args);
  Result<void> note_expressions(PickleId metadata);
  // True if the call returns a member of a known enumeration.
  bool is_member(PickleId function, Args args) const;
  std::string describe(PickleId id) const;
  Result<PickleId> call_known(const KnownGlobal& known, Args args);
  Result<void> keep_making(PickleId made, const KnownGlobal& function, PickleId arguments);
  Result<PickleId> make_script_object(const KnownGlobal& known, Args args);
  Result<PickleId> make_container(const KnownGlobal& known, Args args);
  Result<void> keep_arguments(PickleId made, Args args);
  Result<void> keep_frozen(PickleId made);
  Result<void> keep_state(PickleId target, PickleId state);
  Result<PickleId> make_complex(Args args);
  Result<PickleId> encode(const KnownGlobal& known, Args args);
  Result<PickleId> make_device(Args args);
  Result<PickleId> reconstruct(Args args);
  Result<PickleId> rebuild_tensor(const KnownGlobal& known, Args args);
  Result<PickleId> rebuild_parameter(Args args);
  Result<PickleId> rebuild_from_type(Args args);
  Result<void> keep_inner_tensors(PickleId subclass, PickleId state);
  Result<PickleId> rebuild_sparse(Args args);
  bool has_lazy_bits(Args metadata);
  Result<PickleId> rebuild_quantized(const KnownGlobal& known, Args args);
  Result<PickleId> tensor_without_data(const KnownGlobal& known, Args args);
  Result<PickleId> load_storage(Args args);

  // A storage inside the pickle (inner_storage.cpp).
  Result<PickleId> load_from_bytes(const KnownGlobal& known, Args args);
  Result<PickleId> read_storage_file(std::span<const std::byte> bytes);
  Result<void> run_inside(Unpickler& inner);
  Result<size_t> follow_inside(std::span<const std::byte> bytes, size_t part);
  Result<PickleId> read_inner_storage(std::span<const std::byte> pickle,
                                      std::span<const std::byte> data);

  Result<std::shared_ptr<Storage>> find_storage(const std::string& key, size_t alignment,
                                                uint64_t bytes);
  Result<Sizes> read_sizes(PickleId id);
  std::string dtype_text(PickleId id) const;

  Error error(ErrorCode code, std::string message) const;
  Error malformed(std::string message) const {
    return error(ErrorCode::malformed, std::move(message));
  }
  Error wrong_arguments(std::string_view function) const;

  ByteCursor cursor_;
  PickleMode mode_;
  bool follows_ = false;
  bool is_inside_ = false;
  const StorageLoader& storages_;
  Limits limits_;
  std::shared_ptr<PickleGraph> graph_ = std::make_shared<PickleGraph>();
  std::vector<PickleId> stack_;
  std::vector<size_t> marks_;
  std::vector<PickleId> memo_;
  uint64_t memo_used_ = 0;
  std::map<std::string, std::shared_ptr<Storage>, std::less<>> loaded_;
  std::map<std::string, uint32_t, std::less<>> refused_;
  // The refused classes that are tensor subclasses or classes of their fields.
  std::set<uint32_t> data_classes_;
  uint64_t opcode_offset_ = 0;
  // Opcodes, and the items of dicts that calls look through: many calls may name one large dict.
  uint64_t opcodes_ = 0;
  uint64_t memory_ = 0;
  bool stopped_ = false;
};

template <class T>
Result<PickleId> Unpickler::add(PickleKind kind, T payload) {
  PT2_TRY_VOID(charge(sizeof(PickleNode)));
  graph_->nodes.push_back({kind, std::move(payload)});
  return static_cast<PickleId>(graph_->nodes.size() - 1);
}

}  // namespace pt2

#endif  // PT2_ARCHIVE_PICKLE_UNPICKLER_H
