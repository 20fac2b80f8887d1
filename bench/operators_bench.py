#!/usr/bin/env python3
"""Single operators compared with torch's eager mode: `PYTHON bench/operators_bench.py build/release/tools/pt2 [NAME…]`.

Exports a program for each call of operator_calls.py, then runs `pt2 bench` and eager mode in turn, one thread each. Prints
the fastest calls and their ratio, our slowest first. With NAMEs, it takes only operators whose kind is a NAME, or whose
name begins with one. Fails if a ratio exceeds the threshold.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy
import torch
from torch import nn

import operator_calls

BAR = 4


class Module(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def write_tensors(folder, tensors):
    """Writes .npz, or .safetensors if a tensor is bfloat16, which NumPy lacks."""
    if all(x.dtype != torch.bfloat16 for x in tensors.values()):
        numpy.savez(folder / "inputs.npz", **{name: x.contiguous().numpy() for name, x in tensors.items()})
        return folder / "inputs.npz"
    header, data = {}, b""
    for name, x in tensors.items():
        raw = x.contiguous().view(torch.uint8).numpy().tobytes()
        kind = {torch.bfloat16: "BF16", torch.int64: "I64", torch.bool: "BOOL", torch.float32: "F32"}[x.dtype]
        header[name] = {"dtype": kind, "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(raw)]}
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


def measure(arguments, function, inputs):
    """Returns the fastest call of pt2 and of eager mode, in microseconds."""
    with tempfile.TemporaryDirectory() as path:
        folder = pathlib.Path(path)
        inputs = [x.contiguous() for x in inputs]
        module, file = export(folder, Module(function).eval(), inputs)
        own = peer = float("inf")
        for _ in range(arguments.rounds):
            own = min(own, ours(arguments.command, folder / "operator.pt2", file, arguments.seconds))
            peer = min(peer, eager(module, inputs, arguments.seconds))
    return own, peer


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=0.1, help="of each contender in a round")
    arguments = parser.parse_intermixed_args()
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    rows = []
    for kind, name, function, *inputs in operator_calls.calls():
        if arguments.names and kind not in arguments.names and not name.startswith(tuple(arguments.names)):
            continue
        try:
            own, peer = measure(arguments, function, inputs)
        except Exception as error:  # export raises many kinds of errors
            reason = error.stderr if isinstance(error, subprocess.CalledProcessError) else str(error)
            print(f"{name}: {reason.strip().splitlines()[:1]}", file=sys.stderr)
            continue
        rows.append((own / peer, name, own, peer))
        print(f"{name}: {own / peer:.2f}", file=sys.stderr, flush=True)
    print("| operator | pt2 µs | eager µs | ratio |\n|---|---|---|---|")
    for ratio, name, own, peer in sorted(rows, reverse=True):
        print(f"| {name} | {own:.0f} | {peer:.0f} | {ratio:.2f} |")
    mean = math.exp(sum(math.log(row[0]) for row in rows) / len(rows)) if rows else 0
    slower = sum(row[0] > 1 for row in rows)
    print(f"\n{len(rows)} operators, geometric mean {mean:.2f}, slower than eager {slower}")
    sys.exit(any(row[0] > BAR for row in rows))


if __name__ == "__main__":
    main()
