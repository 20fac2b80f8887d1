"""operators_bench.py OPERATORS: processor time of single operators beside torch's, one thread each.

Rounds in turn, ratios of minima, as bench/README.md says. Fails where a ratio exceeds the bar.
"""

import subprocess
import sys
import time

import torch

ROUNDS = 15
BAR = 4
COMPUTE = {
    "svd": torch.linalg.svd,
    "eigh": torch.linalg.eigh,
    "solve": lambda a: torch.linalg.solve(a, a),
    "fft": torch.fft.fft,
}


def make_input(name, dtype):
    if name == "fft":
        return torch.rand(1 << 20, dtype=dtype) - 0.5
    size = 500 if name == "solve" else 300
    a = torch.rand(size, size, dtype=dtype) - 0.5
    return a + a.T if name == "eigh" else a


def main():
    torch.set_num_threads(1)
    ours = subprocess.Popen(sys.argv[1:2], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    missed = False
    print("| operator | dtype | ours ms | torch ms | ratio |\n|---|---|---|---|---|")
    for name, compute in COMPUTE.items():
        for dtype in ("float32", "float64"):
            operand = make_input(name, getattr(torch, dtype))
            compute(operand)
            own, peer = [], []
            for _ in range(ROUNDS):
                ours.stdin.write(f"{name} {dtype}\n")
                ours.stdin.flush()
                own.append(float(ours.stdout.readline()))
                begin = time.process_time()
                compute(operand)
                peer.append(time.process_time() - begin)
            ratio = min(own) / min(peer)
            missed |= ratio > BAR
            print(f"| {name} | {dtype} | {min(own) * 1e3:.1f} | {min(peer) * 1e3:.1f} | {ratio:.2f} |")
    sys.exit(missed)


main()
