// Random edits of small real programs: of targets, arguments, kinds, sizes, subgraphs, symbols,
// guards, tree specs and the signature. A sequence of bytes determines the edits, so a fuzzer can
// drive them and a test can repeat them.
#ifndef PT2_TESTS_CONVERT_PROGRAM_EDITS_H
#define PT2_TESTS_CONVERT_PROGRAM_EDITS_H

#include <map>

#include "base/json.h"
#include "pt2/format/zip.h"
#include "pt2/ops/operators.h"
#include "seeds.h"

namespace pt2::test {

// Reads decisions from bytes. After the last byte every decision is 0.
class Choices {
 public:
  explicit Choices(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t below(size_t bound) {
    size_t number = 0;
    for (size_t range = 1; range < bound && !bytes_.empty(); range *= 256) {
      number = number * 256 + std::to_integer<size_t>(bytes_[0]);
      bytes_ = bytes_.subspan(1);
    }
    return bound == 0 ? 0 : number % bound;
  }
  template <class List>
  const auto& of(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::span<const std::byte> bytes_;
};

struct ProgramSeed {
  std::string name;
  std::vector<Record> records;
  size_t program = 0;  // index of the program's record
  JsonValue json;
};

// A value in a document, its parent, and the key of the value or of the list that contains it.
struct JsonPlace {
  JsonValue* value;
  JsonValue* parent;
  std::string_view key;
};

inline void collect_places(JsonValue& value, std::string_view key, std::vector<JsonPlace>& places) {
  for (JsonValue& item : value.items) {
    places.push_back({&item, &value, key});
    collect_places(item, key, places);
  }
  for (JsonMember& member : value.members) {
    // Metadata of nodes does not affect computation.
    if (member.key == "metadata") continue;
    places.push_back({&member.value, &value, member.key});
    collect_places(member.value, member.key, places);
  }
}

class ProgramEdits {
 public:
  explicit ProgramEdits(const std::filesystem::path& data) {
    std::vector<std::filesystem::path> paths;
    for (const char* folder : {"corpus/2.15.0", "corpus/2.9.1", "corpus/2.6.0", "corpus/2.3.1",
                               "exports", "hostile", "sparse"})
      if (std::filesystem::exists(data / folder))
        for (const auto& file : std::filesystem::directory_iterator(data / folder))
          if (file.path().extension() == ".pt2" && file.file_size() < kMaxBytes)
            paths.push_back(file.path());
    std::sort(paths.begin(), paths.end());
    for (const std::filesystem::path& path : paths) add_seed(path);
    for (const ProgramSeed& seed : seeds_) {
      JsonValue copy = seed.json;
      std::vector<JsonPlace> places;
      collect_places(copy, "", places);
      for (const JsonPlace& place : places) {
        std::vector<JsonValue>& pool = pools_[std::string(place.key)];
        if (pool.size() < kMaxDonors) pool.push_back(*place.value);
        if (place.key == "nodes" && place.value->find("target") != nullptr)
          nodes_.push_back(*place.value);
      }
    }
    for (const OperatorInfo& info : available_operators()) targets_.push_back(info.target);
  }

  size_t seed_count() const { return seeds_.size(); }

  // Returns a file: a seed with some edits.
  std::string make(Choices& choices) const {
    const ProgramSeed& seed = choices.of(seeds_);
    JsonValue root = seed.json;
    const size_t count = choices.below(5);
    for (size_t i = 0; i < count; ++i) edit(root, choices);
    StringSink sink;
    ZipWriter writer(sink, ZipStyle::torch);
    for (size_t i = 0; i < seed.records.size(); ++i) {
      const Record& record = seed.records[i];
      const auto* text = reinterpret_cast<const char*>(record.bytes.data());
      if (i == seed.program) {
        writer.add(record.name, print_json(root)).value();
      } else {
        writer.add(record.name, std::string_view(text, record.bytes.size())).value();
      }
    }
    writer.finish().value();
    return sink.take();
  }

 private:
  static constexpr size_t kMaxBytes = 24 * 1024;
  static constexpr size_t kMaxDonors = 4000;

  void add_seed(const std::filesystem::path& path) {
    ProgramSeed seed{path.string(), stored_records(read_bytes(path)), 0, {}};
    for (const std::string_view ending : {"serialized_exported_program.json", "models/model.json"})
      for (size_t i = 0; i < seed.records.size(); ++i)
        if (seed.records[i].name.ends_with(ending)) {
          const Bytes& bytes = seed.records[i].bytes;
          auto json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                 {.allow_non_finite = true});
          if (!json) continue;
          seed.program = i;
          seed.json = std::move(*json);
        }
    if (seed.json.is_object()) seeds_.push_back(std::move(seed));
  }

  void edit(JsonValue& root, Choices& choices) const {
    std::vector<JsonPlace> places;
    collect_places(root, "", places);
    if (places.empty()) return;
    switch (choices.below(8)) {
      case 0:
        return change_target(places, choices);
      case 1:
        return transplant_node(root, places, choices);
      case 2:
        return rename(root, places, choices);
      default:
        return change(choices.of(places), places, choices);
    }
  }

  static std::vector<JsonPlace> with_key(const std::vector<JsonPlace>& places,
                                         std::string_view key) {
    std::vector<JsonPlace> found;
    for (const JsonPlace& place : places)
      if (place.key == key) found.push_back(place);
    return found;
  }

  void change_target(const std::vector<JsonPlace>& places, Choices& choices) const {
    const std::vector<JsonPlace> found = with_key(places, "target");
    if (!found.empty()) choices.of(found).value->text = choices.of(targets_);
  }

  // Replaces a node by a node of another program, with this program's values as arguments.
  void transplant_node(JsonValue&, const std::vector<JsonPlace>& places, Choices& choices) const {
    std::vector<JsonPlace> found;
    for (const JsonPlace& place : with_key(places, "nodes"))
      if (place.value->find("target") != nullptr) found.push_back(place);
    if (found.empty()) return;
    JsonValue& node = *choices.of(found).value;
    JsonValue donor = choices.of(nodes_);
    std::vector<std::string> names;
    for (const JsonPlace& place : with_key(places, "name"))
      if (place.value->is_string()) names.push_back(place.value->text);
    std::vector<JsonPlace> in_donor;
    collect_places(donor, "", in_donor);
    for (const JsonPlace& place : in_donor)
      if (place.key == "as_tensor" && place.value->is_object() && !names.empty())
        for (JsonMember& member : place.value->members)
          if (member.key == "name") member.value.text = choices.of(names);
    for (JsonMember& member : donor.members)
      if (member.key == "outputs" && choices.below(4) != 0)
        if (const JsonValue* outputs = node.find("outputs")) member.value = *outputs;
    node = std::move(donor);
  }

  // Replaces a text by another one of the same document, at one place or everywhere.
  void rename(JsonValue& root, const std::vector<JsonPlace>& places, Choices& choices) const {
    std::vector<JsonPlace> texts;
    for (const JsonPlace& place : places)
      if (place.value->is_string() && place.value->text.size() < 40) texts.push_back(place);
    if (texts.empty()) return;
    const std::string to = choices.of(texts).value->text;
    const JsonPlace& place = choices.of(texts);
    if (choices.below(2) == 0) {
      place.value->text = to;
    } else {
      rename_everywhere(root, std::string(place.value->text), to);
    }
  }

  static void rename_everywhere(JsonValue& value, const std::string& from, const std::string& to) {
    if (value.is_string() && value.text == from) value.text = to;
    for (JsonValue& item : value.items) rename_everywhere(item, from, to);
    for (JsonMember& member : value.members) rename_everywhere(member.value, from, to);
  }

  void change(const JsonPlace& place, const std::vector<JsonPlace>& places,
              Choices& choices) const {
    switch (choices.below(8)) {
      case 0: {  // the value of this key elsewhere in the document
        const JsonValue copy = *choices.of(with_key(places, place.key)).value;
        *place.value = copy;
        return;
      }
      case 1:
        if (const auto pool = pools_.find(std::string(place.key)); pool != pools_.end())
          *place.value = choices.of(pool->second);
        return;
      case 2:
        return change_list(*place.parent, place, choices);
      case 3:
        return change_tag(*place.value, choices);
      default:
        return change_leaf(*place.value, choices);
    }
  }

  void change_list(JsonValue& list, const JsonPlace& place, Choices& choices) const {
    const size_t at = choices.below(list.items.size());
    const auto where = list.items.begin() + static_cast<std::ptrdiff_t>(at);
    switch (choices.below(4)) {
      case 0:
        if (!list.items.empty()) list.items.erase(where);
        if (!list.members.empty())
          list.members.erase(list.members.begin() +
                             static_cast<std::ptrdiff_t>(choices.below(list.members.size())));
        return;
      case 1:
        if (!list.items.empty()) list.items.insert(where, JsonValue(*where));
        return;
      case 2:
        if (!list.items.empty()) std::swap(*where, list.items[choices.below(list.items.size())]);
        return;
      default:
        if (const auto pool = pools_.find(std::string(place.key));
            pool != pools_.end() && list.is_array())
          list.items.insert(where, choices.of(pool->second));
        return;
    }
  }

  // Changes the kind of an argument but not its content, which may not fit.
  static void change_tag(JsonValue& value, Choices& choices) {
    constexpr const char* kTags[] = {"as_none",
                                     "as_tensor",
                                     "as_tensors",
                                     "as_int",
                                     "as_ints",
                                     "as_float",
                                     "as_floats",
                                     "as_string",
                                     "as_strings",
                                     "as_sym_int",
                                     "as_sym_ints",
                                     "as_scalar_type",
                                     "as_layout",
                                     "as_device",
                                     "as_bool",
                                     "as_bools",
                                     "as_sym_bool",
                                     "as_sym_bools",
                                     "as_graph",
                                     "as_complex",
                                     "as_memory_format",
                                     "as_optional_tensors",
                                     "as_custom_obj",
                                     "as_operator",
                                     "as_sym_float",
                                     "as_optional_tensor",
                                     "as_expr",
                                     "as_name",
                                     "as_nested_tensors",
                                     "user_input",
                                     "parameter",
                                     "buffer",
                                     "tensor_constant",
                                     "user_output",
                                     "loss_output",
                                     "buffer_mutation",
                                     "user_input_mutation",
                                     "gradient_to_parameter"};
    if (!value.is_object() || value.members.empty()) return;
    JsonMember& member = value.members[choices.below(value.members.size())];
    member.key = choices.of(kTags);
    if (choices.below(2) == 0) change_leaf(member.value, choices);
  }

  static void change_leaf(JsonValue& value, Choices& choices) {
    constexpr const char* kNumbers[] = {"0",
                                        "1",
                                        "-1",
                                        "2",
                                        "3",
                                        "4",
                                        "5",
                                        "7",
                                        "8",
                                        "16",
                                        "100",
                                        "-2",
                                        "-3",
                                        "1000000",
                                        "2147483647",
                                        "4294967296",
                                        "2305843009213693956",
                                        "4611686018427387904",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "0.5",
                                        "1e300",
                                        "NaN",
                                        "Infinity"};
    constexpr const char* kTexts[] = {
        "",
        "x",
        "s0",
        "s77",
        "u0",
        "Symbol('u0', integer=True)",
        "s77*s77*s77",
        "Mul(Integer(4611686018427387904), Symbol('s77', positive=True, integer=True))",
        "FloorDiv(Symbol('s77', positive=True, integer=True), Integer(0))",
        "2**63",
        "s77 - 1",
        "Pow(Integer(2), Integer(62))",
        "Mod(Symbol('s77', positive=True, integer=True), Integer(-1))",
        "L['x'].size()[0] >= 2",
        "L['x'].stride()[0] != L['x'].size()[1]",
        "u0 >= 0",
        "L['flat_args'][0].size()[9] == 3",
        "L['x'] % 0 == 1",
        "mean",
        "sum",
        "cpu",
        "cuda:0",
        "bilinear",
        "ij,jk->ik",
        "tanh",
        "model",
        "weight",
        "sub_graph",
        "inf"};
    const size_t what = choices.below(16);
    if (what == 0) {
      value = JsonValue{};
    } else if (what == 1) {
      value = JsonValue{.kind = JsonValue::Kind::boolean, .boolean = choices.below(2) == 1};
    } else if (value.is_number() || (what == 2 && !value.is_string())) {
      value = JsonValue{.kind = JsonValue::Kind::number, .text = choices.of(kNumbers)};
    } else if (value.is_string() || what == 3) {
      value = JsonValue{.kind = JsonValue::Kind::string, .text = choices.of(kTexts)};
    } else if (value.kind == JsonValue::Kind::boolean) {
      value.boolean = !value.boolean;
    } else if (what < 8 && value.is_array() && !value.items.empty()) {
      change_leaf(value.items[choices.below(value.items.size())], choices);
    } else if (value.is_object() && !value.members.empty()) {
      change_leaf(value.members[choices.below(value.members.size())].value, choices);
    }
  }

  std::vector<ProgramSeed> seeds_;
  std::map<std::string, std::vector<JsonValue>> pools_;  // the values of all seeds, by key
  std::vector<JsonValue> nodes_;
  std::vector<std::string> targets_;
};

}  // namespace pt2::test

#endif  // PT2_TESTS_CONVERT_PROGRAM_EDITS_H
