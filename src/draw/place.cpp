// Computes coordinates. page/place.js does the same when the reader opens or folds a box.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "draw/wires.h"

namespace pt2 {
namespace picture {
namespace {

constexpr double kFirm = 1e6, kLoose = 1e3, kPassing = 1;

struct Slot {
  int32_t what = 0;  // as in Box::rows
  double x = 0;      // of the slot's middle, where its lines end
  double left = 0, right = 0;
  double height = 0;
  double weight = kFirm;
};

// A line between slots of neighbouring rows.
struct Link {
  uint32_t upper = 0, lower = 0;
  uint32_t wire = 0;
  double upper_offset = 0, lower_offset = 0;  // from the middle of the slot
  double upper_weight = 1, lower_weight = 1;
  uint32_t target = kNoBox;  // the box at the lower end; kNoBox for a passing wire
  // The boxes inside open boxes at the ends where the wire leaves and enters.
  uint32_t upper_port = kNoBox, lower_port = kNoBox;
};

class Level {
 public:
  Level(Drawing& drawing, uint32_t id) : drawing_(drawing), id_(id), box_(drawing.boxes[id]) {}

  void place() {
    fill();
    link();
    for (std::vector<Slot>& row : rows_) settle(row, std::vector<double>(row.size(), 0));
    for (size_t row = 1; row < rows_.size(); ++row) follow_upper(row);
    for (size_t row = rows_.size(); row-- > 1;) follow_lower(row - 1);
    for (size_t row = 1; row < rows_.size(); ++row) follow_upper(row);
    set_places();
    spread();
    add_paths();
  }

 private:
  Box& child(const Slot& slot) { return drawing_.boxes[static_cast<size_t>(slot.what)]; }

  void fill() {
    std::unordered_map<uint32_t, double> overhang;  // of labels, by box
    for (const Wire& wire : box_.wires) {
      double& reach = overhang[wire.from];
      if (!wire.label.empty()) reach = std::max(reach, kLabelOffset + small_text_width(wire.label));
    }
    for (const std::vector<int32_t>& row : box_.rows) {
      rows_.emplace_back();
      for (const int32_t what : row) {
        constexpr double kHalf = (kPassWidth + kPassGap) / 2;
        Slot slot{.what = what, .left = kHalf, .right = kHalf, .weight = kPassing};
        if (what >= 0) {
          const Box& inner = child(slot);
          const auto found = overhang.find(static_cast<uint32_t>(what));
          const double reach = found == overhang.end() ? 0 : found->second;
          slot.left = inner.width / 2 + kBoxGap / 2;
          slot.right = std::max(inner.width / 2, reach) + kBoxGap / 2;
          slot.height = inner.height;
          slot.weight = kLoose;
        }
        rows_.back().push_back(slot);
      }
    }
  }

  // Returns the distance of a wire's port from the middle of an open box.
  double offset(uint32_t id, uint32_t port) const {
    const Box& outer = drawing_.boxes[id];
    if (!outer.is_open || port == kNoBox) return 0;
    const Box& inner = drawing_.boxes[port];
    return inner.x + inner.width / 2 - outer.width / 2;
  }

  void link() {
    links_.resize(rows_.size());
    struct At {
      size_t row = 0;
      uint32_t slot = 0;
    };
    std::unordered_map<int32_t, At> boxes;
    std::vector<std::vector<At>> passes(box_.wires.size());
    for (size_t row = 0; row < rows_.size(); ++row)
      for (uint32_t i = 0; i < rows_[row].size(); ++i) {
        const int32_t what = rows_[row][i].what;
        if (what >= 0)
          boxes[what] = {row, i};
        else
          passes[static_cast<size_t>(-1 - what)].push_back({row, i});
      }
    for (uint32_t w = 0; w < box_.wires.size(); ++w) {
      const Wire& wire = box_.wires[w];
      if (wire.to.empty()) continue;
      std::vector<At> way{boxes[static_cast<int32_t>(wire.from)]};
      way.insert(way.end(), passes[w].begin(), passes[w].end());
      const auto add = [&](const At& upper, const At& lower, uint32_t target, uint32_t port) {
        const bool first = upper.row == way[0].row, last = target != kNoBox;
        links_[upper.row].push_back({.upper = upper.slot,
                                     .lower = lower.slot,
                                     .wire = w,
                                     .upper_offset = first ? offset(wire.from, wire.from_port) : 0,
                                     .lower_offset = last ? offset(target, port) : 0,
                                     .upper_weight = first ? 1 : 1e-3,
                                     .lower_weight = last ? 1 : 1e-3,
                                     .target = target,
                                     .upper_port = first ? wire.from_port : kNoBox,
                                     .lower_port = port});
        if (last && first) rows_[lower.row][lower.slot].weight = kFirm;
      };
      for (size_t i = 1; i < way.size(); ++i) add(way[i - 1], way[i], kNoBox, kNoBox);
      for (size_t i = 0; i < wire.to.size(); ++i) {
        const At& target = boxes[static_cast<int32_t>(wire.to[i])];
        add(way[target.row - way[0].row - 1], target, wire.to[i], wire.to_ports[i]);
      }
    }
  }

