#include <algorithm>
#include <cstring>

#include "base/hash/text_hash.h"
#include "base/json.h"
#include "pt2/format/schema_json.h"
#include "schema/encode.h"
#include "schema/path.h"
#include "schema/type.h"

namespace pt2::schema {
namespace {

// FNV-1a: equal on all machines, and sufficient to find equal values quickly.
class Hasher {
 public:
  void add(const void* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i)
      state_ = (state_ ^ static_cast<const uint8_t*>(bytes)[i]) * 0x100000001b3;
  }
  void add(uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8)
      state_ = (state_ ^ (number >> shift & 0xFF)) * 0x100000001b3;
  }
  void add(std::string_view text) {
    add(text.size());
    add(text.data(), text.size());
  }
  uint64_t value() const { return state_; }

 private:
  uint64_t state_ = 0xcbf29ce484222325;
};

uint64_t bits_of(const void* value) {
  uint64_t bits = 0;
  std::memcpy(&bits, value, sizeof bits);
  return bits;
}

void hash_into(Hasher& hasher, const Type& type, const void* value) {
  switch (type.kind) {
    case Kind::none:
      return;
    case Kind::boolean:
      return hasher.add(static_cast<uint64_t>(as<bool>(value)));
    case Kind::integer:
    case Kind::enumeration:
    case Kind::number:
      return hasher.add(bits_of(value));
    case Kind::string:
      return hasher.add(std::string_view(as<std::string>(value)));
    case Kind::json:
      return hasher.add(std::string_view(as<Json>(value).text));
    case Kind::box:
      return hash_into(hasher, *type.element, type.at(value));
    case Kind::optional:
    case Kind::list:
    case Kind::dict:
      hasher.add(static_cast<uint64_t>(type.size(value)));
      for (size_t i = 0; i < type.size(value); ++i) {
        if (type.kind == Kind::dict) hasher.add(type.key(value, i));
        hash_into(hasher, *type.element, type.at(value, i));
      }
      return;
    case Kind::record:
      for (const Member& member : type.members)
        hash_into(hasher, *member.type, get_member(member, value));
      return;
    case Kind::variant:
      hasher.add(static_cast<uint64_t>(type.size(value)));
      if (!type.is_unknown(value))
        return hash_into(hasher, *type.members[type.size(value)].type, type.at(value));
      hasher.add(std::string_view(unknown_of(type, value).tag));
      hasher.add(std::string_view(unknown_of(type, value).value.text));
      return;
  }
}

class Differ {
 public:
  // Stops at the first difference.
  bool equal(const Type& type, const void* left, const void* right) {
    first_only_ = true;
    compare(type, left, right);
    return differences_.empty();
  }

  std::vector<Difference> all(const Type& type, const void* left, const void* right) {
    compare(type, left, right);
    return std::move(differences_);
  }

 private:
  void compare(const Type& type, const void* left, const void* right) {
    if (first_only_ && !differences_.empty()) return;
    switch (type.kind) {
      case Kind::none:
        return;
      case Kind::boolean:
        return report_if(as<bool>(left) != as<bool>(right), type, left, right);
      case Kind::integer:
      case Kind::enumeration:
      case Kind::number:
        return report_if(bits_of(left) != bits_of(right), type, left, right);
      case Kind::string:
        return report_if(as<std::string>(left) != as<std::string>(right), type, left, right);
      case Kind::json:
        return report_if(as<Json>(left).text != as<Json>(right).text, type, left, right);
      case Kind::optional:
        if (type.size(left) == 0 || type.size(right) == 0) {
          return report_if(type.size(left) != type.size(right), type, left, right);
        }
        return compare(*type.element, type.at(left), type.at(right));
      case Kind::box:
        return compare(*type.element, type.at(left), type.at(right));
      case Kind::list:
        return compare_lists(type, left, right);
      case Kind::dict:
        return compare_dicts(type, left, right);
      case Kind::record:
        for (const Member& member : type.members) {
          below(member.key, [&] {
            compare(*member.type, get_member(member, left), get_member(member, right));
          });
        }
        return;
      case Kind::variant:
        return compare_variants(type, left, right);
    }
  }

