#!/usr/bin/env python3
"""Single operators beside torch's eager mode: `PYTHON bench/operators_bench.py build/release/tools/pt2 [NAME…]`.

Exports a program of each operator, then `pt2 bench` and eager take turns, one thread each. Prints medians of the rounds'
fastest calls and their ratio; only operators whose name begins with a NAME. Fails where a ratio exceeds the bar.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import torch
import torch.nn.functional as F
from torch import nn

BAR = 4


def symmetric(size, dtype):
    a = torch.randn(size, size, dtype=dtype)
    return a + a.T


def grid(*sizes):
    return torch.rand(1, *sizes, len(sizes)) * 2.2 - 1.1


def indices(high, *sizes):
    return torch.randint(0, high, sizes)


def layer(module, *sizes, dtype=torch.float32):
    return module.to(dtype), torch.randn(*sizes).to(dtype)


def resize(mode, size, antialias=False):
    return lambda x: F.interpolate(x, size=(size, size), mode=mode, antialias=antialias)


def spectra(size):
    return lambda x: torch.stft(x, size, 160, window=torch.hann_window(size), return_complex=True)


def summed(op):
    return lambda x, i, y: getattr(torch, op)(x, 0, i, y)


def mlp(width):
    return nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))


def operators():
    """Name: what computes, then its inputs."""
    image = torch.randn(1, 32, 64, 64)
    photo = torch.rand(1, 3, 480, 640)
    wide = torch.randn(256, 1024)
    table = torch.randn(10000, 128)
    f64, bf16, f16, c64 = torch.float64, torch.bfloat16, torch.float16, torch.complex64
    yield "grid_sample bilinear", F.grid_sample, image, grid(64, 64)
    yield "grid_sample nearest", lambda x, g: F.grid_sample(x, g, mode="nearest"), image, grid(64, 64)
    yield "grid_sample bicubic", lambda x, g: F.grid_sample(x, g, mode="bicubic"), image, grid(64, 64)
    yield "grid_sample border", lambda x, g: F.grid_sample(x, g, padding_mode="border"), photo, grid(224, 224)
    yield "grid_sample volume", F.grid_sample, torch.randn(1, 8, 16, 32, 32), grid(16, 32, 32)
    yield "interpolate nearest", resize("nearest", 128), image
    yield "interpolate bilinear", resize("bilinear", 128), image
    yield "interpolate bicubic", resize("bicubic", 128), image
    yield "interpolate photo", resize("bilinear", 224), photo
    yield "interpolate antialias", resize("bilinear", 224, True), photo
    yield "interpolate bicubic antialias", resize("bicubic", 224, True), photo
    yield "fft 64x1024", torch.fft.fft, torch.randn(64, 1024, dtype=c64)
    yield "fft 64x1000", torch.fft.fft, torch.randn(64, 1000, dtype=c64)
    yield "fft 2^20", torch.fft.fft, torch.randn(1 << 20, dtype=c64)
    yield "fft 2^20 float64", torch.fft.fft, torch.randn(1 << 20, dtype=torch.complex128)
    yield "fft2 16x128x128", torch.fft.fft2, torch.randn(16, 128, 128, dtype=c64)
    yield "rfft 64x1024", torch.fft.rfft, torch.randn(64, 1024)
    yield "rfft2 16x128x128", torch.fft.rfft2, torch.randn(16, 128, 128)
    yield "irfft 64x1024", torch.fft.irfft, torch.randn(64, 513, dtype=c64)
    yield "stft 400", spectra(400), torch.randn(1, 160000)
    yield "stft 512", spectra(512), torch.randn(1, 160000)
    yield "nonzero", torch.nonzero, torch.rand(256, 1024) > 0.5
    yield "masked_select", torch.masked_select, wide, wide > 0.3
    yield "boolean index rows", lambda x, m: x[m], torch.randn(4096, 64), torch.rand(4096) > 0.5
    yield "index rows", lambda x, i: x[i], table, indices(10000, 4096)
    yield "gather", lambda x, i: x.gather(1, i), wide, indices(1024, 256, 512)
    bag = nn.EmbeddingBag(10000, 128, mode="sum")
    yield "EmbeddingBag sum", bag, indices(10000, 512, 32)
    yield "EmbeddingBag mean", nn.EmbeddingBag(10000, 128, mode="mean"), indices(10000, 512, 32)
    yield "index_add", summed("index_add"), table, indices(10000, 4096), torch.randn(4096, 128)
    places = indices(10000, 4096, 1).expand(4096, 128).contiguous()
    yield "scatter_add", summed("scatter_add"), table, places, torch.randn(4096, 128)
    yield "index_put add", lambda x, i, y: x.index_put((i,), y, True), table, indices(10000, 4096), torch.randn(4096, 128)
    yield "cdist 512x512x64", torch.cdist, torch.randn(512, 64), torch.randn(512, 64)
    yield "cdist p=1", lambda a, b: torch.cdist(a, b, p=1.0), torch.randn(256, 64), torch.randn(256, 64)
    yield "cdist 16x16x64", torch.cdist, torch.randn(16, 64), torch.randn(16, 64)
    for dtype in (bf16, f16):
        name = str(dtype)[6:]
        yield f"MLP {name}", *layer(mlp(512), 128, 512, dtype=dtype)
        yield f"LayerNorm {name}", *layer(nn.LayerNorm(768), 512, 768, dtype=dtype)
        yield f"softmax {name}", *layer(nn.Softmax(-1), 512, 768, dtype=dtype)
        yield f"gelu {name}", *layer(nn.GELU(), 512, 768, dtype=dtype)
        yield f"add {name}", lambda x: x + x.T, torch.randn(768, 768).to(dtype)
    yield "MLP float64", *layer(mlp(512), 128, 512, dtype=f64)
    yield "matmul float64", torch.matmul, torch.randn(512, 512, dtype=f64), torch.randn(512, 512, dtype=f64)
    yield "matmul complex64", torch.matmul, torch.randn(256, 256, dtype=c64), torch.randn(256, 256, dtype=c64)
    yield "matmul complex128", *[torch.matmul] + [torch.randn(256, 256, dtype=torch.complex128)] * 2
    yield "sum dim 0", lambda x: x.sum(0), wide
    yield "mean dim (2, 3)", lambda x: x.mean((2, 3)), image
    yield "mean dim 1", lambda x: x.mean(1), torch.randn(8, 197, 768)
    yield "amax dim 0", lambda x: x.amax(0), wide
    yield "var dim 0", lambda x: x.var(0), wide
    yield "unfold 3x3", nn.Unfold(3, padding=1), image
    yield "fold 3x3", nn.Fold((64, 64), 3, padding=1), torch.randn(1, 288, 4096)
    yield "GroupNorm", *layer(nn.GroupNorm(8, 32), 1, 32, 64, 64)
    yield "conv3d", *layer(nn.Conv3d(16, 32, 3, padding=1), 1, 16, 16, 28, 28)
    for dtype in (torch.float32, f64):
        name = str(dtype)[6:]
        yield f"svd {name}", torch.linalg.svd, torch.rand(300, 300, dtype=dtype) - 0.5
        yield f"eigh {name}", torch.linalg.eigh, symmetric(300, dtype)
        yield f"solve {name}", lambda a: torch.linalg.solve(a, a), torch.rand(500, 500, dtype=dtype) - 0.5


class Module(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def write_tensors(folder, tensors):
    """As .npz or, since NumPy has no bfloat16, as .safetensors of halves."""
    if all(x.dtype != torch.bfloat16 for x in tensors.values()):
        numpy.savez(folder / "inputs.npz", **{name: x.contiguous().numpy() for name, x in tensors.items()})
        return folder / "inputs.npz"
    header, data = {}, b""
    for name, x in tensors.items():
        raw = x.contiguous().view(torch.int16).numpy().tobytes()
        header[name] = {"dtype": "BF16", "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    file = folder / "inputs.safetensors"
    file.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return file


def export(folder, module, inputs):
    program = torch.export.export(module, tuple(inputs))
    torch.export.save(program, folder / "operator.pt2")
    names = program.graph_signature.user_inputs
    return program.module(), write_tensors(folder, dict(zip(names, inputs)))


def ours(command, program, inputs, seconds):
    answer = subprocess.run([command, "bench", program, "-i", inputs, "--threads", "1", "--seconds", str(seconds),
                             "--json"], check=True, capture_output=True, text=True)
    return min(json.loads(answer.stdout.splitlines()[-1])["latencies_us"])


def eager(module, inputs, seconds):
    fastest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        module(*inputs)
        fastest = min(fastest, time.perf_counter() - start)
    return fastest * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.15, help="of each contender in a round")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    missed = False
    print("| operator | pt2 µs | eager µs | ratio |\n|---|---|---|---|", flush=True)
    for name, function, *inputs in operators():
        if arguments.names and not name.startswith(tuple(arguments.names)):
            continue
        with tempfile.TemporaryDirectory() as path:
            folder = pathlib.Path(path)
            module, file = export(folder, Module(function).eval(), inputs)
            own, peer = [], []
            for _ in range(arguments.rounds):
                own.append(ours(arguments.command, folder / "operator.pt2", file, arguments.seconds))
                peer.append(eager(module, inputs, arguments.seconds))
        ratio = statistics.median(own) / statistics.median(peer)
        missed |= ratio > BAR
        print(f"| {name} | {statistics.median(own):.0f} | {statistics.median(peer):.0f} | {ratio:.2f} |", flush=True)
    sys.exit(missed)


if __name__ == "__main__":
    main()
