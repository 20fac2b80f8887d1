#!/usr/bin/env python3
"""Exports torch.func.jvp of many functions, alone and nested, with recorded calls.

    forward_derivatives.py OUT_DIR

writes forward_derivatives.pt2 and more_forward_derivatives.pt2, each with its .safetensors: one result per function, each a
tangent.
"""
import json
import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

POINTWISE = ["abs", "asinh", "atan", "cos", "cosh", "erf", "exp", "expm1", "neg", "relu", "sigmoid", "sin", "sinh", "square",
             "tan", "tanh"]
OF_POSITIVE = ["log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sqrt"]
OF_SMALL = ["acos", "asin", "atanh"]


class ForwardDerivatives(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(5, 4))
        self.bias = torch.nn.Parameter(torch.randn(5))
        self.kernel = torch.nn.Parameter(torch.randn(2, 1, 3))
        self.register_buffer("order", torch.tensor([2, 0]))

    def functions(self, other):
        weight, bias, kernel, order = self.weight, self.bias, self.kernel, self.order
        functions = [getattr(torch, name) for name in POINTWISE]
        functions += [lambda x, f=getattr(torch, name): f(x * x + 0.5) for name in OF_POSITIVE]
        functions += [lambda x, f=getattr(torch, name): f(torch.tanh(x) * 0.9) for name in OF_SMALL]
        functions += [
            lambda x: F.silu(x), lambda x: F.gelu(x), lambda x: F.softplus(x),
            lambda x: F.linear(x, weight, bias), lambda x: F.linear(other, x, x[:, 0]),
            lambda x: x @ x.T, lambda x: torch.bmm(x[None], other.T[None]), lambda x: torch.mv(x, other[0]),
            lambda x: torch.addmm(x[:, :3], x, other.T), lambda x: torch.dot(x[0], x[1]), lambda x: torch.outer(x[0], other[0]),
            lambda x: F.conv1d(x[:, None], kernel), lambda x: F.conv1d(other[:, None], x[:2, None, :3]),
            lambda x: x * other, lambda x: 2 * x - other, lambda x: other + x * 3, lambda x: 1 - x,
            lambda x: other / (x * x + 1), lambda x: x / 3, lambda x: x / other, lambda x: x ** 3, lambda x: (x * x + 1) ** -0.5,
            lambda x: torch.softmax(x, 1), lambda x: torch.log_softmax(x, 0),
            lambda x: torch.cat([x, other], 0), lambda x: torch.stack([other, x, x * x], 1),
            lambda x: torch.where(x > 0, x * x, other), lambda x: torch.where(x > 0, other, x),
            lambda x: x.sum(), lambda x: x.mean(1), lambda x: x.cumsum(0), lambda x: x.reshape(-1)[2:7].unsqueeze(0),
            lambda x: x.permute(1, 0).contiguous().view(2, -1), lambda x: x.expand(2, 3, 4), lambda x: torch.flip(x, [1]),
            lambda x: x[order], lambda x: x.triu() + x.detach(), lambda x: x.to(torch.float64),
        ]
        return functions

    nested = range(2, 26, 4)

    def forward(self, x, tangent, other):
        jvp = torch.func.jvp
        out = [jvp(f, (x,), (tangent,))[1] for f in self.functions(other)]
        nested = lambda f: (lambda a: jvp(f, (a,), (tangent,))[1])
        functions = self.functions(other)
        out += [jvp(nested(functions[i]), (x,), (other,))[1] for i in self.nested]
        return tuple(out)


class MoreForwardDerivatives(ForwardDerivatives):
    """Operators that select elements, activate and normalize, and composites of operators that have rules."""

    # torch.export fails on the other functions; torch's own second derivative of layer_norm is wrong.
    nested = [2, 4, 5, 8, 9, 13, 15, 16, 19, 20, 24, 26, 27, *range(35, 40)]

    def __init__(self):
        super().__init__()
        self.register_buffer("unit", torch.eye(3))
        self.register_buffer("classes", torch.arange(3))

    def functions(self, other):
        weight, row = self.weight[:4, :4], self.bias[:4]
        positive = lambda x: x * x + 0.5
        square = lambda x: x[:, :3] @ x[:, :3].T + self.unit
        return [
            lambda x: F.layer_norm(x, (4,), row, row), lambda x: F.layer_norm(x, (3, 4)), lambda x: F.layer_norm(other, (4,), x[0]),
            lambda x: F.layer_norm(other, (4,), None, x[1]), lambda x: torch.logsumexp(x, 1), lambda x: x.logsumexp((0, 1), True),
            lambda x: x.amax(1), lambda x: x.amin((0, 1), keepdim=True), lambda x: x.norm(), lambda x: x.norm(dim=-1, keepdim=True),
            lambda x: x.clamp(-0.5, 0.7), lambda x: x.clamp(max=0.1), lambda x: F.hardtanh(x), lambda x: F.relu6(x * 4),
            lambda x: F.leaky_relu(x, 0.2), lambda x: F.elu(x, 1.5), lambda x: F.celu(x, 0.5), lambda x: F.selu(x), lambda x: F.mish(x),
            lambda x: F.logsigmoid(x), lambda x: F.gelu(x, approximate="tanh"), lambda x: F.glu(x, -1),
            lambda x: positive(x) ** other, lambda x: positive(other) ** x, lambda x: 1.5 ** x, lambda x: torch.atan2(x, other),
            lambda x: torch.atan2(other[0], x), lambda x: torch.hypot(x, other), lambda x: torch.minimum(x, other[0]),
            lambda x: torch.maximum(other, x), lambda x: x.max(1).values, lambda x: x.min(0, keepdim=True).values,
            lambda x: x.sort(1, descending=True).values, lambda x: x.topk(2, 0).values, lambda x: x.median(1).values,
            lambda x: torch.einsum("ij,kj->ik", x, weight), lambda x: torch.linalg.inv(square(x)),
            lambda x: F.cross_entropy(x, self.classes), lambda x: x.softmax(0) + row, lambda x: x[:, :1] * 2 + other,
            lambda x: F.relu(x) ** 0, lambda x: 0.0 ** x, lambda x: F.relu(other) ** x,
        ]


def main(folder):
    for name, module in {"forward_derivatives": ForwardDerivatives, "more_forward_derivatives": MoreForwardDerivatives}.items():
        torch.manual_seed(0)
        write(folder, name, module().eval())


def write(folder, name, module):
    draw = lambda: tuple(torch.randn(3, 4) for _ in range(3))
    program = torch.export.export(module, draw())
    for node in program.graph.nodes:  # stack traces would be half of the file
        for key in ("stack_trace", "nn_module_stack", "from_node"):
            node.meta.pop(key, None)
    torch.export.save(program, folder / f"{name}.pt2")
    tensors, calls = {}, []
    for i in range(2):
        inputs = draw()
        with torch.no_grad():
            outputs = module(*inputs)
        for j, tensor in enumerate(inputs):
            tensors[f"call{i}.in.{j}"] = tensor
        for j, tensor in enumerate(outputs):
            tensors[f"call{i}.out.{j}"] = tensor.contiguous().clone()
        calls.append({"in": [{"tensor": f"call{i}.in.{j}"} for j in range(len(inputs))],
                      "out": [{"tensor": f"call{i}.out.{j}"} for j in range(len(outputs))]})
    save_file(tensors, folder / f"{name}.safetensors", metadata={"calls": json.dumps(calls), "torch": torch.__version__})


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
