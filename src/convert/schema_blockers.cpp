#include "convert/schema_blockers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>

#include "base/printable.h"
#include "pt2/format/schema_json.h"
#include "schema/encode.h"
#include "schema/path.h"
#include "schema/trace.h"
#include "schema/type.h"

namespace pt2 {
namespace {

using schema::Kind;
using schema::Member;
using schema::Type;

constexpr std::string_view kOutermostGraph = ".graph_module.graph";
constexpr std::string_view kNodes = "nodes", kValues = "tensor_values";

// Returns ", which came with RELEASE"; an empty text for members that no known release has.
std::string since_text(const Release* first) {
  return first == nullptr ? std::string()
                          : fmt::format(", which came with {}", release_name(*first));
}

class SchemaWalk {
 public:
  SchemaWalk(const Release& release, int version, bool as_written, const AddBlocker& add,
             std::string path = "")
      : release_(release),
        version_(version),
        as_written_(as_written),
        add_(add),
        path_(std::move(path)) {}

  // Called when the walk reaches a member of the outermost graph.
  std::function<void(std::string_view member)> on_table;

  void walk_item(size_t index, const Type& type, void* value) {
    const size_t mark = path_.size();
    schema::append_index_step(path_, index);
    walk(type, value);
    path_.resize(mark);
  }

  void walk(const Type& type, void* value) {
    switch (type.kind) {
      case Kind::none:
      case Kind::boolean:
      case Kind::integer:
      case Kind::number:
      case Kind::string:
      case Kind::json:
        return;
      case Kind::enumeration:
        return check_enumerator(type, value);
      case Kind::optional:
        if (type.size(value) != 0) walk(*type.element, type.at(value));
        return;
      case Kind::box:
        return walk(*type.element, type.at(value));
      case Kind::list:
        return walk_list(type, value);
      case Kind::dict:
        return walk_dict(type, value);
      case Kind::record:
        return walk_record(type, value);
      case Kind::variant:
        return walk_variant(type, value);
    }
  }

 private:
  void add(BlockerKind kind, std::string text, const Release* first) {
    add_({.kind = kind,
          .text = std::move(text),
          .where = path_,
          .node = node_ == nullptr ? NodePlace{} : place_of(*node_),
          .first = first});
  }

  void below(std::string_view step, const Type& type, void* value) {
    const size_t mark = path_.size();
    schema::append_key_step(path_, step);
    walk(type, value);
    path_.resize(mark);
  }

  void walk_list(const Type& type, void* value) {
    for (size_t i = 0, count = type.size(value); i < count; ++i)
      walk_item(i, *type.element, type.at(value, i));
  }

  void walk_dict(const Type& type, void* value) {
    for (size_t i = 0, count = type.size(value); i < count; ++i)
      below(type.key(value, i), *type.element, type.at(value, i));
  }

  void walk_record(const Type& type, void* value) {
    const schema::Node* const outer = node_;
    if (&type == &schema::type_of<schema::Node>()) node_ = static_cast<const schema::Node*>(value);
    check_trace(type, value);
    for (const Member& member : type.members) {
      void* field = member.get(value);
      if (on_table && path_ == kOutermostGraph) on_table(member.name);
      if (!member.is_in(version_)) {
        if (schema::is_set(member, value)) check_field(type, member);
        continue;
      }
      below(member.key, *member.type, field);
    }
    node_ = outer;
  }

  static NodePlace place_of(const schema::Node& node) {
    const Node described{.target = node.target, .metadata = node.metadata};
    return {bounded(node_name(node)), bounded(node.target), bounded(module_path(described)),
            bounded(source_line(described))};
  }

  static std::string node_name(const schema::Node& node) {
    if (node.name) return *node.name;
    using enum schema::ArgumentCase;
    for (const schema::Argument& output : node.outputs) {
      if (const auto* tensor = output.get_if<as_tensor>()) return tensor->name;
      if (const auto* list = output.get_if<as_tensors>(); list && !list->empty())
        return list->front().name;
    }
    return {};
  }

  void check_trace(const Type& type, void* value) {
    const schema::Trace* trace = type.trace_of(value);
    if (trace == nullptr) return;
    const auto is_unknown = [](const schema::Trace::Field& field) { return field.member < 0; };
    const auto unknown = std::ranges::find_if(trace->fields, is_unknown);
    const bool has_unknown = unknown != trace->fields.end();
    if (has_unknown && release_.refuses_unknown_fields)
      add(BlockerKind::unknown_field, fmt::format("the field {}", printable(unknown->key)),
          find_release("2.9"));
    if (!as_written_ && (!has_unknown || release_.refuses_unknown_fields)) *type.trace(value) = {};
  }

