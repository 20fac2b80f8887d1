#!/usr/bin/env python3
"""Records calls of the fused optimizers, aten._fused_{adam,adamw,sgd,adagrad}, except `out` forms.

    optimizers.py OUT_DIR
"""
import pathlib, sys

import torch

from record_op_calls import File

aten = torch.ops.aten
DECAYING = {"weight_decay": 0.1, "maximize": True}
OTHER = {"amsgrad": True, "nesterov": True, "weight_decay": 0.01}
NUMBERS = {"beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0, "eps": 1e-8, "momentum": 0.9, "dampening": 0.0, "lr_decay": 0.05}


def tensors(dtype, low=0.1):
    return [(torch.rand(sizes, dtype=torch.float64) + low).to(dtype) for sizes in ((3,), ())]


def arguments(func, dtype, switches, found):
    out, named = [], {}
    for parameter in func._schema.arguments:
        name, kind = parameter.name, str(parameter.type)
        if kind == "List[Tensor]":
            steps, none = name == "state_steps", name.startswith("max_") and not switches.get("amsgrad")
            out.append([torch.tensor(float(i + 2)) for i in range(2)] if steps else [] if none else tensors(dtype))
        elif name == "lr":
            named[name] = torch.tensor(0.05) if kind == "Tensor" else 0.05
        elif kind == "float":
            named[name] = switches.get(name, NUMBERS[name])
        elif kind == "bool":
            named[name] = switches.get(name, False)
        elif found is not None:
            named[name] = torch.tensor(4.0 if name == "grad_scale" else found)
    return out, named


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    out = pathlib.Path(sys.argv[1])
    for name in ("adam", "adamw", "sgd", "adagrad"):
        for form in ("", "_"):
            for overload in ("default", "tensor_lr"):
                func = getattr(getattr(aten, f"_fused_{name}{form}"), overload)
                file = File(f"aten._fused_{name}{form}.{overload}")
                for dtype, switches, found in ((torch.float32, {}, None), (torch.float64, DECAYING, 0.0),
                                               (torch.bfloat16, OTHER, 0.0), (torch.float32, DECAYING, 1.0)):
                    file.record(func, *arguments(func, dtype, switches, found))
                file.write(out, str(func._schema))


main()
