#!/usr/bin/env python3
"""Quantized weights compared with float32 and eager mode: `PYTHON bench/quantized_bench.py build/release/tools/pt2`.

The programs are eight linear layers as torchao writes them (with int8 weights only, and with inputs quantized in each
call), and the same layers and two networks with the operators that PT2E writes, with per-channel weight scales. Prints the
fastest calls of interleaved rounds, one thread each. Needs torchao and torchvision. Fails if a quantized program is slower
than eager mode or than 1.1 times float32.
"""
import argparse
import pathlib
import sys
import tempfile

import torch
import torchvision
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401 (registers the operators)
from torchao.quantization import Int8DynamicActivationInt8WeightConfig, Int8WeightOnlyConfig, quantize_
from torchao.utils import unwrap_tensor_subclass

import operators_bench
from rounds import print_table

LEVELS = torch.ops.quantized_decomposed


class QuantizedLayer(nn.Module):
    """A linear layer or convolution between PT2E's quantize and dequantize operators."""

    def __init__(self, layer):
        super().__init__()
        weight = layer.weight.detach()
        scales = (weight.flatten(1).abs().amax(1) / 127).clamp_min(1e-9)
        levels = torch.round(weight / scales.reshape(-1, *[1] * (weight.dim() - 1))).clamp(-127, 127).to(torch.int8)
        self.register_buffer("levels", levels)
        self.register_buffer("scales", scales)
        self.register_buffer("zero_points", torch.zeros(len(scales), dtype=torch.int64))
        self.bias = layer.bias
        self.places = () if isinstance(layer, nn.Linear) else (layer.stride, layer.padding, layer.dilation, layer.groups)

    def forward(self, x):
        there_and_back = (0.02, 128, 0, 255, torch.uint8)
        x = LEVELS.quantize_per_tensor.default(x, *there_and_back)
        x = LEVELS.dequantize_per_tensor.default(x, *there_and_back)
        weight = LEVELS.dequantize_per_channel.default(self.levels, self.scales, self.zero_points, 0, -128, 127, torch.int8)
        function = nn.functional.conv2d if self.places else nn.functional.linear
        return function(x, weight, self.bias, *self.places)


def quantize_layers(module):
    for name, child in list(module.named_children()):
        if isinstance(child, (nn.Conv2d, nn.Linear)):
            setattr(module, name, QuantizedLayer(child))
        else:
            quantize_layers(child)
    return module


def layers():
    torch.manual_seed(0)
    return nn.Sequential(*[part for _ in range(8) for part in (nn.Linear(1024, 1024), nn.ReLU())]).eval()


def with_torchao(config):
    module = layers()
    quantize_(module, config)
    return unwrap_tensor_subclass(module)


def cases():
    row, image = torch.randn(1, 1024), torch.randn(1, 3, 224, 224)
    networks = {"ResNet-50": torchvision.models.resnet50, "MobileNetV2": torchvision.models.mobilenet_v2}
    for rows in (1, 64):
        plain = ("linear layers", layers())
        yield plain, "torchao, weights", with_torchao(Int8WeightOnlyConfig()), row.repeat(rows, 1)
        yield plain, "torchao, dynamic", with_torchao(Int8DynamicActivationInt8WeightConfig()), row.repeat(rows, 1)
        yield plain, "PT2E", quantize_layers(layers()), row.repeat(rows, 1)
    for name, network in networks.items():
        yield (name, network().eval()), "PT2E", quantize_layers(network().eval()), image


def fastest(command, module, x, rounds):
    """Returns the fastest call of pt2 and of eager mode, in milliseconds."""
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        folder = pathlib.Path(folder)
        eager, inputs = operators_bench.export(folder, module, [x])
        times = [(operators_bench.ours(command, folder / "operator.pt2", inputs, 0.5), operators_bench.eager(eager, [x], 0.5))
                 for _ in range(rounds)]
    return [min(each) / 1e3 for each in zip(*times)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pt2")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    table, verdicts = [["module", "rows", "float32, ms", "int8, ms", "eager int8, ms"]], []
    for (name, plain), kind, quantized, x in cases():
        floats, _ = fastest(arguments.pt2, plain, x, arguments.rounds)
        ours, eager = fastest(arguments.pt2, quantized, x, arguments.rounds)
        table.append([f"{name}, {kind}", str(len(x)), *(f"{each:.2f}" for each in (floats, ours, eager))])
        verdicts.append((f"{name}, {kind}, {len(x)}", ours <= min(eager, 1.1 * floats)))
    sys.exit(0 if print_table(table, verdicts) else 1)


if __name__ == "__main__":
    main()
