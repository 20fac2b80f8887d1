#!/usr/bin/env python3
"""Exports programs whose results cannot be judged element by element: verdicts.py FOLDER (torch 2.15, safetensors).

The first call of each file is PyTorch's own; the others have results that were changed by hand.
"""
import copy
import io
import json
import pathlib
import sys

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401  registers quantized_decomposed
from safetensors.torch import save_file


class Quantized(torch.nn.Module):
    def forward(self, x):
        steps = torch.ops.quantized_decomposed.quantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8)
        return torch.ops.quantized_decomposed.dequantize_per_tensor(steps, 0.1, 3, -128, 127, torch.int8)


class Cancelled(torch.nn.Module):
    def forward(self, x):
        return (x + 1e8) - 1e8


class Choices(torch.nn.Module):
    def forward(self, x):
        values, indices = torch.topk(x, 2)
        return values, indices, torch.argmax(x, 1), torch.argsort(x, 0), torch.argmax(x)


def save(folder, name, module, x, changes, reference=None):
    """Saves a program and its calls. `changes` are functions that change a copy of PyTorch's outputs."""
    buffer = io.BytesIO()
    torch.export.save(torch.export.export(module, (x,)), buffer)
    (folder / f"{name}.pt2").write_bytes(buffer.getvalue())
    buffer.seek(0)
    outputs = torch.export.load(buffer).module()(x)
    outputs = [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)
    tensors, calls = {}, []
    for i, change in enumerate([lambda outputs: None, *changes]):
        changed = copy.deepcopy(outputs)
        change(changed)
        tensors[f"call{i}.in.0"] = x.clone()
        call = {"in": [{"tensor": f"call{i}.in.0"}], "out": []}
        for j, output in enumerate(changed):
            tensors[f"call{i}.out.{j}"] = output
            call["out"].append({"tensor": f"call{i}.out.{j}"})
        if reference is not None:
            tensors[f"call{i}.ref"] = reference.clone()
            call["out"][0]["ref"] = f"call{i}.ref"
        calls.append(call)
    save_file(tensors, folder / f"{name}.safetensors", {"calls": json.dumps(calls)})


def one_step(outputs):
    outputs[0][0, 1] += 0.1


def not_finite(outputs):
    outputs[0][0, 1] = float("inf")


# `x` in main determines which rows and columns are near ties.
def near_ties(outputs):
    outputs[1][0] = torch.tensor([0, 2])
    outputs[2][0] = 0
    outputs[3][:, 1] = torch.tensor([1, 0])
    outputs[4].fill_(0)


def far(outputs):
    outputs[1][0] = torch.tensor([2, 1])
    outputs[2][1] = 0


def not_there(outputs):
    outputs[1][0, 0] = 7


# Different values mean that the program computes something else: then nothing is a tie.
def other_values(outputs):
    near_ties(outputs)
    outputs[0][0, 0] += 1


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    x = torch.tensor([[0.31, 0.72, -0.44], [1.26, -0.98, 0.17]])
    save(folder, "quantized", Quantized(), x, [one_step, not_finite])
    save(folder, "cancelled", Cancelled(), x, [one_step], reference=(x.double() + 1e8) - 1e8)
    x = torch.tensor([[2.0, 0.5, 2.000001], [-1.0, 0.500001, 0.75]])
    save(folder, "choices", Choices(), x, [near_ties, far, not_there, other_values])


if __name__ == "__main__":
    main()
