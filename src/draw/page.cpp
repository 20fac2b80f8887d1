#include <fmt/format.h>

#include <cmath>

#include "base/base64.h"
#include "base/json.h"
#include "base/text.h"
#include "draw/page_files.h"
#include "draw/texts.h"
#include "draw/wires.h"
#include "ir/graph_place.h"
#include "package/read_budget.h"
#include "pt2/tools/drawing.h"

namespace pt2 {
namespace {

constexpr size_t kKeptStack = 8000;

// Writes the data of one program for the page, with short keys. Texts that may repeat are written
// once. page/data.js reads the data.
class DataWriter {
 public:
  DataWriter(JsonWriter& json, const PageProgram& source)
      : json_(json), source_(source), drawing_(*source.drawing) {}

  void write() {
    json_.begin_object();
    key("name");
    json_.string(picture::kept(source_.name));
    key("boxes");
    json_.begin_array();
    for (const Box& box : drawing_.boxes) write_box(box);
    json_.end_array();
    key("values");
    json_.begin_array();
    for (const DrawnValue& value : drawing_.values) write_value(value);
    json_.end_array();
    write_weights();
    write_ranges();
    write_difference();
    key("strings");
    json_.begin_array();
    for (const std::string* text : texts_) json_.string(*text);
    json_.end_array();
    json_.end_object();
  }

 private:
  void key(std::string_view name) { json_.raw_key(name); }
  void number(uint64_t value) { json_.integer(static_cast<int64_t>(value)); }
  void box_number(uint32_t id) { json_.integer(id == kNoBox ? -1 : static_cast<int64_t>(id)); }
  // Writes the index of the text.
  void text(std::string text) { json_.integer(index_of(std::move(text))); }

  int64_t index_of(std::string text) {
    const auto [found, is_new] =
        numbers_.try_emplace(std::move(text), static_cast<int64_t>(texts_.size()));
    if (is_new) texts_.push_back(&found->first);
    return found->second;
  }

  void numbers(std::string_view name, const std::vector<uint32_t>& values) {
    if (values.empty()) return;
    key(name);
    json_.begin_array();
    for (const uint32_t value : values) box_number(value);
    json_.end_array();
  }

  void write_box(const Box& box) {
    json_.begin_object();
    key("k");
    number(static_cast<uint64_t>(box.kind));
    key("p");
    box_number(box.parent);
    key("s");
    json_.begin_array();
    json_.number(box.folded_width);
    json_.number(box.folded_height);
    json_.end_array();
    key("t");
    text(box.title);
    optional_text("d", box.detail);
    optional_text("m", box.path);
    if (box.operator_class != OperatorClass::other) {
      key("c");
      number(static_cast<uint64_t>(box.operator_class));
    }
    if (box.is_open) {
      key("o");
      number(1);
    }
    if (box.nodes > 1) {
      key("n");
      number(box.nodes);
    }
    write_lines(box.lines);
    numbers("v", box.values);
    numbers("i", box.children);
    write_level(box);
    if (box.node != nullptr) write_node(box);
    json_.end_object();
  }

  void optional_text(std::string_view name, const std::string& content) {
    if (content.empty()) return;
    key(name);
    text(content);
  }

  void write_lines(const std::vector<BoxLine>& lines) {
    if (lines.empty()) return;
    key("l");
    json_.begin_array();
    for (const BoxLine& line : lines) {
      json_.begin_array();
      number(static_cast<uint64_t>(line.kind));
      text(line.text);
      box_number(line.value);
      json_.end_array();
    }
    json_.end_array();
  }

  void write_level(const Box& box) {
    if (box.rows.empty()) return;
    key("r");
    json_.begin_array();
    for (const std::vector<int32_t>& row : box.rows) {
      json_.begin_array();
      for (const int32_t what : row) json_.integer(what);
      json_.end_array();
    }
    json_.end_array();
    key("w");
    json_.begin_array();
    for (const Wire& wire : box.wires) {
      json_.begin_array();
      box_number(wire.from);
      box_number(wire.from_port);
      text(wire.label);
      json_.begin_array();
      for (const uint32_t value : wire.values) number(value);
      json_.end_array();
      for (size_t i = 0; i < wire.to.size(); ++i) {
        box_number(wire.to[i]);
        box_number(wire.to_ports[i]);
      }
      json_.end_array();
    }
    json_.end_array();
  }

  void write_node(const Box& box) {
    const Node& node = *box.node;
    key("f");
    const std::string name = node_name(*box.graph, node);
    json_.string(picture::kept(name));
    key("op");
    text(picture::kept(node.target));
    if (!stack_trace(node).empty()) {
      key("st");
      text(stack_of(node));
    }
    const auto time = source_.times.find(name);
    if (time != source_.times.end() && std::isfinite(time->second)) {
      key("us");
      json_.number(time->second);
    }
    const auto joined = source_.joined.find(name);
    if (time == source_.times.end() && joined != source_.joined.end()) {
      key("in");
      text(picture::kept(joined->second));
    }
    write_change(node);
    key("a");
    json_.begin_array();
    const uint32_t first_value = first_value_of(*box.graph);
    for (const NamedArgument& input : node.inputs) {
      json_.begin_array();
      text(picture::kept(input.name));
      // Writes numbers of values, and -1 - n for text n.
      for (const picture::ArgumentPiece& piece : picture::argument_pieces(input.arg)) {
        if (const auto* value = std::get_if<ValueId>(&piece))
          number(first_value + static_cast<uint32_t>(*value));
        else
          json_.integer(-1 - index_of(std::get<std::string>(piece)));
      }
      json_.end_array();
    }
    json_.end_array();
  }