  // Places the slots of a row as near to `wanted` as their order and widths allow. Minimizes the
  // sum of weighted squares, by joining overlapping neighbours into blocks.
  static void settle(std::vector<Slot>& row, const std::vector<double>& wanted) {
    struct Block {
      double sum = 0, weight = 0;
      size_t count = 0;
      double place() const { return sum / weight; }
    };
    std::vector<Block> blocks;
    std::vector<double> offsets;
    double offset = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) offset += row[i - 1].right + row[i].left;
      offsets.push_back(offset);
      Block block{(wanted[i] - offset) * row[i].weight, row[i].weight, 1};
      while (!blocks.empty() && blocks.back().place() > block.place()) {
        block = {block.sum + blocks.back().sum, block.weight + blocks.back().weight,
                 block.count + blocks.back().count};
        blocks.pop_back();
      }
      blocks.push_back(block);
    }
    size_t i = 0;
    for (const Block& block : blocks)
      for (size_t n = 0; n < block.count; ++n, ++i) row[i].x = block.place() + offsets[i];
  }

  void follow_upper(size_t row) {
    std::vector<double> sums(rows_[row].size(), 0), weights(rows_[row].size(), 0);
    for (const Link& link : links_[row - 1]) {
      const double x = rows_[row - 1][link.upper].x + link.upper_offset - link.lower_offset;
      sums[link.lower] += x * link.upper_weight;
      weights[link.lower] += link.upper_weight;
    }
    move(row, sums, weights);
  }

  void follow_lower(size_t row) {
    std::vector<double> sums(rows_[row].size(), 0), weights(rows_[row].size(), 0);
    for (const Link& link : links_[row]) {
      const double x = rows_[row + 1][link.lower].x + link.lower_offset - link.upper_offset;
      sums[link.upper] += x * link.lower_weight;
      weights[link.upper] += link.lower_weight;
    }
    move(row, sums, weights);
  }

  void move(size_t row, const std::vector<double>& sums, const std::vector<double>& weights) {
    std::vector<double> wanted;
    for (size_t i = 0; i < sums.size(); ++i)
      wanted.push_back(weights[i] > 0 ? sums[i] / weights[i] : rows_[row][i].x);
    settle(rows_[row], wanted);
  }

  void set_places() {
    double left = 0, right = 0;
    bool is_first = true;
    for (const std::vector<Slot>& row : rows_)
      for (const Slot& slot : row) {
        left = is_first ? slot.x - slot.left : std::min(left, slot.x - slot.left);
        right = is_first ? slot.x + slot.right : std::max(right, slot.x + slot.right);
        is_first = false;
      }
    const double inner = right - left + 2 * kPadding - kBoxGap;
    const double title = title_width(box_.title) + 24 + small_text_width(box_.detail);
    box_.width = std::ceil(std::max(inner, title + 2 * kPadding));
    const double shift = kPadding - kBoxGap / 2 - left + (box_.width - inner) / 2;
    for (std::vector<Slot>& row : rows_)
      for (Slot& slot : row) slot.x = std::round(slot.x + shift);
    double y = kHeader + kPadding / 2;
    for (size_t row = 0; row < rows_.size(); ++row) {
      double height = 0;
      for (const Slot& slot : rows_[row]) height = std::max(height, slot.height);
      for (const Slot& slot : rows_[row]) {
        if (slot.what < 0) continue;
        child(slot).x = std::floor(slot.x - child(slot).width / 2);
        child(slot).y = y;
      }
      tops_.push_back(y);
      bottoms_.push_back(y + height);
      y += height + gap_below(row);
    }
    box_.height = y + kPadding / 2;
  }

