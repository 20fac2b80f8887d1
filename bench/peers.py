"""Compare decoding with torch's, and checksums with reading memory, in interleaved rounds. See README.md.

    python3 peers.py [--build DIR] [--python PYTHON] [--rounds N] [--checksums FILE] [--threads N ...] [FILE ...]

FILE...: decode the program JSON of each. PYTHON: an interpreter that has torch; without it only our own speed is shown.
Exits with 1 if a threshold is missed.
"""

import argparse
import pathlib
import sys

from rounds import CPU, WALL, Contender, find_programs, interleave, print_table

BARS = {"torch python": 100, "torch C++": 5}
LEAST_JSON_RATE = 0.3e9
LEAST_SHARE_OF_BANDWIDTH = 0.5


def compare_decode(worker, python, path, rounds):
    contenders = [Contender("pt2", [worker, "decode", path]), Contender("pt2 encode", [worker, "encode", path])]
    if python:
        script = str(pathlib.Path(__file__).with_name("torch_worker.py"))
        contenders += [Contender(f"torch {name}", [python, script, kind, path])
                       for name, kind in (("python", "python"), ("C++", "cpp"))]
    interleave(contenders, rounds)
    # All contenders use one thread and wait for nothing, so processor time equals wall time on an idle machine.
    ours, size = contenders[0].best(CPU), contenders[0].ready[0]
    rows = [[f"decode {pathlib.Path(path).name}, {size / 1e6:.2f} MB", "min ms", "min CPU ms", "GB/s", "ratio"]]
    rows += [[c.name, f"{c.best(WALL) * 1e3:.2f}", f"{c.best(CPU) * 1e3:.2f}", f"{size / c.best(CPU) / 1e9:.3f}",
              f"{c.best(CPU) / ours:.1f}"] for c in contenders]
    verdicts = [(f"at least {LEAST_JSON_RATE / 1e9} GB/s of JSON", size / ours >= LEAST_JSON_RATE)]
    verdicts += [(f"at least {BARS[c.name]} times faster than {c.name}", c.best(CPU) / ours >= BARS[c.name])
                 for c in contenders if c.name in BARS]
    return print_table(rows, verdicts)


def compare_checksums(worker, path, threads, rounds):
    contenders = [Contender(name, [worker, task, path, str(threads)])
                  for name, task in (("pt2 CRC-32", "crc"), ("plain read", "read"))]
    interleave(contenders, rounds)
    size = contenders[0].ready[0]
    crc, read = (c.best(WALL) for c in contenders)
    rows = [[f"{pathlib.Path(path).name}, {size / 1e6:.0f} MB, {threads} thread{'s' * (threads > 1)}", "min ms", "GB/s",
             "ratio"]]
    rows += [[c.name, f"{c.best(WALL) * 1e3:.1f}", f"{size / c.best(WALL) / 1e9:.2f}", f"{c.best(WALL) / crc:.2f}"]
             for c in contenders]
    return print_table(rows, [(f"at least {LEAST_SHARE_OF_BANDWIDTH} of the bandwidth: {read / crc:.2f}",
                               read / crc >= LEAST_SHARE_OF_BANDWIDTH)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/bench")
    parser.add_argument("--python")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--checksums", metavar="FILE")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("files", nargs="*", metavar="FILE")
    options = parser.parse_args()
    (worker,) = find_programs(options.build, "worker")
    held = [compare_decode(worker, options.python, path, options.rounds) for path in options.files]
    if options.checksums:
        held += [compare_checksums(worker, options.checksums, threads, options.rounds) for threads in options.threads]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
