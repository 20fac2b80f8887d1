#!/usr/bin/env python3
"""Whole models beside torch: `PYTHON bench/models_bench.py build/release/tools/pt2 [FOLDER]`.

Exports a few models of torchvision and a small encoder with random weights into FOLDER (if they are not there), then lets
`pt2 bench` and torch's eager mode take turns. Prints the fastest call of each and the ratio of both, for one thread and two.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile
import time

import numpy
import torch


def models():
    import torchvision.models as vision

    image = torch.randn(1, 3, 224, 224)
    for name in ("resnet18", "resnet50", "mobilenet_v3_large"):
        yield name, getattr(vision, name)(weights=None), (image,)
    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, activation="gelu", batch_first=True)
    yield "encoder", torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), (torch.randn(1, 128, 768),)


def export(folder):
    out = []
    for name, module, inputs in models():
        file = folder / f"{name}.pt2"
        if not file.exists():
            torch.export.save(torch.export.export(module.eval(), inputs), file)
            numpy.save(folder / f"{name}.npy", inputs[0].numpy())
        out.append((name, file, folder / f"{name}.npy"))
    return out


def ours(command, file, inputs, threads, seconds):
    answer = subprocess.run([command, "bench", file, "-i", f"0={inputs}", "--threads", str(threads), "--seconds",
                             str(seconds), "--json"], check=True, capture_output=True, text=True)
    return min(json.loads(answer.stdout.splitlines()[-1])["latencies_us"])


def eager(module, inputs, seconds):
    fastest = float("inf")
    end = time.perf_counter() + seconds
    with torch.inference_mode():
        while time.perf_counter() < end:
            start = time.perf_counter()
            module(inputs)
            fastest = min(fastest, time.perf_counter() - start)
    return fastest * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each contender in a round")
    arguments = parser.parse_args()
    folder = arguments.folder or pathlib.Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    print(f"{'model':<20} {'threads':>7} {'pt2 ms':>9} {'eager ms':>9} {'ratio':>6}")
    for name, file, inputs in export(folder):
        module = torch.export.load(file).module()
        tensor = torch.from_numpy(numpy.load(inputs))
        for threads in (1, 2):
            torch.set_num_threads(threads)
            best = [float("inf")] * 2
            for _ in range(arguments.rounds):
                best[0] = min(best[0], ours(arguments.command, file, inputs, threads, arguments.seconds))
                best[1] = min(best[1], eager(module, tensor, arguments.seconds))
            print(f"{name:<20} {threads:>7} {best[0] / 1000:>9.2f} {best[1] / 1000:>9.2f} {best[0] / best[1]:>6.2f}")


if __name__ == "__main__":
    main()
