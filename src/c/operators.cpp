#include "c/operators.h"

#include "c/values.h"
#include "ops/forms/owned_signature.h"

namespace pt2::c {
namespace {

// A kernel of the C interface, called with handles of its arguments.
struct Kernel {
  pt2_kernel kernel = nullptr;
  size_t result_count = 0;
  std::shared_ptr<Releaser> owner;
  void* user = nullptr;

  Result<std::vector<Value>> operator()(std::span<const Value> arguments) const {
    std::vector<pt2_value> given;
    for (const Value& argument : arguments) given.push_back({.value = argument});
    std::vector<const pt2_value*> pointers;
    for (const pt2_value& each : given) pointers.push_back(&each);
    OwnedValues results(result_count);
    pt2_error* error =
        kernel(pointers.data(), pointers.size(), results.values().data(), result_count, user);
    if (error != nullptr) return take_error(error);
    std::vector<Value> out;
    for (const pt2_value* result : results.values()) {
      if (result == nullptr) return argument_error("the kernel left out a result");
      out.push_back(result->value);
    }
    return out;
  }
};

}  // namespace
}  // namespace pt2::c

using namespace pt2::c;
using pt2::Result;

pt2_error* pt2_operators_create(pt2_operators** out) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(out, "out"));
    *out = new pt2_operators;
    return {};
  });
}

pt2_error* pt2_operators_add(pt2_operators* operators, const char* schema, size_t length,
                             pt2_kernel kernel, pt2_release release, void* user) {
  return guarded([&]() -> Result<void> {
    PT2_TRY_VOID(expect(operators, "operators"));
    PT2_TRY_VOID(expect(reinterpret_cast<const void*>(kernel), "kernel"));
    PT2_TRY(const std::string_view text, read_text(schema, length, "schema"));
    const pt2::ops::OwnedSignature signature{std::string(text)};
    auto owner = std::make_shared<Releaser>();
    PT2_TRY_VOID(operators->operators.add_kernel(
        text, Kernel{kernel, signature.returns.size(), owner, user}));
    owner->set(release, user);
    return {};
  });
}

void pt2_operators_free(pt2_operators* operators) { delete operators; }
