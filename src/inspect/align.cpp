#include "inspect/align.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace pt2 {
namespace {

// The maximum number of edits in the search for a shortest edit sequence.
constexpr int64_t kMaxEdits = 1000;
// The search for anchors may visit each element this many times. It repeats for the parts between
// anchors, and each time may split off only a few elements.
constexpr size_t kMaxVisits = 64;

struct Box {
  size_t before_begin, before_end, after_begin, after_end;
  size_t before_size() const { return before_end - before_begin; }
  size_t after_size() const { return after_end - after_begin; }
};

class Aligner {
 public:
  Aligner(std::span<const uint64_t> before, std::span<const uint64_t> after)
      : before_(before), after_(after), visits_left_(kMaxVisits * (before.size() + after.size())) {}

  IndexPairs run() {
    std::vector<Box> boxes{{0, before_.size(), 0, after_.size()}};
    while (!boxes.empty()) {
      const Box box = trimmed(boxes.back());
      boxes.pop_back();
      if (box.before_size() == 0 || box.after_size() == 0) continue;
      if (!split_at_anchors(box, boxes) && !split_at_snake(box, boxes)) pair_greedily(box);
    }
    std::ranges::sort(pairs_);
    return std::move(pairs_);
  }

 private:
  Box trimmed(Box box) {
    while (box.before_size() > 0 && box.after_size() > 0 &&
           before_[box.before_begin] == after_[box.after_begin])
      pairs_.emplace_back(box.before_begin++, box.after_begin++);
    while (box.before_size() > 0 && box.after_size() > 0 &&
           before_[box.before_end - 1] == after_[box.after_end - 1])
      pairs_.emplace_back(--box.before_end, --box.after_end);
    return box;
  }

  struct Count {
    size_t in_before = 0, in_after = 0, place = 0;
  };

  // Splits at the longest increasing sequence of elements that occur once on each side.
  bool split_at_anchors(const Box& box, std::vector<Box>& boxes) {
    const size_t visits = box.before_size() + box.after_size();
    if (visits > visits_left_) return false;
    visits_left_ -= visits;
    std::unordered_map<uint64_t, Count> counts;
    for (size_t i = box.before_begin; i < box.before_end; ++i) ++counts[before_[i]].in_before;
    for (size_t i = box.after_begin; i < box.after_end; ++i) {
      const auto found = counts.find(after_[i]);
      if (found == counts.end()) continue;
      ++found->second.in_after;
      found->second.place = i;
    }
    IndexPairs unique;
    for (size_t i = box.before_begin; i < box.before_end; ++i) {
      const Count& count = counts[before_[i]];
      if (count.in_before == 1 && count.in_after == 1) unique.emplace_back(i, count.place);
    }
    if (unique.empty()) return false;
    Box rest = box;
    for (const auto& [before, after] : longest_rising(unique)) {
      boxes.push_back({rest.before_begin, before + 1, rest.after_begin, after + 1});
      rest.before_begin = before + 1;
      rest.after_begin = after + 1;
    }
    boxes.push_back(rest);
    return true;
  }

  static IndexPairs longest_rising(const IndexPairs& pairs) {
    std::vector<size_t> tails, previous(pairs.size(), SIZE_MAX);
    for (size_t i = 0; i < pairs.size(); ++i) {
      const auto tail = std::ranges::lower_bound(tails, pairs[i].second, {},
                                                 [&](size_t each) { return pairs[each].second; });
      if (tail != tails.begin()) previous[i] = *(tail - 1);
      if (tail == tails.end())
        tails.push_back(i);
      else
        *tail = i;
    }
    IndexPairs out;
    for (size_t i = tails.back(); i != SIZE_MAX; i = previous[i]) out.push_back(pairs[i]);
    std::ranges::reverse(out);
    return out;
  }

