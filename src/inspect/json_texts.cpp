#include "inspect/json_texts.h"

#include <fmt/format.h>

#include <vector>

#include "base/printable.h"

namespace pt2 {
namespace {

// Python's reader fails at its recursion limit, 1000 by default.
constexpr size_t kMaxJsonDepth = 2000;

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

class TextWalker {
 public:
  TextWalker(std::string_view json, const std::function<void(const JsonText&)>& visit)
      : json_(json), visit_(visit) {}

  void run() {
    while (place_ < json_.size() && path_.size() <= kMaxJsonDepth) step(json_[place_++]);
  }

 private:
  void step(char c) {
    if (c == '{' || c == '[') {
      const size_t outer = path_.empty() ? 0 : path_.back().to_member;
      path_.push_back({.in_array = c == '[', .to_member = c == '[' ? outer : path_.size() + 1});
      expects_key_ = c == '{';
    } else if (c == '"') {
      read_text();
    } else if (path_.empty()) {
      return;
    } else if (c == '}' || c == ']') {
      path_.pop_back();
      expects_key_ = false;
    } else if (c == ',') {
      ++path_.back().index;
      expects_key_ = !path_.back().in_array;
    } else if (c == ':') {
      expects_key_ = false;
    }
  }

  void read_text() {
    const size_t start = place_;
    while (place_ < json_.size() && json_[place_] != '"' && json_[place_] != '\\') ++place_;
    std::string_view text = json_.substr(start, place_ - start);
    std::string unescaped;
    if (place_ < json_.size() && json_[place_] == '\\') {
      unescaped = text;
      read_escaped(unescaped);
      text = unescaped;
    }
    ++place_;
    if (!expects_key_) return visit_({path_, text, false});
    visit_({std::span(path_).first(path_.size() - 1), text, true});
    path_.back().key = text;
  }

  void read_escaped(std::string& text) {
    while (place_ < json_.size() && json_[place_] != '"') {
      const char c = json_[place_++];
      if (c == '\\')
        read_escape(text);
      else
        text += c;
    }
  }

  void read_escape(std::string& text) {
    if (place_ >= json_.size()) return;
    const char c = json_[place_++];
    constexpr std::string_view kLetters = "bfnrt", kMeanings = "\b\f\n\r\t";
    if (c == 'u') {
      append_utf8(text, read_code());
    } else if (const size_t found = kLetters.find(c); found != kLetters.npos) {
      text += kMeanings[found];
    } else {
      text += c;
    }
  }

  // Reads halves of surrogate pairs separately: the texts to find are ASCII.
  uint32_t read_code() {
    uint32_t code = 0;
    for (int i = 0; i < 4 && place_ < json_.size(); ++i) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const size_t digit = kDigits.find(static_cast<char>(json_[place_] | 0x20));
      if (digit == kDigits.npos) break;
      code = code * 16 + static_cast<uint32_t>(digit);
      ++place_;
    }
    return code;
  }

  std::string_view json_;
  const std::function<void(const JsonText&)>& visit_;
  size_t place_ = 0;
  std::vector<JsonStep> path_;
  bool expects_key_ = false;
};

}  // namespace

std::string path_text(std::span<const JsonStep> path) {
  constexpr size_t kMost = 4096;
  std::string out;
  for (const JsonStep& step : path) {
    if (out.size() > kMost) return out + "…";
    out += step.in_array ? fmt::format("[{}]", step.index) : "." + bounded(step.key, kMost);
  }
  return out;
}

void for_each_json_text(std::string_view json, const std::function<void(const JsonText&)>& visit) {
  TextWalker(json, visit).run();
}

}  // namespace pt2
