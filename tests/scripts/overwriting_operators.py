"""Prints the in-place overloads of aten that write to a tensor whose elements overlap in memory, one per line.
tests/ops/facts_test.cpp compares the table's `overwrites` with this list. PyTorch refuses such a tensor if the written
elements depend on the elements before.

    python tests/scripts/overwriting_operators.py > tests/data/ops/overwriting.txt
"""

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._python_dispatch import TorchDispatchMode


class Overloads(TorchDispatchMode):
    """Keeps the last overload that was called."""

    last = None

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.last = function
        return function(*args, **(kwargs or {}))


overwriting, refused = set(), set()
for info in op_db:
    write = info.inplace_variant
    dtype = next((d for d in (torch.float32, torch.int64) if d in info.dtypes), None)
    if write is None or dtype is None:
        continue
    for sample in info.sample_inputs("cpu", dtype):
        if not isinstance(sample.input, torch.Tensor) or sample.input.numel() < 2 or 0 in sample.input.shape:
            continue
        given = sample.input.detach().flatten()[:1].reshape([1] * sample.input.dim()).expand(sample.input.shape)
        mode = Overloads()
        try:
            with mode:
                write(given, *sample.args, **sample.kwargs)
        except Exception as error:
            if "single memory location" in str(error):
                refused.add(mode.last)
            continue
        if mode.last is not None and mode.last._schema.is_mutable:
            overwriting.add(mode.last)
# Overloads that no sample of op_db calls.
for overload, arguments in (
    (torch.ops.aten.fill_.Tensor, [torch.tensor(2.0)]),
    (torch.ops.aten._index_put_impl_.default, [[torch.tensor([0, 1])], torch.tensor(2.0)]),
):
    try:
        overload(torch.zeros(1).expand(3), *arguments)
        overwriting.add(overload)
    except RuntimeError:
        refused.add(overload)
for overload in sorted(str(overload) for overload in overwriting - refused):
    print(overload.replace(".", "::", 1))
