#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "draw/texts.h"
#include "draw/wires.h"

namespace pt2::picture {
namespace {

// Wires over more rows, and values with more target boxes, become ports.
constexpr size_t kLongestLine = 8;
constexpr size_t kMostTargets = 8;
// The boxes of one rank that are together wider than this take several rows.
constexpr double kWidestRow = 2200;
constexpr size_t kMostLines = 4;
constexpr double kNowhere = std::numeric_limits<double>::infinity();

class Arranger {
 public:
  Arranger(Drawing& drawing, uint32_t level) : drawing_(drawing), level_(drawing.boxes[level]) {}

  void arrange() {
    const std::vector<uint32_t>& children = level_.children;
    for (uint32_t i = 0; i < children.size(); ++i) ordinals_[children[i]] = i;
    find_ranks();
    find_rows();
    find_ports();
    fill_rows();
  }

 private:
  Box& box(uint32_t ordinal) { return drawing_.boxes[level_.children[ordinal]]; }
  uint32_t ordinal_of(uint32_t id) const { return ordinals_.find(id)->second; }
  // True for a module or similar box, with inputs and outputs at its border.
  bool has_border() const {
    return level_.kind != BoxKind::program && level_.kind != BoxKind::graph;
  }
  bool is_drawn(const Wire& wire) const {
    return std::ranges::any_of(wire.values,
                               [&](uint32_t value) { return !is_number(drawing_.values[value]); });
  }

  // Ranks a box by the longest path from a source. Sources stand above their first target.
  void find_ranks() {
    const size_t count = level_.children.size();
    ranks_.assign(count, 0);
    incoming_.assign(count, {});
    std::vector<size_t> order(level_.wires.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t w) { return ordinal_of(level_.wires[w].from); });
    const bool has_inputs = has_border() && count > 0 && box(0).kind == BoxKind::input;
    for (uint32_t i = 0; has_inputs && i < count; ++i)
      ranks_[i] = box(i).kind == BoxKind::input ? 0 : 1;
    for (const size_t w : order) {
      const Wire& wire = level_.wires[w];
      const uint32_t from = ordinal_of(wire.from);
      if (!is_drawn(wire)) continue;
      for (const uint32_t id : wire.to) {
        const uint32_t to = ordinal_of(id);
        if (to <= from) continue;
        ranks_[to] = std::max(ranks_[to], ranks_[from] + 1);
        incoming_[to].push_back(static_cast<uint32_t>(w));
      }
    }
    pull_down();
    if (!has_border()) return;
    const size_t last = count == 0 ? 0 : std::ranges::max(ranks_);
    bool is_taken = false;  // by a box that is not an output
    for (uint32_t i = 0; i < count; ++i)
      is_taken = is_taken || (ranks_[i] == last && box(i).kind != BoxKind::output);
    for (uint32_t i = 0; i < count; ++i)
      if (box(i).kind == BoxKind::output) ranks_[i] = last + (is_taken ? 1 : 0);
  }

  void pull_down() {
    std::vector<size_t> first(ranks_.size(), SIZE_MAX);  // rank of a box's first target
    for (uint32_t to = 0; to < ranks_.size(); ++to)
      for (const uint32_t w : incoming_[to]) {
        size_t& rank = first[ordinal_of(level_.wires[w].from)];
        rank = std::min(rank, ranks_[to]);
      }
    for (uint32_t i = 0; i < ranks_.size(); ++i) {
      const bool stays = has_border() && box(i).kind == BoxKind::input;
      if (incoming_[i].empty() && !stays && first[i] != SIZE_MAX && first[i] > ranks_[i] + 1)
        ranks_[i] = first[i] - 1;
    }
  }

