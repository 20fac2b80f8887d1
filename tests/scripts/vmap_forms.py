#!/usr/bin/env python3
"""Exports torch.vmap in its different forms, with known and with symbolic sizes, with recorded calls.

    vmap_forms.py OUT_DIR

writes vmap_forms and vmap_dynamic, a .pt2 and a .safetensors each.
"""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from torch import vmap


class VmapForms(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x, y, indices):
        ones = torch.ones(2)

        def written(a):
            b = a.sin()
            b.add_(1)
            return b, ones * 2

        def without_gradient(a):
            with torch.no_grad():
                b = a.sum()
            return a * b

        nested = vmap(lambda a: vmap(lambda b: torch.dot(a, b))(y))(x)
        several, the_same = vmap(written, out_dims=(0, 1))(x)
        columns = vmap(lambda a: a * 2, in_dims=1)(x)
        turned = vmap(lambda a: (torch.outer(a, a) * 2).t())(x).transpose(1, 2).view(3, -1)
        picked = vmap(lambda a, i: a[i], (None, 0))(x, indices)
        parts = vmap(lambda a: torch.stack(a.split(2)[::-1]).sum(0))(x)
        empty = vmap(lambda a: a.cos())(x[:0])
        return (nested, several, the_same, columns, turned, picked, vmap(self.linear)(x), parts,
                vmap(without_gradient)(x), empty)  # fmt: skip


class VmapDynamic(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x, y):
        scaled = vmap(lambda a, b: self.linear(a) * b.sum(), (0, None))(x, y)
        nested = vmap(lambda a: vmap(lambda b: torch.dot(a, b))(y))(x)
        sizes = vmap(lambda a: a.reshape(-1, 1).expand(a.shape[0], 2) * y.shape[0] + x.shape[0], in_dims=1)(x)
        return scaled, nested, sizes


def save(folder, name, module, calls, dynamic_shapes=None):
    program = torch.export.export(module, calls[0], dynamic_shapes=dynamic_shapes)
    for node in program.graph.nodes:  # stack traces would be half of the file
        for key in ("stack_trace", "nn_module_stack", "from_node"):
            node.meta.pop(key, None)
    torch.export.save(program, folder / f"{name}.pt2")
    loaded = torch.export.load(folder / f"{name}.pt2").module()
    tensors, recorded = {}, []
    for k, inputs in enumerate(calls):
        with torch.no_grad():
            outputs = loaded(*inputs)
        for kind, values in (("in", inputs), ("out", outputs)):
            tensors |= {f"call{k}.{kind}.{i}": value.contiguous().clone() for i, value in enumerate(values)}
        recorded.append({kind: [{"tensor": f"call{k}.{kind}.{i}"} for i in range(len(values))]
                         for kind, values in (("in", inputs), ("out", outputs))})  # fmt: skip
    save_file(tensors, folder / f"{name}.safetensors", metadata={"calls": json.dumps(recorded), "torch": torch.__version__})


def main(folder):
    torch.manual_seed(0)
    draw = lambda b, c: (torch.randn(b, 4), torch.randn(c, 4))
    save(folder, "vmap_forms", VmapForms(), [(*draw(3, 2), torch.tensor([2, 0]))])
    dims = ({0: torch.export.Dim("b")}, {0: torch.export.Dim("c")})
    save(folder, "vmap_dynamic", VmapDynamic(), [draw(3, 2), draw(5, 7), draw(0, 2)], dims)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
