#include "archive/pickle/unpickler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "base/platform.h"
#include "base/printable.h"

namespace pt2 {
namespace {

constexpr uint8_t kHighestProtocol = 5;
constexpr PickleId kEmptySlot = UINT32_MAX;
// Converting n bytes to decimal digits, and n digits to bytes, takes n * n steps.
constexpr size_t kMaxIntegerBytes = 1024, kMaxIntegerDigits = 2466;

bool is_decimal(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Converts little-endian two's complement of any length to decimal digits.
std::string big_integer_text(std::span<const std::byte> bytes) {
  std::vector<uint8_t> magnitude;
  const bool negative = !bytes.empty() && (std::to_integer<uint8_t>(bytes.back()) & 0x80) != 0;
  unsigned carry = negative ? 1 : 0;
  for (std::byte byte : bytes) {
    const unsigned digit = (std::to_integer<unsigned>(byte) ^ (negative ? 0xFFu : 0u)) + carry;
    magnitude.push_back(static_cast<uint8_t>(digit));
    carry = digit >> 8;
  }
  std::string digits;
  while (!magnitude.empty()) {
    // Sixteen digits at a time: the largest power of ten that a byte more does not overflow.
    constexpr uint64_t kUnit = 10'000'000'000'000'000;
    uint64_t rest = 0;
    for (size_t i = magnitude.size(); i-- > 0;) {
      const uint64_t value = rest << 8 | magnitude[i];
      magnitude[i] = static_cast<uint8_t>(value / kUnit);
      rest = value % kUnit;
    }
    for (uint64_t unit = 1; unit < kUnit; unit *= 10)
      digits += static_cast<char>('0' + rest / unit % 10);
    while (!magnitude.empty() && magnitude.back() == 0) magnitude.pop_back();
  }
  digits.erase(std::max<size_t>(digits.find_last_not_of('0') + 1, 1));
  if (negative) digits += '-';
  return {digits.rbegin(), digits.rend()};
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

// Opcodes of Lib/pickletools.py. Not supported: PERSID, because torch's ids are tuples, and EXT*,
// which refer to globals by number.
std::span<const Unpickler::Op> Unpickler::ops() {
  using U = Unpickler;
  using enum PickleKind;
  // clang-format off
  static constexpr Op kOps[] = {
      {0x80, "PROTO",            &U::protocol},
      {0x95, "FRAME",            &U::frame},
      {'.',  "STOP",             &U::stop},
      {'(',  "MARK",             &U::mark},
      {'0',  "POP",              &U::pop},
      {'1',  "POP_MARK",         &U::pop_mark},
      {'2',  "DUP",              &U::duplicate},
      {'N',  "NONE",             &U::push_none},
      {0x88, "NEWTRUE",          &U::push_bool<true>},
      {0x89, "NEWFALSE",         &U::push_bool<false>},
      {'I',  "INT",              &U::push_int_line},
      {'K',  "BININT1",          &U::push_number<uint8_t>},
      {'M',  "BININT2",          &U::push_number<uint16_t>},
      {'J',  "BININT",           &U::push_number<uint32_t>},
      {'L',  "LONG",             &U::push_long_line},
      {0x8a, "LONG1",            &U::push_long<uint8_t>},
      {0x8b, "LONG4",            &U::push_long<uint32_t>},
      {'F',  "FLOAT",            &U::push_float_line},
      {'G',  "BINFLOAT",         &U::push_float},
      {'V',  "UNICODE",          &U::push_text_line},
      {0x8c, "SHORT_BINUNICODE", &U::push_text<uint8_t, string>},
      {'X',  "BINUNICODE",       &U::push_text<uint32_t, string>},
      {0x8d, "BINUNICODE8",      &U::push_text<uint64_t, string>},
      {'S',  "STRING",           &U::push_string_line},
      {'U',  "SHORT_BINSTRING",  &U::push_text<uint8_t, string>},
      {'T',  "BINSTRING",        &U::push_text<uint32_t, string>},
      {'C',  "SHORT_BINBYTES",   &U::push_text<uint8_t, bytes>},
      {'B',  "BINBYTES",         &U::push_text<uint32_t, bytes>},
      {0x8e, "BINBYTES8",        &U::push_text<uint64_t, bytes>},
      {0x96, "BYTEARRAY8",       &U::push_text<uint64_t, bytes>},
      {')',  "EMPTY_TUPLE",      &U::push_empty<tuple>},
      {0x85, "TUPLE1",           &U::push_tuple_of<1>},
      {0x86, "TUPLE2",           &U::push_tuple_of<2>},
      {0x87, "TUPLE3",           &U::push_tuple_of<3>},
      {'t',  "TUPLE",            &U::push_since_mark<tuple>},
      {']',  "EMPTY_LIST",       &U::push_empty<list>},
      {'l',  "LIST",             &U::push_since_mark<list>},
      {'a',  "APPEND",           &U::append},
      {'e',  "APPENDS",          &U::append_since_mark},
      {0x8f, "EMPTY_SET",        &U::push_empty<set>},
      {0x91, "FROZENSET",        &U::push_frozenset},
      {0x90, "ADDITEMS",         &U::append_since_mark},
      {'}',  "EMPTY_DICT",       &U::push_empty<dict>},
      {'d',  "DICT",             &U::push_since_mark<dict>},
      {'s',  "SETITEM",          &U::set_item},
      {'u',  "SETITEMS",         &U::set_items_since_mark},
      {'p',  "PUT",              &U::put_line},
      {'q',  "BINPUT",           &U::put<uint8_t>},
      {'r',  "LONG_BINPUT",      &U::put<uint32_t>},
      {0x94, "MEMOIZE",          &U::memoize},
      {'g',  "GET",              &U::get_line},
      {'h',  "BINGET",           &U::get<uint8_t>},
      {'j',  "LONG_BINGET",      &U::get<uint32_t>},
      {'c',  "GLOBAL",           &U::global_lines},
      {0x93, "STACK_GLOBAL",     &U::stack_global},
      {'R',  "REDUCE",           &U::reduce},
      {0x81, "NEWOBJ",           &U::new_object},
      {0x92, "NEWOBJ_EX",        &U::new_object_with_keywords},
      {'i',  "INST",             &U::instance_lines},
      {'o',  "OBJ",              &U::instance_since_mark},
      {'b',  "BUILD",            &U::build},
      {'Q',  "BINPERSID",        &U::persistent_id},
      {'P',  "PERSID",           &U::unsupported_opcode},
      {0x82, "EXT1",             &U::unsupported_opcode},
      {0x83, "EXT2",             &U::unsupported_opcode},
      {0x84, "EXT4",             &U::unsupported_opcode},
      {0x97, "NEXT_BUFFER",      &U::unsupported_opcode},
      {0x98, "READONLY_BUFFER",  &U::unsupported_opcode},
  };
  // clang-format on
  return kOps;
}

Unpickler::Unpickler(std::span<const std::byte> bytes, PickleMode mode,
                     const StorageLoader& storages, const Limits& limits)
    : cursor_(bytes), mode_(mode), storages_(storages), limits_(limits) {
  graph_->memory = PickleMemory::of(bytes.size(), limits);
}

Result<void> Unpickler::execute() {
  std::array<const Op*, 256> by_code{};
  for (const Op& op : ops()) by_code[op.code] = &op;
  while (!stopped_) {
    opcode_offset_ = cursor_.position();
    if (cursor_.at_end()) return error(ErrorCode::corrupt, "the pickle ends without STOP");
    if (++opcodes_ > limits_.max_pickle_opcodes)
      return error(ErrorCode::limit,
                   fmt::format("more than max_pickle_opcodes {}", limits_.max_pickle_opcodes));
    const auto code = cursor_.read<uint8_t>();
    const Op* op = by_code[code];
    if (op == nullptr) return malformed(fmt::format("found 0x{:02x}, expected an opcode", code));
    const Result<void> done = (this->*op->handler)();
    if (cursor_.failed()) return error(ErrorCode::corrupt, fmt::format("{} is cut off", op->name));
    PT2_TRY_VOID(done);
  }
  return {};
}

Result<void> Unpickler::follow() {
  follows_ = true;
  return execute();
}

Result<Pickle> Unpickler::run() {
  const Result<void> executed = execute();
  // A refused name explains more than the error that its use causes.
  if (!executed && (executed.error().code == ErrorCode::malformed ||
                    executed.error().code == ErrorCode::invalid))
    PT2_TRY_VOID(check_refused());
  PT2_TRY_VOID(executed);
  if (!cursor_.at_end())
    return malformed(fmt::format("found {} bytes after the pickle's end", cursor_.remaining()));
  PT2_TRY_VOID(check_refused());
  merge_duplicate_keys(*graph_);
  Pickle pickle;
  pickle.graph_ = std::move(graph_);
  return pickle;
}

Error Unpickler::error(ErrorCode code, std::string message) const {
  return {code, std::move(message), fmt::format("byte {}", opcode_offset_)};
}

Result<void> Unpickler::charge(uint64_t bytes) {
  memory_ += bytes;
  if (memory_ <= graph_->memory.max) return {};
  return error(ErrorCode::limit, graph_->memory.exceeded_text("the values take"));
}

Result<void> Unpickler::protocol() {
  const auto version = cursor_.read<uint8_t>();
  if (version <= kHighestProtocol) return {};
  return error(ErrorCode::unsupported, fmt::format("found pickle protocol {}, expected at most {}",
                                                   version, kHighestProtocol));
}

Result<void> Unpickler::frame() {
  if (cursor_.read<uint64_t>() <= cursor_.remaining()) return {};
  return error(ErrorCode::corrupt, "the frame is cut off");
}

Result<void> Unpickler::unsupported_opcode() {
  return error(ErrorCode::unsupported, "the opcode names something outside of the pickle");
}

Result<void> Unpickler::stop() {
  PT2_TRY(graph_->root, take());
  stopped_ = true;
  return {};
}

Result<PickleId> Unpickler::take() {
  PT2_TRY(const PickleId value, top());
  stack_.pop_back();
  return value;
}

Result<PickleId> Unpickler::top() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) return malformed("the stack is empty");
  return stack_.back();
}

Result<PickleItems> Unpickler::take_since_mark() {
  if (marks_.empty()) return malformed("the stack has no mark");
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  marks_.pop_back();
  PickleItems items(first, stack_.end());
  stack_.erase(first, stack_.end());
  PT2_TRY_VOID(charge(items.size() * sizeof(PickleId)));
  return items;
}

Result<void> Unpickler::push(Result<PickleId> value) {
  PT2_TRY(const PickleId id, std::move(value));
  stack_.push_back(id);
  return {};
}

Result<void> Unpickler::mark() {
  marks_.push_back(stack_.size());
  return {};
}

Result<void> Unpickler::pop() {
  if (!marks_.empty() && marks_.back() == stack_.size()) {
    marks_.pop_back();
    return {};
  }
  PT2_TRY_VOID(take());
  return {};
}

Result<void> Unpickler::pop_mark() {
  PT2_TRY_VOID(take_since_mark());
  return {};
}

Result<void> Unpickler::duplicate() { return push(top()); }

// Python numbers memo slots consecutively, and an opcode takes at least a byte. A slot far ahead is
// forged, to make the memo large.
Result<void> Unpickler::store(uint64_t index, PickleId value) {
  if (index > cursor_.position())
    return malformed(fmt::format("memo slot {} is out of sequence", index));
  if (index >= memo_.size()) memo_.resize(index + 1, kEmptySlot);
  if (memo_[index] == kEmptySlot) ++memo_used_;
  memo_[index] = value;
  return {};
}

Result<void> Unpickler::fetch(uint64_t index) {
  if (index >= memo_.size() || memo_[index] == kEmptySlot)
    return malformed(fmt::format("memo slot {} is empty", index));
  return push(memo_[index]);
}

template <class T>
Result<void> Unpickler::put() {
  PT2_TRY(const PickleId value, top());
  return store(cursor_.read<T>(), value);
}

Result<void> Unpickler::put_line() {
  PT2_TRY(const std::string_view line, read_line());
  const auto index = parse_number<uint64_t>(line);
  if (!index) return malformed("the memo slot is not a number");
  PT2_TRY(const PickleId value, top());
  return store(*index, value);
}

Result<void> Unpickler::memoize() {
  PT2_TRY(const PickleId value, top());
  return store(memo_used_, value);
}

template <class T>
Result<void> Unpickler::get() {
  return fetch(cursor_.read<T>());
}

Result<void> Unpickler::get_line() {
  PT2_TRY(const std::string_view line, read_line());
  const auto index = parse_number<uint64_t>(line);
  if (!index) return malformed("the memo slot is not a number");
  return fetch(*index);
}

Result<void> Unpickler::push_none() { return push(add_none()); }

template <bool kValue>
Result<void> Unpickler::push_bool() {
  return push(add(PickleKind::boolean, kValue));
}

// BININT is the only signed one of the fixed-size integers.
template <class T>
Result<void> Unpickler::push_number() {
  const T value = cursor_.read<T>();
  if constexpr (sizeof(T) == 4)
    return push(add(PickleKind::integer, int64_t{static_cast<int32_t>(value)}));
  return push(add(PickleKind::integer, static_cast<int64_t>(value)));
}

template <class T>
Result<void> Unpickler::push_long() {
  const std::span<const std::byte> bytes = cursor_.read_bytes(cursor_.read<T>());
  if (bytes.size() > kMaxIntegerBytes)
    return error(ErrorCode::limit, fmt::format("found an integer of {} bytes, expected at most {}",
                                               bytes.size(), kMaxIntegerBytes));
  if (bytes.size() > sizeof(int64_t)) {
    std::string digits = big_integer_text(bytes);
    PT2_TRY_VOID(charge(digits.size()));
    const auto small = parse_number<int64_t>(digits);
    return small ? push(add(PickleKind::integer, *small))
                 : push(add(PickleKind::big_integer, std::move(digits)));
  }
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
  const size_t unused = 64 - 8 * bytes.size();
  const auto number = unused == 64 ? 0 : static_cast<int64_t>(value << unused) >> unused;
  return push(add(PickleKind::integer, number));
}

Result<std::string_view> Unpickler::read_line() {
  ByteCursor ahead = cursor_;
  const std::string_view rest = ahead.read_text(ahead.remaining());
  const size_t end = rest.find('\n');
  if (end == rest.npos) return error(ErrorCode::corrupt, "the line is cut off");
  return cursor_.read_text(end + 1).substr(0, end);
}

// Protocol 1 and below write booleans as the integers 01 and 00.
Result<void> Unpickler::push_int_line() {
  PT2_TRY(const std::string_view line, read_line());
  if (line == "01" || line == "00") return push(add(PickleKind::boolean, line == "01"));
  const auto value = parse_number<int64_t>(line);
  if (!value) return malformed("the integer is not a number");
  return push(add(PickleKind::integer, *value));
}

Result<void> Unpickler::push_long_line() {
  PT2_TRY(std::string_view line, read_line());
  if (line.ends_with('L')) line.remove_suffix(1);
  if (const auto value = parse_number<int64_t>(line)) return push(add(PickleKind::integer, *value));
  if (!is_decimal(line)) return malformed("the integer is not a number");
  if (line.size() > kMaxIntegerDigits)
    return error(ErrorCode::limit, fmt::format("found an integer of {} digits, expected at most {}",
                                               line.size(), kMaxIntegerDigits));
  PT2_TRY_VOID(charge(line.size()));
  return push(add(PickleKind::big_integer, std::string(line)));
}

// BINFLOAT is the only big-endian number of the format.
Result<void> Unpickler::push_float() {
  const auto bits = __builtin_bswap64(cursor_.read<uint64_t>());
  return push(add(PickleKind::floating, std::bit_cast<double>(bits)));
}

Result<void> Unpickler::push_float_line() {
  PT2_TRY(const std::string_view line, read_line());
  const auto value = parse_number<double>(line);
  if (!value) return malformed("the float is not a number");
  return push(add(PickleKind::floating, *value));
}

template <class T, PickleKind kKind>
Result<void> Unpickler::push_text() {
  const std::string_view text = cursor_.read_text(cursor_.read<T>());
  PT2_TRY_VOID(charge(text.size()));
  return push(add(kKind, std::string(text)));
}

// Escapes (\uXXXX for characters beyond Latin-1) occur only in protocol 0, which torch.save cannot
// write.
Result<void> Unpickler::push_text_line() {
  PT2_TRY(const std::string_view line, read_line());
  if (line.find('\\') != line.npos)
    return error(ErrorCode::unsupported, "the text has escapes of protocol 0");
  PT2_TRY_VOID(charge(line.size()));
  return push(add(PickleKind::string, std::string(line)));
}

Result<void> Unpickler::push_string_line() {
  PT2_TRY(std::string_view line, read_line());
  const bool quoted = line.size() >= 2 && line.front() == line.back() &&
                      (line.front() == '\'' || line.front() == '"');
  if (!quoted) return malformed("the string has no quotes");
  line = line.substr(1, line.size() - 2);
  if (line.find('\\') != line.npos)
    return error(ErrorCode::unsupported, "the text has escapes of protocol 0");
  PT2_TRY_VOID(charge(line.size()));
  return push(add(PickleKind::string, std::string(line)));
}

template <PickleKind kKind>
Result<void> Unpickler::push_empty() {
  return push(add(kKind, PickleItems()));
}

template <PickleKind kKind>
Result<void> Unpickler::push_since_mark() {
  PT2_TRY(PickleItems items, take_since_mark());
  if (is_dict_kind(kKind) && items.size() % 2 != 0)
    return malformed("a dict has a key without a value");
  return push(add(kKind, std::move(items)));
}

Result<void> Unpickler::push_frozenset() {
  PT2_TRY_VOID(push_since_mark<PickleKind::set>());
  return keep_frozen(stack_.back());
}

template <size_t kCount>
Result<void> Unpickler::push_tuple_of() {
  PickleItems items(kCount);
  for (size_t i = kCount; i-- > 0;) {
    PT2_TRY(items[i], take());
  }
  PT2_TRY_VOID(charge(kCount * sizeof(PickleId)));
  return push(add(PickleKind::tuple, std::move(items)));
}

// An object accepts any items: they only become its parts.
Result<void> Unpickler::extend(PickleId target, Args items, bool pairs) {
  PickleNode& changed = graph_->nodes[target];
  PickleItems* list = std::get_if<PickleItems>(&changed.payload);
  const bool fits = pairs ? is_dict_kind(changed.kind)
                          : is_sequence_kind(changed.kind) && changed.kind != PickleKind::tuple;
  if (changed.kind == PickleKind::object) {
    PickleObject& object = *std::get<std::unique_ptr<PickleObject>>(changed.payload);
    list = &object.items;
    object.pairs |= pairs;
  } else if (!fits) {
    return malformed(
        fmt::format("found {}, expected a container for items", pickle_kind_name(changed.kind)));
  }
  if (pairs && items.size() % 2 != 0) return malformed("a dict has a key without a value");
  PT2_TRY_VOID(charge(items.size() * sizeof(PickleId) * 2));
  list->insert(list->end(), items.begin(), items.end());
  return {};
}

Result<void> Unpickler::append() {
  PT2_TRY(const PickleId item, take());
  PT2_TRY(const PickleId target, top());
  return extend(target, {&item, 1}, false);
}

Result<void> Unpickler::append_since_mark() {
  PT2_TRY(const PickleItems items, take_since_mark());
  PT2_TRY(const PickleId target, top());
  return extend(target, items, false);
}

Result<void> Unpickler::set_item() {
  std::array<PickleId, 2> pair{};
  PT2_TRY(pair[1], take());
  PT2_TRY(pair[0], take());
  PT2_TRY(const PickleId target, top());
  return extend(target, pair, true);
}

Result<void> Unpickler::set_items_since_mark() {
  PT2_TRY(const PickleItems items, take_since_mark());
  PT2_TRY(const PickleId target, top());
  return extend(target, items, true);
}

Result<void> Unpickler::global_lines() {
  PT2_TRY(const std::string_view module, read_line());
  PT2_TRY(const std::string_view name, read_line());
  return push(add_global(fmt::format("{}.{}", module, name)));
}

Result<void> Unpickler::stack_global() {
  PT2_TRY(const PickleId name, take());
  PT2_TRY(const PickleId module, take());
  const std::string* name_text = find_text(name);
  const std::string* module_text = find_text(module);
  if (name_text == nullptr || module_text == nullptr)
    return malformed("the global's name is not a string");
  return push(add_global(fmt::format("{}.{}", *module_text, *name_text)));
}

Result<void> Unpickler::reduce() {
  PT2_TRY(const PickleId arguments, take());
  PT2_TRY(const PickleId function, take());
  return push(call(function, arguments, false));
}

Result<void> Unpickler::new_object() {
  PT2_TRY(const PickleId arguments, take());
  PT2_TRY(const PickleId type, take());
  return push(call(type, arguments, true));
}

Result<void> Unpickler::new_object_with_keywords() {
  PT2_TRY_VOID(take());
  PT2_TRY_VOID(new_object());
  if (node(stack_.back()).kind != PickleKind::object) return {};
  PT2_TRY_VOID(forget_making(stack_.back()));
  return {};
}

Result<void> Unpickler::instance_lines() {
  PT2_TRY(const std::string_view module, read_line());
  PT2_TRY(const std::string_view name, read_line());
  PT2_TRY(const PickleId type, add_global(fmt::format("{}.{}", module, name)));
  PT2_TRY(PickleItems items, take_since_mark());
  PT2_TRY(const PickleId arguments, add(PickleKind::tuple, std::move(items)));
  return push(call(type, arguments, false));
}

Result<void> Unpickler::instance_since_mark() {
  PT2_TRY(PickleItems items, take_since_mark());
  if (items.empty()) return malformed("the object has no class");
  const PickleId type = items.front();
  items.erase(items.begin());
  PT2_TRY(const PickleId arguments, add(PickleKind::tuple, std::move(items)));
  return push(call(type, arguments, false));
}

// The state of known values (hooks, _metadata of a state dict, dynamo's marks on tensors) does not
// change what is read here. The state of a global is a call: Python would set attributes of a
// shared class or function.
Result<void> Unpickler::build() {
  PT2_TRY(const PickleId state, take());
  PT2_TRY(const PickleId target, top());
  if (!name_of(target).empty())
    note_call(fmt::format("setattr of {}", printable(name_of(target))), {&state, 1});
  if (node(target).kind != PickleKind::object) return keep_state(target, state);
  PT2_TRY_VOID(name_script_object(target, state));
  PickleObject& object = *std::get<std::unique_ptr<PickleObject>>(graph_->nodes[target].payload);
  object.state = object.items.size();
  return extend(target, {&state, 1}, false);
}

// The state of a script object is (the result of __getstate__, the name of its C++ class).
Result<void> Unpickler::name_script_object(PickleId target, PickleId state) {
  PickleObject& object = *std::get<std::unique_ptr<PickleObject>>(graph_->nodes[target].payload);
  const PickleItems* parts = find_items(state);
  if (object.text != kScriptObject || parts == nullptr || parts->size() != 2) return {};
  const std::string* name = find_text((*parts)[1]);
  if (name == nullptr) return {};
  PT2_TRY_VOID(charge(name->size()));
  object.text = *name;
  return {};
}

Result<void> Unpickler::persistent_id() {
  PT2_TRY(const PickleId id, take());
  const PickleItems* items = find_items(id);
  if (items == nullptr || node(id).kind != PickleKind::tuple)
    return malformed("the persistent id is not a tuple");
  return push(load_storage(*items));
}

PickleMemory PickleMemory::of(size_t pickle_bytes, const Limits& limits) {
  constexpr uint64_t kAlways = 1 << 16;
  const uint64_t allowed =
      std::max(kAlways, saturating_product(pickle_bytes, limits.max_pickle_ratio));
  if (allowed >= limits.max_pickle_memory) return {limits.max_pickle_memory, "max_pickle_memory"};
  return {allowed, "max_pickle_ratio"};
}

std::string PickleMemory::exceeded_text(std::string_view what) const {
  return fmt::format("{} more than {} bytes ({})", what, max, limit);
}

Result<Pickle> read_pickle(std::span<const std::byte> bytes, PickleMode mode,
                           const StorageLoader& storages, const Limits& limits) {
  return Unpickler(bytes, mode, storages, limits).run();
}

}  // namespace pt2
