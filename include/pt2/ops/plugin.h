// Plug-ins: libraries of custom operators that the user names on the command line: `pt2 run
// model.pt2 --ops ./libmine.so`. A .pt2 file can never cause a plug-in to be loaded.
//
//   #include "pt2/ops/plugin.h"
//   PT2_PLUGIN(operators) {
//     return operators.add("mylib::scale(Tensor x, float factor) -> Tensor", scale);
//   }
//
// A plug-in is a module linked with pt2::run. It shares C++ types with the program that loads it,
// so build it with the same compiler and the same version of this library. Loading checks this.
// docs/custom-operators.md has the CMake lines.
#ifndef PT2_OPS_PLUGIN_H
#define PT2_OPS_PLUGIN_H

#include <cstdint>
#include <string>

#include "pt2/ops/custom_operators.h"

namespace pt2 {

// The properties that must be equal in a plug-in and its host.
struct PluginInterface {
  // Increased when the meaning of a type below changes.
  uint32_t version = 1;
  // Sizes of the types that plug-in and host exchange.
  uint32_t value_bytes = sizeof(Value);
  uint32_t tensor_bytes = sizeof(Tensor);
  uint32_t storage_bytes = sizeof(Storage);
  uint32_t error_bytes = sizeof(Error);
  uint32_t operators_bytes = sizeof(CustomOperators);
  bool operator==(const PluginInterface&) const = default;
};

// The symbol that a plug-in exports as `pt2_plugin`.
struct Plugin {
  static constexpr uint64_t kMagic = 0x6e6967756c507470;  // "ptPlugin"
  uint64_t magic = kMagic;
  PluginInterface interface {};
  Result<void> (*add)(CustomOperators& operators) = nullptr;
};

#define PT2_PLUGIN(operators)                                               \
  static pt2::Result<void> pt2_plugin_add(pt2::CustomOperators& operators); \
  extern "C" __attribute__((visibility("default")))                         \
  const pt2::Plugin pt2_plugin{.add = pt2_plugin_add};                      \
  static pt2::Result<void> pt2_plugin_add(pt2::CustomOperators& operators)

// Loads the library at `path` and adds its operators. Loading runs code of the library. The library
// stays loaded until the process ends, because kernels may outlive all other objects. Errors: `io`
// if there is no such file; `malformed` if it is no library or no plug-in; `unsupported` if it was
// built for another interface; those of CustomOperators::add. Their `where` is the path.
Result<void> load_plugin(const std::string& path, CustomOperators& operators);

}  // namespace pt2

#endif  // PT2_OPS_PLUGIN_H
