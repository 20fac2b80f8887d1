#!/usr/bin/env python3
"""Exports a program whose weight is torchao's Int8Tensor, a tensor subclass, with a call: torchao_weights.py FOLDER
(torch 2.15, torchao, safetensors)."""
import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from torchao.quantization import Int8WeightOnlyConfig, quantize_

from exports import clean


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3)).eval()
    quantize_(model, Int8WeightOnlyConfig(version=2))
    x = torch.randn(2, 4)
    torch.export.save(torch.export.export(model, (x,)), folder / "int8_tensor.pt2")
    clean(folder / "int8_tensor.pt2")
    call = {"in": [{"tensor": "call0.in.0"}], "out": [{"tensor": "call0.out.0"}]}
    with torch.no_grad():
        save_file({"call0.in.0": x, "call0.out.0": model(x)}, folder / "int8_tensor.safetensors",
                  {"calls": json.dumps([call])})


if __name__ == "__main__":
    main()