  // Newer readers ignore unknown fields. A conversion reports them all the same, because their
  // meaning is lost; a check of the file as it is does not.
  void check_field(const Type& type, const Member& member) {
    if (as_written_ && !release_.refuses_unknown_fields) return;
    const Release* first = first_release_with(member.since);
    add(BlockerKind::field, fmt::format("{}.{}{}", type.name, member.name, since_text(first)),
        first);
  }

  void walk_variant(const Type& type, void* value) {
    if (type.is_unknown(value))
      return add(BlockerKind::alternative,
                 fmt::format("{} {}, which no known release has", type.name,
                             printable(schema::unknown_of(type, value).tag)),
                 nullptr);
    const Member& held = type.members[type.size(value)];
    if (!held.is_in(version_)) {
      const Release* first = first_release_with(held.since);
      return add(BlockerKind::alternative,
                 fmt::format("{} {}{}", type.name, held.name, since_text(first)), first);
    }
    below(held.key, *held.type, type.at(value));
  }

  void check_enumerator(const Type& type, const void* value) {
    int64_t number = 0;
    std::memcpy(&number, value, sizeof number);
    const auto found = std::ranges::find(type.values, number, &schema::EnumValue::value);
    if (found != type.values.end() && found->since <= version_) return;
    const Release* first = found == type.values.end() ? nullptr : first_release_with(found->since);
    const std::string name =
        found == type.values.end() ? std::to_string(number) : std::string(found->name);
    add(BlockerKind::enumerator, fmt::format("{} {}{}", type.name, name, since_text(first)), first);
  }

  const Release& release_;
  int version_;
  bool as_written_;
  const AddBlocker& add_;
  std::string path_;
  const schema::Node* node_ = nullptr;  // the node that the walk is in
};

}  // namespace

void check_schema(schema::ExportedProgram& program, const Release& release, int version,
                  const AddBlocker& add) {
  SchemaWalk(release, version, false, add)
      .walk(schema::type_of<schema::ExportedProgram>(), &program);
}

void WrittenSchemaCheck::check_outline(schema::ExportedProgram& program) {
  const AddBlocker add = [&](Blocker blocker) { outline_.push_back(std::move(blocker)); };
  SchemaWalk walk(release_, release_.schema, true, add);
  walk.on_table = [&](std::string_view member) {
    if (member == kNodes) nodes_.place = outline_.size();
    if (member == kValues) values_.place = outline_.size();
  };
  walk.walk(schema::type_of<schema::ExportedProgram>(), &program);
}

void WrittenSchemaCheck::check_nodes(schema::List<schema::Node>& nodes) {
  const AddBlocker add = [&](Blocker blocker) { nodes_.found.push_back(std::move(blocker)); };
  SchemaWalk walk(release_, release_.schema, true, add,
                  fmt::format("{}.{}", kOutermostGraph, kNodes));
  for (schema::Node& node : nodes)
    walk.walk_item(node_count_++, schema::type_of<schema::Node>(), &node);
}

void WrittenSchemaCheck::check_values(schema::Dict<schema::TensorMeta>& values) {
  const AddBlocker add = [&](Blocker blocker) { values_.found.push_back(std::move(blocker)); };
  SchemaWalk(release_, release_.schema, true, add, fmt::format("{}.{}", kOutermostGraph, kValues))
      .walk(*std::ranges::find(schema::type_of<schema::Graph>().members, kValues, &Member::name)
                 ->type,
            &values);
}

std::vector<Blocker> WrittenSchemaCheck::take() {
  // Inserts at the later place first, so that the earlier place stays valid.
  Table* const tables[] = {&nodes_, &values_};
  const bool nodes_last = nodes_.place > values_.place;
  for (Table* table : {tables[nodes_last ? 0 : 1], tables[nodes_last ? 1 : 0]})
    outline_.insert(outline_.begin() + static_cast<ptrdiff_t>(table->place),
                    std::make_move_iterator(table->found.begin()),
                    std::make_move_iterator(table->found.end()));
  return std::move(outline_);
}

}  // namespace pt2