  // Distributes ranks with too many boxes over several rows.
  void find_rows() {
    const size_t count = ranks_.size();
    std::vector<std::vector<uint32_t>> by_rank(count == 0 ? 0 : std::ranges::max(ranks_) + 1);
    for (uint32_t i = 0; i < count; ++i) by_rank[ranks_[i]].push_back(i);
    row_of_.assign(count, 0);
    std::vector<double> places(count, 0);
    for (std::vector<uint32_t>& members : by_rank) {
      sort_by(members, [&](uint32_t i) { return mean_of_sources(i, places); });
      double width = 0;
      for (const uint32_t i : members) width += box(i).folded_width + kBoxGap;
      const bool is_border =
          has_border() && !members.empty() &&
          (box(members[0]).kind == BoxKind::input || box(members[0]).kind == BoxKind::output);
      const double rows = is_border ? 1 : std::max(1.0, std::ceil(width / kWidestRow));
      double x = -width / rows / 2, used = 0;
      items_.emplace_back();
      for (const uint32_t i : members) {
        const double own = box(i).folded_width + kBoxGap;
        if (used > 0 && used + own / 2 > width / rows) {
          items_.emplace_back();
          x = -width / rows / 2;
          used = 0;
        }
        places[i] = x + own / 2;
        x += own;
        used += own;
        row_of_[i] = items_.size() - 1;
        items_.back().push_back(i);
      }
    }
    std::erase_if(items_, [](const std::vector<uint32_t>& row) { return row.empty(); });
    for (size_t row = 0; row < items_.size(); ++row)
      for (const uint32_t i : items_[row]) row_of_[i] = row;
  }

  template <class Key>
  static void sort_by(std::vector<uint32_t>& members, Key&& key) {
    std::vector<std::pair<double, uint32_t>> keyed;
    for (const uint32_t i : members) keyed.emplace_back(key(i), i);
    std::ranges::sort(keyed);
    for (size_t i = 0; i < members.size(); ++i) members[i] = keyed[i].second;
  }

  double mean_of_sources(uint32_t item, const std::vector<double>& places) const {
    if (incoming_[item].empty()) return ranks_[item] == 0 ? 0 : kNowhere;
    double sum = 0;
    for (const uint32_t w : incoming_[item]) sum += places[ordinal_of(level_.wires[w].from)];
    return sum / static_cast<double>(incoming_[item].size());
  }

  // Keeps in each wire the boxes to which a line is drawn; other targets get ports.
  void find_ports() {
    for (Wire& wire : level_.wires) {
      const size_t from = row_of_[ordinal_of(wire.from)];
      const bool is_shared = wire.to.size() > kMostTargets || !is_drawn(wire);
      bool has_port = false;
      size_t drawn = 0;
      for (size_t i = 0; i < wire.to.size(); ++i) {
        const uint32_t to = ordinal_of(wire.to[i]);
        if (!is_shared && row_of_[to] > from && row_of_[to] - from <= kLongestLine) {
          wire.to[drawn] = wire.to[i];
          wire.to_ports[drawn++] = wire.to_ports[i];
        } else {
          has_port = true;
          add_port(box(to), wire);
        }
      }
      wire.to.resize(drawn);
      wire.to_ports.resize(drawn);
      if (has_port && !wire.label.empty()) wire.label = "◦ " + wire.label;
    }
  }

  void add_port(Box& target, const Wire& wire) {
    if (target.kind == BoxKind::output) return;  // an output already has the name
    const auto ports =
        static_cast<size_t>(std::ranges::count(target.lines, BoxLine::Kind::port, &BoxLine::kind));
    std::string text = name_of(wire.values[0]);
    if (wire.values.size() > 1) text += fmt::format(" +{}", wire.values.size() - 1);
    if (ports < kMostLines)
      target.lines.push_back({BoxLine::Kind::port, std::move(text), wire.values[0]});
    else if (target.lines.back().kind == BoxLine::Kind::port)
      target.lines.push_back({BoxLine::Kind::more, "…"});
  }

  std::string name_of(uint32_t value) const {
    return shortened(drawing_.values[value].value->name, 26);
  }