  // Spreads the lines at a box side by side, in the order of their other ends.
  void spread() {
    for (size_t row = 0; row < rows_.size(); ++row) {
      std::vector<std::vector<std::pair<double, Link*>>> ends(rows_[row].size());
      const auto put = [&](double Link::*offset, bool is_upper) {
        for (size_t i = 0; i < ends.size(); ++i) {
          if (ends[i].empty()) continue;
          std::ranges::stable_sort(ends[i], {}, [](const auto& end) { return end.first; });
          size_t count = 0;
          for (size_t n = 0; n < ends[i].size(); ++n)
            count += !is_upper || n == 0 || ends[i][n].second->wire != ends[i][n - 1].second->wire;
          const double step =
              std::min(12.0, (child(rows_[row][i]).width - 16) / static_cast<double>(count));
          double at = -step * static_cast<double>(count + 1) / 2;
          for (size_t n = 0; n < ends[i].size(); ++n) {
            if (!is_upper || n == 0 || ends[i][n].second->wire != ends[i][n - 1].second->wire)
              at += step;
            if (ends[i][n].second->*offset == 0) ends[i][n].second->*offset = at;
          }
          ends[i].clear();
        }
      };
      for (Link& link : links_[row])
        if (rows_[row][link.upper].what >= 0) ends[link.upper].emplace_back(link.wire, &link);
      put(&Link::upper_offset, true);
      if (row == 0) continue;
      for (Link& link : links_[row - 1])
        if (link.target != kNoBox)
          ends[link.lower].emplace_back(rows_[row - 1][link.upper].x + link.upper_offset, &link);
      put(&Link::lower_offset, false);
    }
  }

  void add_paths() {
    for (size_t row = 0; row + 1 < rows_.size(); ++row)
      for (const Link& link : links_[row]) {
        const Slot& upper = rows_[row][link.upper];
        const Slot& lower = rows_[row + 1][link.lower];
        DrawnPath path{.level = id_, .wire = link.wire, .target = link.target};
        const auto add = [&](double x, double y) { path.points.insert(path.points.end(), {x, y}); };
        const double from = upper.x + link.upper_offset, to = lower.x + link.lower_offset;
        const auto is_inside = [&](const Slot& slot, uint32_t port) {
          return slot.what >= 0 && child(slot).is_open && port != kNoBox;
        };
        if (is_inside(upper, link.upper_port)) {
          const Box& port = drawing_.boxes[link.upper_port];
          add(from, child(upper).y + port.y + port.height);
        } else if (upper.what >= 0 && child(upper).y + child(upper).height < bottoms_[row]) {
          add(from, child(upper).y + child(upper).height);
        }
        add(from, bottoms_[row]);
        add(to, tops_[row + 1]);
        if (link.target == kNoBox) add(to, bottoms_[row + 1]);
        if (is_inside(lower, link.lower_port))
          add(to, tops_[row + 1] + drawing_.boxes[link.lower_port].y);
        drawing_.paths.push_back(std::move(path));
      }
  }

  // Returns the gap below a row. Lines that go far to the side need room to bend.
  double gap_below(size_t row) const {
    if (row + 1 >= rows_.size()) return 0;
    if (links_[row].empty()) return kEmptyGap;
    double farthest = 0;
    for (const Link& link : links_[row])
      farthest = std::max(farthest, std::abs(rows_[row][link.upper].x + link.upper_offset -
                                             rows_[row + 1][link.lower].x - link.lower_offset));
    return kRowGap + std::min(kMostSpread, std::floor(farthest / 12));
  }

  Drawing& drawing_;
  const uint32_t id_;
  Box& box_;
  std::vector<std::vector<Slot>> rows_;
  std::vector<std::vector<Link>> links_;  // below each row
  std::vector<double> tops_, bottoms_;    // of rows
};

// Places inner boxes before the boxes around them.
void place_box(Drawing& drawing, uint32_t id) {
  if (!drawing.boxes[id].is_open) {
    drawing.boxes[id].width = drawing.boxes[id].folded_width;
    drawing.boxes[id].height = drawing.boxes[id].folded_height;
    return;
  }
  for (const uint32_t child : drawing.boxes[id].children) place_box(drawing, child);
  Level(drawing, id).place();
}

// Converts coordinates within the enclosing box to coordinates of the picture; outer boxes first.
void make_absolute(Drawing& drawing, uint32_t id) {
  const Box& outer = drawing.boxes[id];
  if (!outer.is_open) return;
  for (const uint32_t child : outer.children) {
    drawing.boxes[child].x += outer.x;
    drawing.boxes[child].y += outer.y;
    make_absolute(drawing, child);
  }
}

}  // namespace
}  // namespace picture

void place(Drawing& drawing) {
  drawing.paths.clear();
  picture::place_box(drawing, 0);
  Box& root = drawing.boxes[0];
  root.x = root.y = 0;
  drawing.width = root.width;
  drawing.height = root.height;
  picture::make_absolute(drawing, 0);
  for (DrawnPath& path : drawing.paths)
    for (size_t i = 0; i < path.points.size(); i += 2) {
      path.points[i] += drawing.boxes[path.level].x;
      path.points[i + 1] += drawing.boxes[path.level].y;
    }
}

}  // namespace pt2
