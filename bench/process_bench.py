"""Time and peak memory of fresh `pt2` processes on files that make_models.py wrote. See README.md.

    python3 process_bench.py [--build DIR] [--rounds N] MODELS_DIR

Exits with 1 if a threshold is missed.
"""

import argparse
import pathlib
import sys

from rounds import CPU, PEAK, WALL, Contender, find_programs, interleave, print_table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/bench")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("models", type=pathlib.Path)
    options = parser.parse_args()
    measure, pt2 = find_programs(options.build, "measure_process", "pt2")
    tiny, big = options.models / "mlp_tiny.pt2", options.models / "big500.pt2"
    # Name, command, maximum milliseconds, maximum megabytes.
    cases = [
        ("pt2 info big500.pt2", [pt2, "info", big], 20, 30),
        ("pt2 run mlp_tiny.pt2", [pt2, "run", tiny, "-i", f"0={tiny.with_suffix('.npy')}"], 10, 20),
        ("pt2 --version", [pt2, "--version"], None, None),
    ]
    contenders = [Contender(name, [measure, *map(str, command)]) for name, command, _, _ in cases]
    interleave(contenders, options.rounds)
    rows, verdicts = [["fresh process", "min ms", "min CPU ms", "peak MB"]], []
    for contender, (name, _, most_ms, most_mb) in zip(contenders, cases):
        ms, mb = contender.best(WALL) * 1e3, contender.worst(PEAK) / 1e6
        rows.append([name, f"{ms:.2f}", f"{contender.best(CPU) * 1e3:.2f}", f"{mb:.1f}"])
        if most_ms:
            verdicts.append((f"{name}: under {most_ms} ms and {most_mb} MB", ms < most_ms and mb < most_mb))
    return 0 if print_table(rows, verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
