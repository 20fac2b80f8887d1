#!/usr/bin/env python3
"""Records calls of the operators on lists of tensors, aten._foreach_*, except `out` forms.

    foreach_operators.py OUT_DIR
"""
import pathlib, sys

import torch

from record_op_calls import File

aten = torch.ops.aten


def tensors(dtype, low):
    """Returns two tensors; `low` is the lower bound of their elements."""
    numbers = lambda *sizes: (torch.rand(*sizes, dtype=torch.float64) * 3 + low).to(dtype)
    return [numbers(2, 2).t(), numbers(3)]


def arguments(name, overload, func, dtype):
    low = 0.25  # roots, logarithms and fractional powers need positive numbers
    out = []
    for parameter in func._schema.arguments:
        kind = str(parameter.type)
        if kind == "List[Tensor]":
            if name == "mm":
                out.append([tensors(dtype, low)[0] for _ in range(2)])
            else:
                out.append(tensors(dtype, low))
        elif kind == "List[number]":
            out.append([0.5, 2.0] if dtype.is_floating_point else [2, 1])
        elif kind == "number" and not parameter.kwarg_only:
            out.append(2 if overload != "Scalar" or name in ("norm", "pow") or not dtype.is_floating_point else 0.75)
        elif kind == "Tensor":
            out.append(torch.tensor([0.5, 2] if parameter.name == "scalars" else 2.0).to(dtype))
    return out


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    out = pathlib.Path(sys.argv[1])
    names = {schema.name for schema in torch._C._jit_get_all_schemas()}
    for attribute in sorted(name.removeprefix("aten::") for name in names if name.startswith("aten::_foreach_")):
        packet = getattr(aten, attribute)
        name = attribute.removeprefix("_foreach_").removesuffix("_")
        for overload in packet.overloads():
            if overload.endswith("out"):
                continue
            func = getattr(packet, overload)
            file = File(f"aten.{attribute}.{overload}")
            for dtype in (torch.float32, torch.int64, torch.bfloat16):
                file.record(func, arguments(name, overload, func, dtype), {})
            given = arguments(name, overload, func, torch.float32)
            if name == "add" and isinstance(given[-1], list):  # of another length than self
                file.record(func, given[:-1] + [given[-1][:1]], {})
            file.write(out, str(func._schema))


if __name__ == "__main__":
    main()
