"""Records every value that PyTorch computes when it runs an exported program, by its name in the graph.

    python record_trace.py model.pt2 inputs.safetensors trace.safetensors

`inputs.safetensors` (or .npz) holds the inputs under the names of the graph's inputs, as `pt2 trace` writes them; - takes
the program's own example inputs. Then `pt2 test model.pt2 --first-divergence trace.safetensors` names the
first node whose value differs. docs/traces.md has the layout.
"""

import sys

import torch
from safetensors.torch import load_file, save_file


class Recorder(torch.fx.Interpreter):
    """Runs a graph node by node. Values of nested graphs are recorded under the names of the node and the graph."""

    def __init__(self, module, values, prefix=""):
        super().__init__(module)
        self.values, self.prefix, self.runs = values, prefix, {}

    def run_node(self, node):
        self.node = node
        result = super().run_node(node)
        if node.op not in ("placeholder", "get_attr", "output"):
            record(self.values, self.prefix + node.name, result)
        return result

    def call_function(self, target, args, kwargs):
        names = {id(getattr(self.module, a.target)): a.target for a in self.node.all_input_nodes if a.op == "get_attr"}
        self.runs = {}
        return super().call_function(target, tuple(self.nested(a, names) for a in args), kwargs)

    def nested(self, argument, names):
        if not isinstance(argument, torch.fx.GraphModule):
            return argument
        place = f"{self.prefix}{self.node.name}.{names.get(id(argument), 'graph')}"

        def run(*inputs):
            number = self.runs[place] = self.runs.get(place, -1) + 1
            return Recorder(argument, self.values, place + (f"[{number}]" if number else "") + ".").run(*inputs)

        return run


def record(values, name, value):
    if isinstance(value, (bool, int, float)):
        value = torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
        return
    # Inside vmap PyTorch has one value for the whole batch, so nothing is recorded. Elsewhere the value is copied,
    # because a later node may write to it.
    if not torch._C._functorch.is_functorch_wrapped_tensor(value):
        values[name] = value.detach().clone().contiguous()


def read_inputs(program, path):
    specs = [s.arg for s in program.graph_signature.input_specs if s.kind.name == "USER_INPUT"]
    if path == "-":
        args, kwargs = program.example_inputs
        return torch.utils._pytree.tree_leaves((args, kwargs))
    if path.endswith(".npz"):
        import numpy

        file = {name: torch.from_numpy(array) for name, array in numpy.load(path).items()}
    else:
        file = load_file(path)

    def value(spec):
        if hasattr(spec, "value"):  # a constant of the program
            return spec.value
        return file[spec.name] if type(spec).__name__ == "TensorArgument" else file[spec.name].item()

    return [value(spec) for spec in specs]


def main(model, inputs, trace):
    program = torch.export.load(model)
    values = {}
    specs = program.graph_signature.input_specs
    state = {**program.state_dict, **program.constants}
    user = iter(read_inputs(program, inputs))
    arguments = []
    for spec in specs:
        if spec.kind.name == "USER_INPUT":
            arguments.append(next(user))
            if not hasattr(spec.arg, "value"):
                record(values, spec.arg.name, arguments[-1])
        else:
            arguments.append(state[spec.target])
    torch.manual_seed(0)
    with torch.no_grad():
        Recorder(program.graph_module, values).run(*arguments)
    save_file(values, trace)
    print(f"{len(values)} values")


if __name__ == "__main__":
    main(*sys.argv[1:])
