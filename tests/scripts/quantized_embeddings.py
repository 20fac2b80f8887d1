#!/usr/bin/env python3
"""Records calls of executorch's embedding look-ups in quantised tables.

    quantized_embeddings.py OUT_DIR
"""
import pathlib, sys

import torch

from record_op_calls import File, find_overload

import executorch.exir.passes._quant_patterns_and_replacements  # defines them

RANGES = {"embedding_byte": (-128, 127), "embedding_4bit": (-8, 7), "embedding_2bit": (-2, 1)}


def parameters(dtype, *sizes):
    return (torch.rand(sizes) + 0.1).to(dtype), (torch.randn(sizes) * 3).round().to(dtype)


def calls(low, high):
    """Yields quantised values of both dtypes, scales of every dtype, one per row or per group, with or without zero points;
    each with a dtype for the overload that takes one."""
    every = torch.arange(-128, 128, 4).reshape(16, 4) + torch.arange(4)
    pairs = torch.tensor([[1, 15], [0, 7]], dtype=torch.int32)
    for dtype, levels, other in ((torch.float32, torch.uint8, torch.float64), (torch.float16, torch.int8, torch.float32),
                                 (torch.bfloat16, torch.uint8, torch.float16)):
        scales, zeros = parameters(dtype, 16, 2)
        yield (every.to(levels), scales, zeros, low, high, pairs), other
        yield (every.to(levels).t().contiguous().t(), scales[:, 0], None, low, high, torch.tensor([3, 0])), dtype
    few, scale = every[8:12, :2].to(torch.uint8), parameters(torch.float32, 4)[0]
    of_groups, shared = parameters(torch.float32, 1, 2)[0], torch.tensor([2.0])
    yield (few, scale, scale.reshape(4, 1), low, high, torch.tensor(2)), torch.bfloat16
    yield (every[:1].to(torch.uint8), of_groups, shared, low, high, torch.tensor([0])), torch.float32
    yield (few, scale, None, low, high, torch.zeros(0, 2, dtype=torch.int64)), torch.float32


def refused(low, high):
    few, scale, rows = torch.ones(4, 2, dtype=torch.uint8), torch.ones(4), torch.tensor([3, 0])
    yield few, scale, None, low, high, torch.tensor([4])
    yield few, scale, None, low, high, torch.tensor([-1])
    yield few, scale, None, low, high, rows.short()
    yield few, scale.double(), None, low, high, rows
    yield few, scale, scale.int(), low, high, rows
    yield few, torch.ones(4, 3), None, low, high, rows
    yield few, torch.ones(4, 2), scale, low, high, rows
    yield few[:, :0], scale, None, low, high, rows
    yield few.int(), scale, None, low, high, rows
    if high < 127:
        yield few, scale, None, low, high + 1, rows


def main():
    torch.set_num_threads(1)
    for name, (low, high) in RANGES.items():
        for overload in ("default", "dtype"):
            torch.manual_seed(0)
            func = find_overload(f"quantized_decomposed.{name}.{overload}")
            file = File(f"quantized_decomposed.{name}.{overload}")
            given = list(calls(low, high))
            for arguments, dtype in given if overload == "default" else given[::2]:
                file.record(func, arguments, {"dtype": dtype} if overload == "dtype" else {})
            errors = list(refused(low, high)) if overload == "default" else [given[1][0]]
            for arguments in errors if name == "embedding_4bit" else errors[-1:]:  # one function checks all three operators
                file.record(func, arguments, {})
            file.write(pathlib.Path(sys.argv[1]), str(func._schema))


if __name__ == "__main__":
    main()
