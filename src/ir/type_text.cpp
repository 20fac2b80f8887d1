#include "pt2/ir/type_text.h"

#include "base/text.h"

namespace pt2 {
namespace {

// Returns " 1..1024" or " >= 2"; empty if the constraint only says that the number is a size.
std::string range_text(const SymRange& range) {
  const int64_t low = range.min.value_or(0);
  if (!range.is_unbounded()) return " " + std::to_string(low) + ".." + std::to_string(*range.max);
  return low > 0 ? " >= " + std::to_string(low) : "";
}

std::string dim_text(const Program& program, const SymInt& size) {
  std::string text = print(size);
  if (!size.is_symbolic()) return text;
  const RangeConstraint* constraint = find_range(program, size.expr());
  return constraint == nullptr ? text : text + range_text(constraint->range);
}

template <class DimText>
std::string type_text_with(const TensorMeta& meta, const DimText& dim) {
  std::string out = dtype_text(meta.dtype) + "[";
  for (size_t i = 0; i < meta.sizes.size(); ++i) out += (i ? ", " : "") + dim(meta.sizes[i]);
  return out + "]";
}

struct ConstantText {
  std::string operator()(None) const { return "none"; }
  std::string operator()(bool value) const { return value ? "bool true" : "bool false"; }
  std::string operator()(int64_t value) const { return "int " + std::to_string(value); }
  std::string operator()(double value) const { return "float " + print_float(value); }
  std::string operator()(const std::string& value) const { return "string '" + value + "'"; }
  template <class T>
  std::string operator()(const T&) const {
    return "constant";
  }
};

}  // namespace

std::string dtype_text(ScalarType dtype) {
  if (const auto known = dtype.dtype()) return std::string(dtype_info(*known).short_name);
  return "dtype " + std::to_string(dtype.number);
}

std::string type_text(const Program& program, const TensorMeta& meta) {
  return type_text_with(meta, [&](const SymInt& size) { return dim_text(program, size); });
}

std::string type_text(const TensorMeta& meta) {
  return type_text_with(meta, [](const SymInt& size) { return print(size); });
}

std::string type_text(const Program& program, const ArgumentSpec& spec) {
  using Kind = ArgumentSpec::Kind;
  if (spec.kind == Kind::constant) return std::visit(ConstantText{}, spec.value.variant);
  const auto id = program.graph.find_value(spec.name);
  if (spec.kind == Kind::tensor && id)
    if (const TensorMeta* meta = program.graph.value(*id).tensor())
      return type_text(program, *meta);
  switch (spec.kind) {
    case Kind::tensor:
      return "tensor";
    case Kind::sym_int: {
      if (id)
        if (const auto* size = std::get_if<SymInt>(&program.graph.value(*id).meta))
          return "int " + dim_text(program, *size);
      return "int";
    }
    case Kind::sym_float:
      return "float";
    case Kind::sym_bool:
      return "bool";
    case Kind::custom_obj:
      return "object " + spec.class_fqn;
    case Kind::token:
      return "token";
    case Kind::constant:
      break;
  }
  return "constant";
}

}  // namespace pt2