  // Orders the boxes and passing wires of each row by the mean place of their sources.
  void fill_rows() {
    std::vector<double> places(ranks_.size(), 0);
    std::vector<double> pass_places(level_.wires.size(), 0);
    std::vector<size_t> ends(level_.wires.size(), 0);  // row of the last target
    std::vector<std::vector<uint32_t>> starts(items_.size()), targets(ranks_.size());
    for (uint32_t w = 0; w < level_.wires.size(); ++w) {
      const Wire& wire = level_.wires[w];
      for (const uint32_t id : wire.to) {
        ends[w] = std::max(ends[w], row_of_[ordinal_of(id)]);
        targets[ordinal_of(id)].push_back(w);
      }
      if (!wire.to.empty()) starts[row_of_[ordinal_of(wire.from)]].push_back(w);
    }
    std::vector<uint32_t> passing;
    level_.rows.resize(items_.size());
    for (size_t row = 0; row < items_.size(); ++row) {
      std::erase_if(passing, [&](uint32_t w) { return ends[w] <= row; });
      std::vector<Slot> slots;
      for (size_t i = 0; i < items_[row].size(); ++i) {
        const uint32_t item = items_[row][i];
        double sum = 0;
        for (const uint32_t w : targets[item]) sum += pass_places[w];
        const double place = targets[item].empty()
                                 ? (row == 0 ? 0 : kNowhere)
                                 : sum / static_cast<double>(targets[item].size());
        slots.push_back({place, false, static_cast<uint32_t>(i), item});
      }
      for (const uint32_t w : passing) slots.push_back({pass_places[w], true, w, w});
      std::ranges::sort(slots);
      put(row, slots, places, pass_places);
      for (const uint32_t w : starts[row])
        pass_places[w] = places[ordinal_of(level_.wires[w].from)];
      passing.insert(passing.end(), starts[row].begin(), starts[row].end());
    }
  }

  struct Slot {
    double place = 0;
    bool is_pass = false;  // sorts a passing wire to the right of a box at the same place
    uint32_t order = 0;
    uint32_t what = 0;  // ordinal of a box, or index of a wire
    auto operator<=>(const Slot&) const = default;
  };

  void put(size_t row, const std::vector<Slot>& slots, std::vector<double>& places,
           std::vector<double>& pass_places) {
    double width = 0;
    const auto own = [&](const Slot& slot) {
      return slot.is_pass ? kPassWidth + kPassGap : box(slot.what).folded_width + kBoxGap;
    };
    for (const Slot& slot : slots) width += own(slot);
    double x = -width / 2;
    for (const Slot& slot : slots) {
      (slot.is_pass ? pass_places : places)[slot.what] = x + own(slot) / 2;
      x += own(slot);
      level_.rows[row].push_back(slot.is_pass ? -1 - static_cast<int32_t>(slot.what)
                                              : static_cast<int32_t>(level_.children[slot.what]));
    }
  }

  Drawing& drawing_;
  Box& level_;
  std::unordered_map<uint32_t, uint32_t> ordinals_;  // of boxes among the children
  std::vector<size_t> ranks_;
  std::vector<std::vector<uint32_t>> incoming_;  // wires, by ordinal
  std::vector<std::vector<uint32_t>> items_;     // ordinals, by row
  std::vector<size_t> row_of_;
};

}  // namespace

double small_text_width(std::string_view text) { return 6.35 * static_cast<double>(columns(text)); }
double title_width(std::string_view text) { return 7.3 * static_cast<double>(columns(text)); }

void measure(Box& box) {
  double width = title_width(box.title);
  double height = 2 * kBoxPadding + kTitleHeight;
  const auto add = [&](std::string_view text, double indent) {
    width = std::max(width, small_text_width(text) + indent);
    height += kLineHeight;
  };
  if (!box.detail.empty()) add(box.detail, 0);
  for (const BoxLine& line : box.lines) add(line.text, 10);
  box.folded_width = std::max(46.0, std::ceil(width) + 2 * kBoxPadding + 6);
  box.folded_height = height;
}

void arrange(Drawing& drawing, uint32_t level) { Arranger(drawing, level).arrange(); }

}  // namespace pt2::picture
