"""Writes recorded calls (docs/recorded-calls.md) of programs that other scripts export."""

import torch
import torch.utils._pytree as pytree


def stored(values, key, tensors):
    """Returns the values of a call in the form of docs/recorded-calls.md."""
    out = []
    for i, value in enumerate(values):
        if isinstance(value, torch.Tensor):
            tensors[f"{key}.{i}"] = value.detach().contiguous().clone()
            out.append({"tensor": f"{key}.{i}"})
        else:
            out.append({"none": True} if value is None else {type(value).__name__: value})
    return out


def record(module, args, kwargs, k, tensors):
    """Adds a call to the tensors, and returns its description."""
    leaves = pytree.tree_leaves((args, kwargs))
    before = stored(leaves, f"call{k}.in", tensors)
    results = stored(pytree.tree_leaves(module(*args, **kwargs)), f"call{k}.out", tensors)
    written = {
        str(i): stored([leaf], f"call{k}.mutin{i}", tensors)[0]
        for i, leaf in enumerate(leaves)
        if isinstance(leaf, torch.Tensor) and not torch.equal(leaf, tensors[f"call{k}.in.{i}"])
    }
    return {"in": before, "out": results, "mutin": written, "kwargs": list(kwargs)}
