"""Prints the overloads of aten whose `out` form computes in the dtype of out unless a dtype is given, one per line.
tests/ops/facts_test.cpp compares the table's `takes_dtype_of_out` with this list.

    python tests/scripts/operators_with_dtype_of_out.py > tests/data/ops/dtype_of_out.txt
"""

import torch


def value_of(argument):
    """Returns a value for an argument without a default, of a sum, a norm or a softmax."""
    kind = str(argument.type)
    if kind == "Tensor":
        return torch.tensor([1.0, 2.0, 5.0]) / 3
    if kind.startswith("List") or kind.startswith("Optional[List"):
        return [0]
    return {"int": 0, "SymInt": 0, "number": 2, "Optional[number]": 2, "Optional[int]": 0}[kind]


def computes_in_dtype_of_out(write, compute):
    arguments = compute._schema.arguments
    given = [value_of(a) for a in arguments if not a.has_default_value() and not a.kwarg_only]
    out = torch.zeros(compute(*given).shape, dtype=torch.float64)
    write(*given, out=out)
    wide = compute(*given, dtype=torch.float64)
    return torch.equal(out, wide) and not torch.equal(out.float().double(), wide)


def parameters(overload):
    return [(a.name, str(a.type)) for a in overload._schema.arguments if a.name != "out"]


def form_with_out(packet, compute):
    for name in packet.overloads():
        form = getattr(packet, name)
        if form._schema.is_mutable and parameters(form) == parameters(compute):
            return form
    return None


for name in sorted(torch._C._dispatch_get_all_op_names()):
    if not name.startswith("aten::"):
        continue
    base, _, overload = name[len("aten::") :].partition(".")
    packet = getattr(torch.ops.aten, base)
    compute = getattr(packet, overload or "default", None)
    if compute is None or [n for n, _ in parameters(compute)][:1] != ["self"]:
        continue
    write = form_with_out(packet, compute)
    if write is None or write is compute or "dtype" not in dict(parameters(compute)):
        continue
    try:
        if computes_in_dtype_of_out(write, compute):
            print(name)
    except (RuntimeError, KeyError, TypeError):
        continue  # the operator does not take numbers, or out must have the dtype of the result
