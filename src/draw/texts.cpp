#include "draw/texts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "ir/target.h"
#include "pt2/ir/type_text.h"
#include "text/vocabulary.h"

namespace pt2::picture {
namespace {

constexpr std::string_view kEllipsis = "…";
constexpr size_t kShownDims = 6;

// Returns the bytes of the character at `at`; 0 if it is invalid. Reads at most 4 bytes.
size_t character_bytes(std::string_view text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return 1;
  const size_t bytes = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const std::string_view character = text.substr(at, bytes);
  return character.size() == bytes && is_utf8(character) ? bytes : 0;
}

// True for Hangul, kana, ideographs and emoji, which begin at E1 84 80 in UTF-8.
bool is_wide(std::string_view character) {
  return character.size() > 2 && character >= "\xe1\x84\x80" &&
         !(character >= "\xe2\x80\x80" && character < "\xe2\xba\x80");
}

// True for marks that reverse or hide text, with which a name could pose as another.
bool is_hidden(std::string_view character) {
  return character == "\xd8\x9c" || (character >= "\xe2\x80\x8b" && character <= "\xe2\x80\x8f") ||
         (character >= "\xe2\x80\xa8" && character <= "\xe2\x80\xae") ||
         (character >= "\xe2\x81\xa0" && character <= "\xe2\x81\xaf") ||
         character == "\xef\xbb\xbf";
}

// True for U+FFFE and U+FFFF, which XML forbids: no reader would open the picture.
bool is_no_xml(std::string_view character) {
  return character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf";
}

// True for nearly every text: each character is visible, one column and one byte.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

// Calls `take(character)` for each character until it returns false; "?" replaces a hidden one.
template <class Take>
void for_each_character(std::string_view text, Take&& take) {
  for (size_t at = 0; at < text.size();) {
    const size_t bytes = character_bytes(text, at);
    std::string_view character = bytes == 0 ? "?" : text.substr(at, bytes);
    const auto first = static_cast<unsigned char>(character[0]);
    const bool is_control = first < 0x20 || first == 0x7f ||
                            (first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0);
    if (is_control || is_hidden(character) || is_no_xml(character)) character = "?";
    if (!take(character)) return;
    at += std::max<size_t>(bytes, 1);
  }
}

class PieceMaker {
 public:
  void argument(const Argument& argument) { std::visit(*this, argument.variant); }

  void operator()(None) { text("None"); }
  void operator()(ValueId id) {
    if (is_full_) return;
    bytes_ += 8;
    pieces_.emplace_back(id);
  }
  void operator()(bool value) { text(value ? "True" : "False"); }
  void operator()(int64_t value) { text(fmt::format("{}", value)); }
  void operator()(double value) { text(print_float(value)); }
  void operator()(std::complex<double> value) {
    text(fmt::format("complex({}, {})", print_float(value.real()), print_float(value.imag())));
  }
  void operator()(const std::string& value) { text("\"" + kept(value) + "\""); }
  void operator()(ScalarType value) { text(dtype_text(value)); }
  void operator()(MemoryFormat value) { word(memory_format_word(value)); }
  void operator()(Layout value) { word(layout_word(value)); }
  void operator()(const Device& value) {
    text(value.index ? fmt::format("{}:{}", kept(value.type), *value.index) : kept(value.type));
  }
  void operator()(const OperatorName& value) { text(kept(value.target)); }
  void operator()(SubgraphId) { text("graph"); }
  void operator()(const CustomObject& value) { text(kept(value.name)); }
  void operator()(const ArgumentList& list) {
    text("[");
    for (size_t i = 0; i < list.items.size() && !is_full_; ++i) {
      if (i != 0) text(", ");
      argument(list.items[i]);
    }
    text("]");
  }
  void operator()(const ArgumentMap& map) {
    text("{");
    for (size_t i = 0; i < map.items.size() && !is_full_; ++i) {
      text((i != 0 ? ", " : "") + kept(map.items[i].first) + ": ");
      argument(map.items[i].second);
    }
    text("}");
  }
  void operator()(const UnknownArgument& value) { text(kept(value.tag)); }

  std::vector<ArgumentPiece> take() { return std::move(pieces_); }

 private:
  void word(std::string_view word) { text(word.empty() ? "?" : word); }
  void text(std::string_view more) {
    if (is_full_) return;
    bytes_ += more.size();
    is_full_ = bytes_ > kKeptBytes;
    if (is_full_) more = kEllipsis;
    auto* last = pieces_.empty() ? nullptr : std::get_if<std::string>(&pieces_.back());
    if (last != nullptr)
      *last += more;
    else
      pieces_.emplace_back(std::string(more));
  }

  std::vector<ArgumentPiece> pieces_;
  size_t bytes_ = 0;
  bool is_full_ = false;
};

// Omits long expressions, which nobody can read in a picture.
std::string size_text(const SymInt& size, size_t max_columns) {
  constexpr size_t kLargest = 64;
  if (size.is_symbolic() && size.expr() && size.expr()->size > kLargest)
    return std::string(kEllipsis);
  return shortened(print(size), max_columns);
}

}  // namespace

size_t columns(std::string_view text) {
  if (is_plain(text)) return text.size();
  size_t count = 0;
  for_each_character(text, [&](std::string_view character) {
    count += is_wide(character) ? 2 : 1;
    return true;
  });
  return count;
}

std::string shortened(std::string_view text, size_t max_columns) {
  if (text.size() <= max_columns && is_plain(text)) return std::string(text);
  std::string out;
  size_t before_last = 0, used = 0;
  for_each_character(text, [&](std::string_view character) {
    used += is_wide(character) ? 2 : 1;
    if (used > max_columns) {
      out.resize(before_last);
      out += kEllipsis;
      return false;
    }
    if (used < max_columns) before_last = out.size() + character.size();
    out += character;
    return true;
  });
  return out;
}

std::string kept(std::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes && is_plain(text)) return std::string(text);
  std::string out;
  for_each_character(text, [&](std::string_view character) {
    if (out.size() + character.size() > max_bytes) {
      out += kEllipsis;
      return false;
    }
    out += character;
    return true;
  });
  return out;
}

std::string operator_title(std::string_view target) {
  const std::string_view space = target_namespace(target);
  if (space.empty()) return std::string(last_part(target));
  const std::string_view name = operator_name(target);
  return space == "aten" ? std::string(name) : fmt::format("{}::{}", space, name);
}

std::string short_type(const GraphValue& value) {
  switch (value.kind()) {
    case ValueKind::tensor: {
      const TensorMeta& meta = *value.tensor();
      std::string out = dtype_text(meta.dtype) + "[";
      for (size_t i = 0; i < meta.sizes.size(); ++i) {
        if (i == kShownDims) return out + ", …]";
        out += (i > 0 ? ", " : "") + size_text(meta.sizes[i], 14);
      }
      return out + "]";
    }
    case ValueKind::sym_int:
      return "int " + size_text(std::get<SymInt>(value.meta), 20);
    case ValueKind::sym_float:
      return "float";
    case ValueKind::sym_bool:
      return "bool";
    case ValueKind::custom_obj:
      return shortened(std::get<CustomObjectType>(value.meta).class_fqn);
  }
  return "";
}

std::vector<ArgumentPiece> argument_pieces(const Argument& argument) {
  PieceMaker maker;
  maker.argument(argument);
  return maker.take();
}

}  // namespace pt2::picture
