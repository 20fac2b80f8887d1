#include "archive/pickle/pickler.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/printable.h"
#include "base/text.h"

namespace pt2 {
namespace {

constexpr size_t kBatch = 1000;

Error cannot_write(std::string message) { return {ErrorCode::unsupported, std::move(message), {}}; }

// Converts bytes to text with one character for each byte, as protocol 2 carries them.
std::string from_latin1(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += static_cast<char>(0xC0 | byte >> 6);
      out += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return out;
}

// Drops needless bytes of little-endian two's complement (Lib/pickle.py, encode_long).
std::string shortest_long(std::string bytes) {
  while (bytes.size() > 1) {
    const auto last = static_cast<unsigned char>(bytes.back());
    const bool below_negative = (static_cast<unsigned char>(bytes[bytes.size() - 2]) & 0x80) != 0;
    if (!(last == 0 && !below_negative) && !(last == 0xFF && below_negative)) break;
    bytes.pop_back();
  }
  return bytes;
}

// Converts decimal digits to two's complement.
std::string long_of_digits(std::string_view digits) {
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  std::vector<unsigned> magnitude;
  for (const char digit : digits) {
    auto carry = static_cast<unsigned>(digit - '0');
    for (unsigned& byte : magnitude) {
      carry += byte * 10;
      byte = carry & 0xFF;
      carry >>= 8;
    }
    if (carry != 0) magnitude.push_back(carry);
  }
  magnitude.push_back(0);
  std::string bytes;
  unsigned carry = 1;
  for (const unsigned byte : magnitude) {
    carry = negative ? (byte ^ 0xFF) + carry : byte;
    bytes += static_cast<char>(carry);
    carry >>= 8;
  }
  return shortest_long(std::move(bytes));
}

}  // namespace

Result<PickledBytes> Pickler::run() {
  memo_.assign(graph_.nodes.size(), 0);
  out_ = "\x80\x02";
  PT2_TRY_VOID(save(graph_.root));
  op('.');
  return PickledBytes{std::move(out_), std::move(storages_)};
}

template <std::unsigned_integral T>
void Pickler::number(T value) {
  for (size_t i = 0; i < sizeof(T); ++i)
    out_ += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
}

void Pickler::integer(int64_t value) {
  if (value >= 0 && value <= UINT8_MAX) {
    op('K');
    number(static_cast<uint8_t>(value));
  } else if (value >= 0 && value <= UINT16_MAX) {
    op('M');
    number(static_cast<uint16_t>(value));
  } else if (value >= INT32_MIN && value <= INT32_MAX) {
    op('J');
    number(static_cast<uint32_t>(value));
  } else {
    std::string bytes;
    for (size_t i = 0; i < sizeof(value); ++i) bytes += static_cast<char>(value >> (8 * i));
    long_bytes(shortest_long(std::move(bytes)));
  }
}

Result<void> Pickler::big_integer(std::string_view digits) {
  int64_t small = 0;
  const char* end = digits.data() + digits.size();
  if (const auto parsed = std::from_chars(digits.data(), end, small);
      parsed.ec == std::errc() && parsed.ptr == end) {
    integer(small);
  } else {
    long_bytes(long_of_digits(digits));
  }
  return {};
}

void Pickler::long_bytes(std::string_view bytes) {
  if (bytes.size() <= UINT8_MAX) {
    op('\x8a');
    number(static_cast<uint8_t>(bytes.size()));
  } else {
    op('\x8b');
    number(static_cast<uint32_t>(bytes.size()));
  }
  out_ += bytes;
}

void Pickler::floating(double value) {
  op('G');
  number(__builtin_bswap64(std::bit_cast<uint64_t>(value)));
}

Result<void> Pickler::text(std::string_view utf8) {
  if (utf8.size() > UINT32_MAX) return cannot_write("a text is longer than 4 GiB");
  op('X');
  number(static_cast<uint32_t>(utf8.size()));
  out_ += utf8;
  return {};
}

void Pickler::put() {
  if (memo_size_ <= UINT8_MAX) {
    op('q');
    number(static_cast<uint8_t>(memo_size_));
  } else {
    op('r');
    number(memo_size_);
  }
  ++memo_size_;
}

void Pickler::get(uint32_t slot) {
  if (slot <= UINT8_MAX) {
    op('h');
    number(static_cast<uint8_t>(slot));
  } else {
    op('j');
    number(slot);
  }
}

bool Pickler::get(const std::map<std::string, uint32_t, std::less<>>& memo, std::string_view name) {
  const auto found = memo.find(name);
  if (found != memo.end()) get(found->second);
  return found != memo.end();
}

Result<void> Pickler::torch_text(std::string_view value) {
  if (get(texts_, value)) return {};
  PT2_TRY_VOID(text(value));
  texts_.emplace(value, memo_size_);
  put();
  return {};
}

Result<void> Pickler::global(std::string_view qualified_name) {
  if (get(globals_, qualified_name)) return {};
  const size_t dot = qualified_name.rfind('.');
  if (dot == qualified_name.npos || qualified_name.find('\n') != qualified_name.npos)
    return cannot_write(fmt::format("the class name {} has no module, expected MODULE.CLASS",
                                    printable(qualified_name)));
  globals_.emplace(qualified_name, memo_size_);
  out_ += fmt::format("c{}\n{}\n", python2_module(qualified_name.substr(0, dot)),
                      qualified_name.substr(dot + 1));
  put();
  return {};
}

Result<void> Pickler::save(PickleId id) {
  if (memo_[id] != 0) {
    get(memo_[id] - 1);
    return {};
  }
  if (depth_ >= limits_.max_pickle_depth)
    return Error{ErrorCode::limit,
                 fmt::format("nested deeper than max_pickle_depth {}", limits_.max_pickle_depth),
                 {}};
  ++depth_;
  PT2_TRY_VOID(save_new(id));
  --depth_;
  return {};
}

Result<void> Pickler::numbered(PickleId id, const Result<void>& saved) {
  PT2_TRY_VOID(saved);
  memo_[id] = memo_size_ + 1;
  put();
  return {};
}

Result<void> Pickler::save_new(PickleId id) {
  const PickleNode& value = node(id);
  switch (value.kind) {
    case PickleKind::none:
      op('N');
      return {};
    case PickleKind::boolean:
      boolean(std::get<bool>(value.payload));
      return {};
    case PickleKind::integer:
      integer(std::get<int64_t>(value.payload));
      return {};
    case PickleKind::big_integer:
      return big_integer(std::get<std::string>(value.payload));
    case PickleKind::floating:
      floating(std::get<double>(value.payload));
      return {};
    case PickleKind::complex:
      return numbered(id, save_complex(std::get<std::complex<double>>(value.payload)));
    case PickleKind::string:
      return numbered(id, text(std::get<std::string>(value.payload)));
    case PickleKind::bytes:
      return numbered(id, save_bytes(std::get<std::string>(value.payload)));
    case PickleKind::device:
      return numbered(id, save_device(std::get<std::string>(value.payload)));
    case PickleKind::dtype:
      return global("torch." + std::get<std::string>(value.payload));
    case PickleKind::global:
      return global(name_of(value));
    case PickleKind::constant:
      if (const auto* layout = std::get_if<std::string>(&value.payload))
        return numbered(id, save_layout(*layout));
      return global(name_of(value));
    case PickleKind::tuple:
      return save_tuple(id);
    case PickleKind::list:
      return save_list(id);
    case PickleKind::set:
      return numbered(id, save_set(id));
    case PickleKind::deque:
      return save_deque(id);
    case PickleKind::size:
      return numbered(id, save_size(items(id)));
    case PickleKind::dict:
    case PickleKind::ordered_dict:
    case PickleKind::default_dict:
      return save_dict(id);
    case PickleKind::tensor:
      return numbered(id, save_tensor(id));
    case PickleKind::object:
      return save_object(id);
    case PickleKind::storage: {
      const PickleObject& storage = object(id);
      return save_storage(storage.storage, storage.storage_class, storage.device);
    }
  }
  return cannot_write("found a value of a kind that this version does not know");
}

std::string_view Pickler::name_of(const PickleNode& value) const {
  if (const auto* known = std::get_if<const KnownGlobal*>(&value.payload)) return (*known)->name;
  return graph_.refused[std::get<uint32_t>(value.payload)].name;
}

Result<void> Pickler::save_each(Args values) {
  for (const PickleId value : values) PT2_TRY_VOID(save(value));
  return {};
}

void Pickler::end_tuple(size_t count) {
  constexpr char kShort[] = {')', '\x85', '\x86', '\x87'};
  op(count < std::size(kShort) ? kShort[count] : 't');
}

void Pickler::begin_tuple(size_t count) {
  constexpr size_t kLongestShort = 3;
  if (count > kLongestShort) op('(');
}

Result<void> Pickler::call(std::string_view function, size_t count, const Save& arguments) {
  PT2_TRY_VOID(global(function));
  begin_tuple(count);
  PT2_TRY_VOID(arguments());
  end_tuple(count);
  if (count > 0) put();
  op('R');
  return {};
}

Result<void> Pickler::save_complex(std::complex<double> value) {
  return call("builtins.complex", 2, [&]() -> Result<void> {
    floating(value.real());
    floating(value.imag());
    return {};
  });
}

Result<void> Pickler::save_bytes(std::string_view bytes) {
  if (bytes.empty()) return call(kBytes, 0, []() -> Result<void> { return {}; });
  return call("_codecs.encode", 2, [&]() -> Result<void> {
    PT2_TRY_VOID(text(from_latin1(bytes)));
    put();
    return torch_text("latin1");
  });
}

Result<void> Pickler::save_device(std::string_view device) {
  const size_t colon = device.find(':');
  const auto index = colon == device.npos ? std::nullopt : parse_int(device.substr(colon + 1));
  return call("torch.device", index ? 2 : 1, [&]() -> Result<void> {
    PT2_TRY_VOID(text(index ? device.substr(0, colon) : device));
    put();
    if (index) integer(*index);
    return {};
  });
}

Result<void> Pickler::save_layout(std::string_view layout) {
  return call("torch.serialization._get_layout", 1, [&]() -> Result<void> {
    PT2_TRY_VOID(text(layout));
    put();
    return {};
  });
}

// A tuple gets its number when it is complete. If the tuple contains itself through a list, it got
// a number while its items were written: the items are popped, and the memoised tuple takes their
// place.
Result<void> Pickler::save_tuple(PickleId id) {
  const PickleItems& values = items(id);
  begin_tuple(values.size());
  PT2_TRY_VOID(save_each(values));
  if (memo_[id] != 0) {
    constexpr size_t kLongestShort = 3;
    if (values.size() > kLongestShort) {
      op('1');
    } else {
      out_.append(values.size(), '0');
    }
    get(memo_[id] - 1);
    return {};
  }
  end_tuple(values.size());
  return values.empty() ? Result<void>() : numbered(id, {});
}

Result<void> Pickler::save_list(PickleId id) {
  op(']');
  PT2_TRY_VOID(numbered(id, {}));
  return append_items(items(id), Batches::builtin);
}

Result<void> Pickler::save_set(PickleId id) {
  const bool frozen = graph_.extras.frozen.contains(id);
  return call(frozen ? "builtins.frozenset" : "builtins.set", 1, [&]() -> Result<void> {
    op(']');
    put();
    return append_items(items(id), Batches::builtin);
  });
}

Result<void> Pickler::save_size(Args values) {
  return call("torch.Size", 1, [&]() -> Result<void> {
    begin_tuple(values.size());
    PT2_TRY_VOID(save_each(values));
    end_tuple(values.size());
    if (!values.empty()) put();
    return {};
  });
}

// The arguments are (items, maximum length). Python passes no items here and appends them later.
Result<void> Pickler::save_deque(PickleId id) {
  const auto bounded = graph_.extras.arguments.find(id);
  const bool has_length = bounded != graph_.extras.arguments.end() && bounded->second.size() > 1;
  PT2_TRY_VOID(numbered(id, call("collections.deque", has_length ? 2 : 0, [&]() -> Result<void> {
                          if (!has_length) return {};
                          op(')');
                          return save(bounded->second[1]);
                        })));
  return append_items(items(id), Batches::iterated);
}

Result<void> Pickler::save_dict(PickleId id) {
  const PickleKind kind = node(id).kind;
  if (kind == PickleKind::dict) {
    op('}');
    PT2_TRY_VOID(numbered(id, {}));
    PT2_TRY_VOID(append_pairs(items(id), Batches::builtin));
  } else {
    const auto made = graph_.extras.arguments.find(id);
    const Args factory = made == graph_.extras.arguments.end() ? Args() : Args(made->second);
    const std::string_view name =
        kind == PickleKind::ordered_dict ? "collections.OrderedDict" : "collections.defaultdict";
    PT2_TRY_VOID(numbered(id, call(name, std::min<size_t>(factory.size(), 1), [&] {
                            return save_each(factory.first(std::min<size_t>(factory.size(), 1)));
                          })));
    PT2_TRY_VOID(append_pairs(items(id), Batches::iterated));
  }
  const auto state = graph_.extras.states.find(id);
  if (state == graph_.extras.states.end()) return {};
  PT2_TRY_VOID(save(state->second));
  op('b');
  return {};
}

// Writes an object of an unknown class: a call of its class or of a function, then its items and
// its state.
Result<void> Pickler::save_object(PickleId id) {
  const PickleObject& value = object(id);
  if (!value.arguments)
    return cannot_write(fmt::format("a {} cannot be pickled here", printable(value.text)));
  const Args all(value.items);
  const Args arguments = all.first(*value.arguments);
  PT2_TRY_VOID(global(value.python_class != nullptr ? value.python_class->name : value.text));
  begin_tuple(arguments.size());
  PT2_TRY_VOID(save_each(arguments));
  end_tuple(arguments.size());
  if (!arguments.empty()) put();
  op(value.called ? 'R' : '\x81');
  PT2_TRY_VOID(numbered(id, {}));
  PickleItems appended(all.begin() + static_cast<std::ptrdiff_t>(*value.arguments), all.end());
  if (value.state) {
    appended.erase(appended.begin() + static_cast<std::ptrdiff_t>(*value.state - *value.arguments));
  }
  PT2_TRY_VOID(value.pairs ? append_pairs(appended, Batches::iterated)
                           : append_items(appended, Batches::iterated));
  if (!value.state) return {};
  PT2_TRY_VOID(save(all[*value.state]));
  op('b');
  return {};
}

Result<void> Pickler::append_items(Args values, Batches form) { return append(values, 1, form); }

Result<void> Pickler::append_pairs(Args values, Batches form) { return append(values, 2, form); }

// Imitates batch_list and batch_dict of Modules/_pickle.c, and their _exact forms. The exact form
// of a dict stops only after a batch that is not full, so a full last batch is followed by an empty
// one.
Result<void> Pickler::append(Args values, size_t width, Batches form) {
  const char one = width == 1 ? 'a' : 's';
  const char many = width == 1 ? 'e' : 'u';
  const size_t total = values.size();
  for (size_t done = 0; done < total;) {
    const size_t count = std::min(total - done, kBatch * width);
    const bool single = count == width && (form == Batches::iterated || total == width);
    if (!single) op('(');
    PT2_TRY_VOID(save_each(values.subspan(done, count)));
    op(single ? one : many);
    done += count;
  }
  const bool ends_full = total > 0 && total % (kBatch * width) == 0;
  if (ends_full && width == 2 && form == Batches::builtin) out_ += "(u";
  return {};
}

Result<PickledBytes> write_pickle(const Pickle& pickle, const Limits& limits) {
  return Pickler(pickle, limits).run();
}

}  // namespace pt2
