#include "json_schema.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "read_file.h"

namespace pt2::test {
namespace {

bool has_type(const JsonValue& value, const std::string& type) {
  using Kind = JsonValue::Kind;
  switch (value.kind) {
    case Kind::null:
      return type == "null";
    case Kind::boolean:
      return type == "boolean";
    case Kind::number:
      return type == "number" ||
             (type == "integer" && value.text.find_first_of(".eE") == std::string::npos);
    case Kind::string:
      return type == "string";
    case Kind::array:
      return type == "array";
    case Kind::object:
      return type == "object";
  }
  return false;
}

bool has_some_type(const JsonValue& value, const JsonValue& types) {
  if (types.is_string()) return has_type(value, types.text);
  return std::ranges::any_of(types.items,
                             [&](const JsonValue& type) { return has_type(value, type.text); });
}

}  // namespace

JsonSchemas::JsonSchemas(const std::filesystem::path& folder) {
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    auto json = parse_json(read_file(file.path()));
    EXPECT_TRUE(json) << file.path() << ": " << json.error().text();
    if (json) schemas_.emplace(file.path().filename().string(), *std::move(json));
  }
}

std::string JsonSchemas::fault(const std::string& name, const JsonValue& document) const {
  return fault_of(schemas_.at(name + ".schema.json"), document, name);
}

std::string JsonSchemas::fault_of(const JsonValue& schema, const JsonValue& value,
                                  const std::string& place) const {
  for (const auto& [keyword, what] : schema.members) {
    if (keyword == "$ref") {
      if (std::string found = fault_of(schemas_.at(what.text), value, place); !found.empty())
        return found;
    } else if (keyword == "anyOf") {
      std::string all;
      for (const JsonValue& form : what.items) {
        const std::string found = fault_of(form, value, place);
        if (found.empty()) {
          all.clear();
          break;
        }
        all += "\n  or " + found;
      }
      if (!all.empty()) return place + " has none of the forms:" + all;
    } else if (keyword == "enum") {
      if (!value.is_string() || std::ranges::none_of(what.items, [&](const JsonValue& each) {
            return each.text == value.text;
          }))
        return place + " is none of the words";
    } else if (keyword == "type") {
      if (!has_some_type(value, what)) return place + " has another type";
    } else if (keyword == "items") {
      for (size_t i = 0; i < value.items.size(); ++i)
        if (std::string found =
                fault_of(what, value.items[i], place + "[" + std::to_string(i) + "]");
            !found.empty())
          return found;
    } else if (keyword != "properties" && keyword != "required" &&
               keyword != "additionalProperties" && keyword != "$schema" && keyword != "title" &&
               keyword != "description") {
      return "the schema of " + place + " has the keyword " + keyword + ", which is not known here";
    }
  }
  return object_fault(schema, value, place);
}

std::string JsonSchemas::object_fault(const JsonValue& schema, const JsonValue& value,
                                      const std::string& place) const {
  if (const JsonValue* required = schema.find("required"))
    for (const JsonValue& name : required->items)
      if (value.find(name.text) == nullptr) return place + " lacks " + name.text;
  const JsonValue* known = schema.find("properties");
  const JsonValue* others = schema.find("additionalProperties");
  for (const auto& [name, member] : value.members) {
    const JsonValue* own = known == nullptr ? nullptr : known->find(name);
    if (own == nullptr) own = others;
    if (own == nullptr) continue;
    if (own->kind == JsonValue::Kind::boolean) {
      if (!own->boolean) return place + " has the member " + name + ", which its schema lacks";
    } else if (std::string found = fault_of(*own, member, place + "." + name); !found.empty()) {
      return found;
    }
  }
  return {};
}

}  // namespace pt2::test
