#!/usr/bin/env python3
"""Records calls of torch.nn's fused linear layer and cross entropy, which compute in chunks of rows.

    linear_cross_entropy.py OUT_DIR
"""
import pathlib, sys

import torch
import torch.nn.modules.linear_cross_entropy  # defines them

from record_op_calls import File, find_overload

NAMES = ("_linear_cross_entropy_batch_chunked", "_linear_cross_entropy_batch_chunked_no_reduction")
TOLERANCE = {"float16": [4e-3, 2e-3], "bfloat16": [3.2e-2, 1e-2]}  # sums are rounded after each chunk
ROWS, FEATURES, CLASSES = 5, 3, 4


def tensors(dtype, probabilities=False, bias=True, weight=True):
    logits = torch.rand(ROWS, CLASSES)
    target = (logits / logits.sum(1, True)).to(dtype) if probabilities else torch.randint(0, CLASSES, (ROWS,))
    return [torch.randn(ROWS, FEATURES).to(dtype), torch.randn(CLASSES, FEATURES).to(dtype), target,
            torch.randn(CLASSES).to(dtype) if bias else None, (torch.rand(CLASSES) + 0.1).to(dtype) if weight else None]


def calls():
    """Yields tensors, reduction, ignored class, rows per chunk, policy, dtype of sums, wanted gradients."""
    wide, half, brain = torch.float32, torch.float16, torch.bfloat16
    for probabilities in (False, True):
        yield tensors(wide, probabilities), "mean", -100, 2, "compact", wide, (True, True, True)
        yield tensors(half, probabilities, weight=False), "mean", -100, 2, "compact", wide, (True, True, True)
        yield tensors(brain, probabilities), "sum", -100, 3, "compact", wide, (True, True, True)
    yield tensors(torch.float64, bias=False), "sum", 1, 9, "accurate", torch.float64, (True, True, False)
    yield tensors(half, True), "sum", -100, 5, "accurate", half, (True, False, True)
    yield tensors(half), "sum", -100, 4, "accurate", wide, (False, True, False)
    yield tensors(wide, True, False, False), "mean", -100, 1, "compact", wide, (False, False, False)
    rows, matrix, *others = tensors(wide)
    yield [rows[:0], matrix, others[0][:0], *others[1:]], "mean", -100, 2, "compact", wide, (True, True, True)
    ignored = tensors(wide)
    ignored[2][1:3] = -7
    yield ignored, "mean", -7, 2, "accurate", wide, (True, True, True)
    ignored[2][:] = -7
    yield ignored, "mean", -7, 2, "compact", wide, (True, True, True)
    longer = tensors(wide)
    longer[2] = torch.cat([longer[2], longer[2]])
    yield longer, "mean", 3, 2, "compact", wide, (True, True, True)
    mixed = tensors(brain)
    mixed[1], mixed[3], mixed[4] = mixed[1].float(), mixed[3].double(), mixed[4].half()
    yield mixed, "mean", -100, 2, "accurate", wide, (True, True, True)


def refused():
    wide, plain = torch.float32, lambda change: [change(i, each) for i, each in enumerate(tensors(torch.float32))]
    every = (True, True, True)
    for change in (lambda i, t: t.int() if i == 2 else t, lambda i, t: t[1:] if i == 2 else t,
                   lambda i, t: t + 4 if i == 2 else t, lambda i, t: t[1:] if i == 3 else t,
                   lambda i, t: t[None] if i == 2 else t, lambda i, t: t[:, 1:] if i == 1 else t,
                   lambda i, t: t[0] if i == 0 else t, lambda i, t: t.double() if i == 1 else t,
                   lambda i, t: t[:1] if i == 4 else t, lambda i, t: t.long() if i == 0 else t):
        yield plain(change), "mean", -100, 2, "compact", wide, every
    yield tensors(wide), "mean", -100, 0, "compact", wide, every
    yield tensors(wide), "mean", -100, 2, "auto", wide, every
    yield tensors(wide), "mean", -100, 2, "compact", torch.float64, every
    other = tensors(wide, True)
    yield [other[0].half(), *other[1:]], "mean", -100, 2, "compact", wide, every
    yield [*other[:2], other[2][:, 1:], *other[3:]], "mean", -100, 2, "compact", wide, every


def record(file, func, call, smoothing=0.0):
    given, reduction, ignored, chunk, policy, dtype, wanted = call
    if "no_reduction" in func.name():
        file.record(func, (*given, ignored, chunk, policy, dtype), {})
    else:
        file.record(func, (*given, reduction, ignored, smoothing, chunk, policy, dtype, True, *wanted), {})
    rounded = str(given[0].dtype).removeprefix("torch.")
    if rounded in TOLERANCE:
        file.samples[-1]["tolerance"] = {rounded: TOLERANCE[rounded]}


def main():
    torch.set_num_threads(1)
    for name in NAMES:
        torch.manual_seed(0)
        func, file = find_overload(f"torch_nn.{name}.default"), File(f"torch_nn.{name}.default")
        is_first = name == NAMES[0]  # one function checks the arguments of both
        for call in [*calls()][:: 1 if is_first else 3] + [*refused()][0 if is_first else 1 :: 2]:
            record(file, func, call)
        if is_first:
            record(file, func, next(calls()), smoothing=0.5)
        file.write(pathlib.Path(sys.argv[1]), str(func._schema))


if __name__ == "__main__":
    main()
