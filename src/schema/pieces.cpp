#include "schema/pieces.h"

#include <array>

namespace pt2::schema {
namespace {

enum class Mark : uint8_t { none, quote, open, close };

constexpr std::array<Mark, 256> kMarks = [] {
  std::array<Mark, 256> marks{};
  marks['"'] = Mark::quote;
  marks['{'] = marks['['] = Mark::open;
  marks['}'] = marks[']'] = Mark::close;
  return marks;
}();

// Walks brackets and strings. Functions return false if they see that the text is not JSON.
class Splitter {
 public:
  Splitter(std::string_view json, size_t piece_bytes) : json_(json), piece_bytes_(piece_bytes) {}

  std::optional<Pieces> split() {
    if (!walk_object(0)) return std::nullopt;
    pieces_.outline += json_.substr(copied_);
    return std::move(pieces_);
  }

 private:
  static constexpr std::string_view kWay[] = {"graph_module", "graph"};

  char peek() {
    while (at_ < json_.size() && static_cast<unsigned char>(json_[at_]) <= ' ') ++at_;
    return at_ < json_.size() ? json_[at_] : '\0';
  }
  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  bool skip_string() {
    if (!take('"')) return false;
    for (;;) {
      at_ = json_.find('"', at_);
      if (at_ == std::string_view::npos) return false;
      size_t slashes = 0;
      while (json_[at_ - slashes - 1] == '\\') ++slashes;
      ++at_;
      if (slashes % 2 == 0) return true;
    }
  }

  bool skip_value() {
    const char first = peek();
    if (first == '"') return skip_string();
    if (first != '{' && first != '[') {
      at_ = std::min(json_.find_first_of(",]}", at_), json_.size());
      return true;
    }
    size_t depth = 0;
    do {
      if (at_ >= json_.size()) return false;
      switch (kMarks[static_cast<unsigned char>(json_[at_])]) {
        case Mark::quote:
          if (!skip_string()) return false;
          continue;
        case Mark::open:
          ++depth;
          break;
        case Mark::close:
          --depth;
          break;
        case Mark::none:
          break;
      }
      ++at_;
    } while (depth > 0);
    return true;
  }

  bool read_key(std::string_view& key) {
    if (peek() != '"') return false;
    const size_t begin = at_ + 1;
    if (!skip_string()) return false;
    key = json_.substr(begin, at_ - begin - 1);
    return take(':');
  }

  // `level` is the number of steps of kWay that lead to this object.
  bool walk_object(size_t level) {
    if (!take('{')) return false;
    if (take('}')) return true;
    do {
      std::string_view key;
      if (!read_key(key)) return false;
      if (level < std::size(kWay) && key == kWay[level] ? !walk_object(level + 1)
          : level == std::size(kWay) && key == "nodes"
              ? !cut_table('[', ']', pieces_.nodes, pieces_.nodes_at)
          : level == std::size(kWay) && key == "tensor_values"
              ? !cut_table('{', '}', pieces_.tensor_values, pieces_.tensor_values_at)
              : !skip_value())
        return false;
    } while (take(','));
    return take('}');
  }

  bool cut_table(char open, char close, std::vector<std::string_view>& out, size_t& place) {
    if (!out.empty() || !take(open)) return false;
    pieces_.outline += json_.substr(copied_, at_ - copied_);
    place = pieces_.outline.size();
    if (peek() != close) {
      size_t begin = at_;
      do {
        std::string_view key;
        if (open == '{' && !read_key(key)) return false;
        if (!skip_value()) return false;
        const size_t end = at_;
        if (peek() == ',' && end - begin < piece_bytes_) continue;
        out.push_back(json_.substr(begin, end - begin));
        begin = at_ + 1;
      } while (take(','));
    }
    copied_ = at_;
    return take(close);
  }

  std::string_view json_;
  size_t piece_bytes_;
  size_t at_ = 0;
  size_t copied_ = 0;  // the text before this offset is in pieces_
  Pieces pieces_;
};

}  // namespace

std::optional<Pieces> split_program(std::string_view json, size_t piece_bytes) {
  return Splitter(json, piece_bytes).split();
}

}  // namespace pt2::schema
