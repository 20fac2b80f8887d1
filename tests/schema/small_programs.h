// Minimal programs of several schema versions, as texts that tests modify.
#ifndef PT2_TESTS_SCHEMA_SMALL_PROGRAMS_H
#define PT2_TESTS_SCHEMA_SMALL_PROGRAMS_H

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace pt2::schema {

// A program with one node, in the spelling of torch 2.15.
inline const std::string kProgram =
    R"({"graph_module": {"graph": {"inputs": [{"as_tensor": {"name": "x"}}], )"
    R"("outputs": [{"as_tensor": {"name": "y"}}], "nodes": [{"target": "torch.ops.aten.add.Tensor", )"
    R"("inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1}, )"
    R"({"name": "other", "arg": {"as_float": 0.5}, "kind": 1}, )"
    R"({"name": "none", "arg": {"as_none": true}, "kind": 2}], )"
    R"("outputs": [{"as_tensor": {"name": "y"}}], "metadata": {"stack_trace": "line\n"}, )"
    R"("is_hop_single_tensor_return": null, "name": "add"}], )"
    R"("tensor_values": {"x": {"dtype": 7, "sizes": [{"as_int": 2}], "requires_grad": false, )"
    R"("device": {"type": "cpu", "index": null}, "strides": [{"as_int": 1}], )"
    R"("storage_offset": {"as_int": 0}, "layout": 7}}, "sym_int_values": {}, "sym_bool_values": {}, )"
    R"("is_single_tensor_return": false, "custom_obj_values": {}, "sym_float_values": {}}, )"
    R"("signature": {"input_specs": [{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}], )"
    R"("output_specs": [{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}]}, )"
    R"("module_call_graph": [{"fqn": "", "signature": null}], "metadata": {}, )"
    R"("treespec_namedtuple_fields": {}}, "opset_version": {"aten": 10}, )"
    R"("range_constraints": {"s0": {"min_val": 2, "max_val": null}}, )"
    R"("schema_version": {"major": 8, "minor": 20}, "verifiers": ["TRAINING"], )"
    R"("torch_version": "2.15.0+cpu", "guards_code": []})";

// Returns `text` with the first `from` replaced. `from` must occur.
inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

}  // namespace pt2::schema

#endif  // PT2_TESTS_SCHEMA_SMALL_PROGRAMS_H