  void compare_variants(const Type& type, const void* left, const void* right) {
    if (type.size(left) != type.size(right)) return report(type, left, right);
    if (!type.is_unknown(left)) {
      const Member& held = type.members[type.size(left)];
      return below(held.key, [&] { compare(*held.type, type.at(left), type.at(right)); });
    }
    const UnknownAlternative& one = unknown_of(type, left);
    const UnknownAlternative& other = unknown_of(type, right);
    report_if(one.tag != other.tag || one.value.text != other.value.text, type, left, right);
  }

  void compare_lists(const Type& type, const void* left, const void* right) {
    const size_t left_size = type.size(left);
    const size_t right_size = type.size(right);
    for (size_t i = 0; i < std::max(left_size, right_size); ++i) {
      const size_t mark = path_.size();
      append_index_step(path_, i);
      compare_elements(*type.element, i < left_size ? type.at(left, i) : nullptr,
                       i < right_size ? type.at(right, i) : nullptr);
      path_.resize(mark);
    }
  }

  void compare_dicts(const Type& type, const void* left, const void* right) {
    const auto left_keys = keys_of(type, left);
    const auto right_keys = keys_of(type, right);
    if (left_keys == right_keys) {
      for (size_t i = 0; i < left_keys.size(); ++i) {
        below(left_keys[i], [&] { compare(*type.element, type.at(left, i), type.at(right, i)); });
      }
      return;
    }
    TextMap<std::string_view, const void*> rest;
    for (size_t i = 0; i < right_keys.size(); ++i) rest.emplace(right_keys[i], type.at(right, i));
    bool same_keys = true;
    for (size_t i = 0; i < left_keys.size(); ++i) {
      const auto found = rest.find(left_keys[i]);
      const void* other = found == rest.end() ? nullptr : found->second;
      same_keys &= other != nullptr;
      below(left_keys[i], [&] { compare_elements(*type.element, type.at(left, i), other); });
      if (other) rest.erase(found);
    }
    for (const std::string_view key : right_keys) {
      const auto found = rest.find(key);
      if (found != rest.end())
        below(key, [&] { compare_elements(*type.element, nullptr, found->second); });
    }
    if (same_keys && rest.empty())
      differences_.push_back({path_, print_keys(left_keys), print_keys(right_keys)});
  }

  static std::vector<std::string_view> keys_of(const Type& type, const void* value) {
    std::vector<std::string_view> keys;
    for (size_t i = 0; i < type.size(value); ++i) keys.push_back(type.key(value, i));
    return keys;
  }

  // Prints only the keys, for dictionaries that differ only in their order.
  static std::string print_keys(const std::vector<std::string_view>& keys) {
    JsonWriter writer;
    writer.begin_array();
    for (const std::string_view key : keys) writer.string(key);
    writer.end_array();
    return writer.take();
  }

  void compare_elements(const Type& type, const void* left, const void* right) {
    if (left && right) return compare(type, left, right);
    report(type, left, right);
  }

  template <class Body>
  void below(std::string_view key, Body body) {
    const size_t mark = path_.size();
    append_key_step(path_, key);
    body();
    path_.resize(mark);
  }

  void report_if(bool differs, const Type& type, const void* left, const void* right) {
    if (differs) report(type, left, right);
  }

  // A null pointer means that this side lacks the element.
  void report(const Type& type, const void* left, const void* right) {
    auto print = [&](const void* value) {
      return value ? encode_as(type, value, profile_of(kNewestVersion), JsonStyle::python)
                   : std::string();
    };
    if (first_only_) return static_cast<void>(differences_.emplace_back());
    differences_.push_back({path_, print(left), print(right)});
  }

  bool first_only_ = false;
  std::string path_;
  std::vector<Difference> differences_;
};

}  // namespace

bool equal_values(const Type& type, const void* left, const void* right) {
  return Differ().equal(type, left, right);
}

uint64_t hash_value(const Type& type, const void* value) {
  Hasher hasher;
  hash_into(hasher, type, value);
  return hasher.value();
}

std::vector<Difference> diff_values(const Type& type, const void* left, const void* right) {
  return Differ().all(type, left, right);
}

}  // namespace pt2::schema
