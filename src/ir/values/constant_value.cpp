#include "ir/values/constant_value.h"

#include <string>

namespace pt2 {
namespace {

struct ConstantVisitor {
  Result<Value> operator()(None) const { return Value(); }
  Result<Value> operator()(ValueId) const { return Value(); }
  Result<Value> operator()(bool value) const { return Value(value); }
  Result<Value> operator()(int64_t value) const { return Value(value); }
  Result<Value> operator()(double value) const { return Value(value); }
  Result<Value> operator()(std::complex<double> value) const { return Value(value); }
  Result<Value> operator()(const std::string& value) const { return Value(value); }
  Result<Value> operator()(ScalarType value) const {
    if (const auto dtype = value.dtype()) return Value(*dtype);
    return unsupported("the dtype number " + std::to_string(value.number));
  }
  Result<Value> operator()(MemoryFormat value) const { return Value(value); }
  Result<Value> operator()(Layout value) const { return Value(value); }
  Result<Value> operator()(const Device& value) const { return Value(value); }
  Result<Value> operator()(const OperatorName& value) const { return Value(value.target); }
  Result<Value> operator()(SubgraphId) const { return Value(); }
  Result<Value> operator()(const CustomObject& value) const {
    return unsupported("the custom object " + value.name);
  }
  Result<Value> operator()(const ArgumentList& list) const {
    Value::List items;
    for (const Argument& item : list.items) {
      PT2_TRY(Value value, constant_value(item));
      items.push_back(std::move(value));
    }
    return Value(std::move(items));
  }
  Result<Value> operator()(const ArgumentMap&) const { return unsupported("a dictionary"); }
  Result<Value> operator()(const UnknownArgument& value) const {
    return unsupported("an argument of kind " + value.tag);
  }

  static Error unsupported(const std::string& what) {
    return {ErrorCode::unsupported, what + " is not supported as an argument", ""};
  }
};

}  // namespace

Result<Value> constant_value(const Argument& argument) {
  return std::visit(ConstantVisitor{}, argument.variant);
}

}  // namespace pt2