  // Myers, "An O(ND) Difference Algorithm and Its Variations" (1986): finds the middle of a
  // shortest edit sequence from both ends.
  bool split_at_snake(const Box& box, std::vector<Box>& boxes) const {
    const auto n = static_cast<int64_t>(box.before_size()),
               m = static_cast<int64_t>(box.after_size());
    const int64_t delta = n - m, bound = std::min((n + m + 1) / 2, kMaxEdits);
    std::vector<int64_t> forward(static_cast<size_t>(2 * bound + 3), 0), backward(forward);
    const auto at = [&](std::vector<int64_t>& row, int64_t k) -> int64_t& {
      return row[static_cast<size_t>(k + bound + 1)];
    };
    const auto same = [&](int64_t x, int64_t y) {
      return before_[box.before_begin + static_cast<size_t>(x)] ==
             after_[box.after_begin + static_cast<size_t>(y)];
    };
    const auto split = [&](int64_t x, int64_t y) {
      const auto dx = static_cast<size_t>(x), dy = static_cast<size_t>(y);
      boxes.push_back(
          {box.before_begin, box.before_begin + dx, box.after_begin, box.after_begin + dy});
      boxes.push_back({box.before_begin + dx, box.before_end, box.after_begin + dy, box.after_end});
      return true;
    };
    for (int64_t d = 0; d <= bound; ++d) {
      for (int64_t k = -d; k <= d; k += 2) {
        int64_t x = k == -d || (k != d && at(forward, k - 1) < at(forward, k + 1))
                        ? at(forward, k + 1)
                        : at(forward, k - 1) + 1;
        if (x > n || x - k > m || x - k < 0) {
          at(forward, k) = x;
          continue;
        }
        while (x < n && x - k < m && same(x, x - k)) ++x;
        at(forward, k) = x;
        const int64_t other = delta - k;
        if (delta % 2 != 0 && other >= -(d - 1) && other <= d - 1 && x + at(backward, other) >= n &&
            is_inside(x, x - k, n, m))
          return split(x, x - k);
      }
      for (int64_t k = -d; k <= d; k += 2) {
        int64_t x = k == -d || (k != d && at(backward, k - 1) < at(backward, k + 1))
                        ? at(backward, k + 1)
                        : at(backward, k - 1) + 1;
        if (x > n || x - k > m || x - k < 0) {
          at(backward, k) = x;
          continue;
        }
        while (x < n && x - k < m && same(n - x - 1, m - (x - k) - 1)) ++x;
        at(backward, k) = x;
        const int64_t other = delta - k;
        if (delta % 2 == 0 && other >= -d && other <= d && x + at(forward, other) >= n &&
            is_inside(n - x, m - (x - k), n, m))
          return split(n - x, m - (x - k));
      }
    }
    return false;
  }

  // A part equal to the whole would repeat the search forever.
  static bool is_inside(int64_t x, int64_t y, int64_t n, int64_t m) {
    return (x != 0 || y != 0) && (x != n || y != m);
  }

  void pair_greedily(const Box& box) {
    std::unordered_map<uint64_t, std::vector<size_t>> places;
    for (size_t i = box.after_end; i-- > box.after_begin;) places[after_[i]].push_back(i);
    size_t next = box.after_begin;
    for (size_t i = box.before_begin; i < box.before_end; ++i) {
      const auto found = places.find(before_[i]);
      if (found == places.end()) continue;
      while (!found->second.empty() && found->second.back() < next) found->second.pop_back();
      // A match far ahead would leave everything in between unmatched.
      if (found->second.empty() || found->second.back() > next + kMaxEdits) continue;
      next = found->second.back() + 1;
      pairs_.emplace_back(i, next - 1);
    }
  }

  std::span<const uint64_t> before_, after_;
  size_t visits_left_;
  IndexPairs pairs_;
};

}  // namespace

IndexPairs align(std::span<const uint64_t> before, std::span<const uint64_t> after) {
  return Aligner(before, after).run();
}

}  // namespace pt2
