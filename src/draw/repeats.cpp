#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "draw/hierarchy.h"
#include "transform/node_hash.h"

namespace pt2::picture {
namespace {

constexpr size_t kLongestPeriod = 256;
constexpr size_t kCandidates = 4;
// Comparisons for each child. Children beyond this effort, in hostile programs, stay unfolded.
constexpr size_t kEffort = 64;
// A box with more children than this is cut into parts.
constexpr size_t kMostChildren = 256;
constexpr size_t kPart = 64;

struct Run {
  size_t period = 0, count = 0;
};

class Folder {
 public:
  Folder(Drawing& drawing, std::vector<uint64_t>& hashes) : drawing_(drawing), hashes_(hashes) {}

  std::vector<uint32_t> fold(const std::vector<uint32_t>& children) {
    find_next(children);
    effort_ = kEffort * children.size();
    std::vector<uint32_t> out;
    for (size_t i = 0; i < children.size();) {
      const Run run = find_run(children, i);
      if (run.count == 0) {
        out.push_back(children[i++]);
        continue;
      }
      out.push_back(make_repeat(std::span(children).subspan(i, run.period * run.count), run));
      i += run.period * run.count;
    }
    return out;
  }

  std::vector<uint32_t> cut(std::vector<uint32_t> children) {
    while (children.size() > kMostChildren) {
      std::vector<uint32_t> parts;
      const size_t count = (children.size() + kPart - 1) / kPart;
      for (size_t i = 0; i < count; ++i) {
        const size_t begin = i * kPart, end = std::min(begin + kPart, children.size());
        parts.push_back(make_group(BoxKind::part, std::span(children).subspan(begin, end - begin)));
        drawing_.boxes[parts.back()].title = fmt::format("part {} of {}", i + 1, count);
      }
      children = std::move(parts);
    }
    return children;
  }

 private:
  // Finds for each child the next equal child.
  void find_next(const std::vector<uint32_t>& children) {
    next_.assign(children.size(), SIZE_MAX);
    std::unordered_map<uint64_t, size_t> last;
    for (size_t i = children.size(); i-- > 0;) {
      const auto [found, is_new] = last.try_emplace(hashes_[children[i]], i);
      if (!is_new) next_[i] = std::exchange(found->second, i);
    }
  }

  Run find_run(const std::vector<uint32_t>& children, size_t begin) {
    size_t again = begin;
    for (size_t tried = 0; tried < kCandidates; ++tried) {
      again = next_[again];
      if (again == SIZE_MAX || again - begin > kLongestPeriod) return {};
      const size_t period = again - begin;
      size_t equal = 0;  // children after the first period that equal the child one period before
      while (begin + period + equal < children.size() && effort_ > 0 &&
             hashes_[children[begin + equal]] == hashes_[children[begin + period + equal]]) {
        ++equal;
        --effort_;
      }
      const Run run{period, equal / period + 1};
      if (is_worth_folding(children, begin, run)) return run;
    }
    return {};
  }

  // True for repeated blocks. Plain nodes must repeat often enough to be a block without a module.
  bool is_worth_folding(const std::vector<uint32_t>& children, size_t begin, Run run) const {
    if (run.count < 2) return false;
    const size_t fewest = run.period >= 4 ? 3 : 8;
    return run.count >= fewest ||
           std::any_of(children.begin() + static_cast<ptrdiff_t>(begin),
                       children.begin() + static_cast<ptrdiff_t>(begin + run.period),
                       [&](uint32_t child) { return !drawing_.boxes[child].children.empty(); });
  }

  uint32_t make_group(BoxKind kind, std::span<const uint32_t> children) {
    const auto id = static_cast<uint32_t>(drawing_.boxes.size());
    Box made{.kind = kind, .children = {children.begin(), children.end()}};
    uint64_t hash = static_cast<uint64_t>(kind);
    for (const uint32_t child : children) {
      drawing_.boxes[child].parent = id;
      made.nodes += drawing_.boxes[child].nodes;
      hash = mix_hash(hash, hashes_[child]);
    }
    made.path = drawing_.boxes[children[0]].path;
    drawing_.boxes.push_back(std::move(made));
    hashes_.push_back(hash);
    return id;
  }

  uint32_t make_repeat(std::span<const uint32_t> children, Run run) {
    std::vector<uint32_t> units;
    for (size_t i = 0; i < run.count; ++i) {
      const auto unit = children.subspan(i * run.period, run.period);
      units.push_back(run.period == 1 ? unit[0] : make_group(BoxKind::part, unit));
      if (run.period > 1) drawing_.boxes[units.back()].title = fmt::format("block {}", i + 1);
    }
    if (run.count > 2) {
      const uint32_t rest = make_group(BoxKind::rest, cut({units.begin() + 1, units.end()}));
      drawing_.boxes[rest].title = fmt::format("{} more", run.count - 1);
      drawing_.boxes[rest].detail = between(units[1], units.back());
      units = {units[0], rest};
    }
    const uint32_t repeat = make_group(BoxKind::repeat, units);
    const Box& first = drawing_.boxes[units[0]];
    Box& made = drawing_.boxes[repeat];
    made.title = fmt::format("{} × {}", run.count, block_name(first));
    made.detail = between(units[0], children.back());
    return repeat;
  }

  static std::string block_name(const Box& box) {
    if (box.kind == BoxKind::module && !box.detail.empty()) return box.detail;
    return box.kind == BoxKind::part ? "block" : box.title;
  }

  std::string between(uint32_t first, uint32_t last) const {
    const Box& a = drawing_.boxes[first];
    const Box& b = drawing_.boxes[last];
    if (a.kind != BoxKind::module || b.kind != BoxKind::module) return "";
    return fmt::format("{} … {}", a.path, b.path);
  }

  Drawing& drawing_;
  std::vector<uint64_t>& hashes_;
  std::vector<size_t> next_;
  size_t effort_ = 0;
};

}  // namespace

std::vector<uint32_t> fold_children(Drawing& drawing, std::vector<uint64_t>& hashes,
                                    std::vector<uint32_t> children) {
  Folder folder(drawing, hashes);
  return folder.cut(folder.fold(children));
}

}  // namespace pt2::picture
