#include "tools/values/shapes.h"

#include <fmt/format.h>

#include <map>

#include "base/printable.h"
#include "pt2/ir/guards.h"
#include "pt2/ir/type_text.h"
#include "tools/json_members.h"
#include "tools/table.h"

namespace pt2::tools {
namespace {

std::string range_words(const SymRange& range) {
  const int64_t low = range.min.value_or(0);
  if (range.is_unbounded()) return low > 0 ? fmt::format("at least {}", low) : "any size";
  return fmt::format("{} to {}", low, *range.max);
}

struct DimText {
  std::string size;   // "3", "2*s77"
  std::string means;  // "1 to 1024", "s77 is dim 0 of x"; empty for a number
};
struct InputText {
  std::string name;
  std::string type;  // "f32", or the whole type if the input is not a tensor
  std::vector<DimText> dims;
};

class Describer {
 public:
  explicit Describer(const Program& program) : program_(program) {}

  std::vector<InputText> describe() {
    const std::vector<ArgumentSpec> specs = program_.signature.user_inputs();
    const std::vector<std::string> names = user_input_names(program_);
    std::vector<const TensorMeta*> metas;
    for (size_t i = 0; i < specs.size(); ++i) {
      const auto id = specs[i].kind == ArgumentSpec::Kind::tensor
                          ? program_.graph.find_value(specs[i].name)
                          : std::nullopt;
      metas.push_back(id ? program_.graph.value(*id).tensor() : nullptr);
      note_symbols(specs[i], metas.back(), names[i]);
    }
    std::vector<InputText> out;
    for (size_t i = 0; i < specs.size(); ++i) {
      const TensorMeta* meta = metas[i];
      out.push_back({names[i], meta ? dtype_text(meta->dtype) : type_text(program_, specs[i])});
      for (size_t dim = 0; meta != nullptr && dim < meta->sizes.size(); ++dim)
        out.back().dims.push_back(
            {print(meta->sizes[dim]), meaning(meta->sizes[dim], dim_name(names[i], dim))});
    }
    return out;
  }

 private:
  static std::string dim_name(const std::string& input, size_t dim) {
    return fmt::format("dim {} of {}", dim, input);
  }

  // Records the first place of each bare symbol, where a call determines the symbol's value.
  void note_symbols(const ArgumentSpec& spec, const TensorMeta* meta, const std::string& name) {
    for (size_t dim = 0; meta != nullptr && dim < meta->sizes.size(); ++dim)
      note(meta->sizes[dim], dim_name(name, dim));
    const auto id = program_.graph.find_value(spec.name);
    if (spec.kind == ArgumentSpec::Kind::sym_int && id)
      if (const auto* size = std::get_if<SymInt>(&program_.graph.value(*id).meta))
        note(*size, name);
  }
  void note(const SymInt& size, const std::string& place) {
    if (size.is_symbolic() && size.expr().is_symbol())
      places_.try_emplace(size.expr()->symbol, place);
  }

  std::string meaning(const SymInt& size, const std::string& place) const {
    if (!size.is_symbolic()) return "";
    std::string out;
    for (SymbolId symbol : free_symbols(size.expr())) {
      const auto found = places_.find(symbol);
      if (found == places_.end() || found->second == place) continue;
      out += (out.empty() ? "" : ", ") +
             fmt::format("{} is {}", program_.expressions->symbol_name(symbol), found->second);
    }
    if (const RangeConstraint* constraint = find_range(program_, size.expr()))
      return range_words(constraint->range) + (out.empty() ? "" : "; " + out);
    return out.empty() ? "any size" : out;
  }

  const Program& program_;
  std::map<SymbolId, std::string> places_;
};

}  // namespace

std::string conditions_text(const Program& program) {
  TextTable table({{"input"}, {"type"}, {"dim", Align::right}, {"size"}, {"meaning"}});
  for (const InputText& input : Describer(program).describe()) {
    std::string name = printable(input.name), type = printable(input.type);
    if (input.dims.empty()) table.add({name, type});
    for (size_t dim = 0; dim < input.dims.size(); ++dim) {
      const DimText& each = input.dims[dim];
      table.add({name, type, std::to_string(dim), printable(each.size), printable(each.means)});
      name.clear();
      type.clear();
    }
  }
  std::string out = table.text();
  const std::vector<std::string> guards = guard_texts(program);
  if (!guards.empty()) out += "guards\n";
  for (const std::string& guard : guards) out += fmt::format("  {}\n", printable(guard, 2000));
  return out;
}

void write_conditions(JsonWriter& json, const Program& program) {
  write_objects(json, "inputs", Describer(program).describe(), [&](const InputText& input) {
    write_text(json, "name", input.name);
    write_text(json, "type", input.type);
    write_objects(json, "dims", input.dims, [&](const DimText& dim) {
      write_text(json, "size", dim.size);
      write_text(json, "means", dim.means);
    });
  });
  write_texts(json, "guards", guard_texts(program));
}

std::vector<std::string> guard_texts(const Program& program) {
  std::vector<std::string> out;
  for (const std::string& text : program.guards_code) {
    const Result<Guard> guard = parse_guard(*program.expressions, text);
    out.push_back(guard ? print(*guard) : text);
  }
  return out;
}

}  // namespace pt2::tools