  void write_texts(const std::vector<std::string>& texts) {
    json_.begin_array();
    for (const std::string& each : texts) text(picture::kept(each));
    json_.end_array();
  }

  void write_change(const Node& node) {
    if (!source_.difference) return;
    const auto found = source_.difference->nodes.find(&node);
    if (found == source_.difference->nodes.end()) return;
    const DrawnDifference::OfNode& drawn = found->second;
    key("x");
    json_.begin_array();
    json_.integer(drawn.kind ? static_cast<int64_t>(*drawn.kind) : -1);
    write_texts(drawn.lines);
    write_texts(drawn.removed);
    json_.end_array();
  }

  void write_difference() {
    if (!source_.difference) return;
    key("difference");
    json_.begin_array();
    for (const size_t count : source_.difference->counts) number(count);
    write_texts(source_.difference->others);
    write_texts(source_.difference->removed_at_ends);
    json_.end_array();
  }

  // Returns the end of the stack trace, because the innermost lines matter most. Keeps line breaks
  // and replaces other characters that are not text.
  static std::string stack_of(const Node& node) {
    std::string_view stack = stack_trace(node);
    if (stack.size() > kKeptStack) stack.remove_prefix(stack.size() - kKeptStack);
    std::string out;
    while (!stack.empty()) {
      const size_t end = stack.find('\n');
      out += (out.empty() ? "" : "\n") + picture::kept(stack.substr(0, end));
      stack.remove_prefix(end == stack.npos ? stack.size() : end + 1);
    }
    return out;
  }

  uint32_t first_value_of(const Graph& graph) {
    if (first_values_.empty())
      for (uint32_t i = 0; i < drawing_.values.size(); ++i)
        if (drawing_.values[i].graph != nullptr)
          first_values_.try_emplace(drawing_.values[i].graph,
                                    i - static_cast<uint32_t>(drawing_.values[i].id));
    return first_values_[&graph];
  }

  void write_value(const DrawnValue& value) {
    json_.begin_array();
    json_.string(value.value == nullptr ? "" : picture::kept(value.value->name));
    text(value.type);
    box_number(value.box);
    if (!value.held.empty()) json_.string(value.held);
    json_.end_array();
  }

  void write_range(uint32_t value, const TensorRange& range) {
    json_.begin_array();
    number(value);
    for (const double x : {range.min, range.max, range.mean}) {
      if (std::isfinite(x))
        json_.number(x);
      else
        json_.string(x > 0 ? "inf" : x < 0 ? "-inf" : "nan");
    }
    for (const int64_t n : {range.count, range.nans, range.infinities}) json_.integer(n);
    json_.end_array();
  }

  void write_weights() {
    key("weights");
    json_.begin_array();
    if (source_.payloads != nullptr) {
      std::map<std::string_view, uint32_t> numbers;
      for (uint32_t i = 0; i < drawing_.values.size(); ++i)
        if (!drawing_.values[i].held.empty()) numbers[drawing_.values[i].value->name] = i;
      ReadBudget budget(*source_.payloads);
      for (const InputSpec& spec : drawing_.program->signature.input_specs) {
        const PayloadTensor* held = source_.payloads->bound_to(spec);
        const auto found = numbers.find(spec.arg.name);
        if (held == nullptr || !held->tensor.defined() || held->is_fake || found == numbers.end())
          continue;
        if (budget.take(held->tensor)) write_range(found->second, tensor_range(held->tensor));
      }
    }
    json_.end_array();
  }

  void write_ranges() {
    key("ranges");
    json_.begin_array();
    if (!source_.ranges.empty())
      for (uint32_t i = 0; i < drawing_.values.size(); ++i) {
        const DrawnValue& value = drawing_.values[i];
        if (value.value == nullptr) continue;
        const auto found = source_.ranges.find(value.value->name);
        if (found != source_.ranges.end()) write_range(i, found->second);
      }
    json_.end_array();
  }

  JsonWriter& json_;
  const PageProgram& source_;
  const Drawing& drawing_;
  std::map<std::string, int64_t> numbers_;
  std::vector<const std::string*> texts_;
  std::map<const Graph*, uint32_t> first_values_;
};

// Escapes JSON for a script element, in which only "<" could end the element or begin markup. The
// writer has already made everything else ASCII.
std::string for_markup(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

// Returns the hash by which a browser accepts a script or style; it blocks others.
std::string source_hash(std::string_view hexadecimal) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < hexadecimal.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(digit(hexadecimal[i]) * 16 + digit(hexadecimal[i + 1])));
  return "'sha256-" + encode_base64(bytes) + "'";
}

}  // namespace

std::string print_page(std::span<const PageProgram> programs, std::string_view title) {
  JsonWriter json(JsonStyle::compact);
  json.begin_object();
  json.key("title");
  json.string(picture::kept(title));
  json.key("programs");
  json.begin_array();
  for (const PageProgram& program : programs) DataWriter(json, program).write();
  json.end_array();
  json.end_object();
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "script-src {}; style-src {}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}"
      "<script type=\"application/json\" id=\"data\">{}</script>\n<script>{}</script>\n"
      "</body>\n</html>\n",
      source_hash(picture::kPageScriptHash), source_hash(picture::kPageStyleHash),
      escape_markup(picture::kept(title)), picture::kPageStyle, picture::kPageBody,
      for_markup(json.take()), picture::kPageScript);
}

}  // namespace pt2
