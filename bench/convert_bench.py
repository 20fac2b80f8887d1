"""Compare `pt2 convert` of a large file with copying it, in interleaved rounds. See README.md.

    python3 convert_bench.py [--build DIR] [--rounds N] [--gigabytes N] [--sparse-gigabytes N] FOLDER

FOLDER gets files of that size, which are removed at the end. Exits with 1 if a threshold is missed.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys

from rounds import PEAK, WALL, Contender, find_programs, interleave, print_table

LEAST_SHARE_OF_CP = 0.7
MOST_MEGABYTES = 300
HERE = pathlib.Path(__file__).parent
SMALL = HERE.parent / "tests/data/corpus/2.15.0/mlp.pt2"


class Writer(Contender):
    """Writes a new file, or replaces an existing one."""

    def __init__(self, name, measure, command, output, replaces):
        super().__init__(name, [measure, shutil.which(command[0]), *map(str, command[1:])])
        self.output, self.replaces = output, replaces

    def turn(self):
        if not self.replaces:
            self.output.unlink(missing_ok=True)
        super().turn()


def writers(measure, pt2, raw, flat, out, replaces):
    # An output that replaces a file is synced to disk first (FileSink). `cp` does not sync.
    copy = ["cp", raw, out]
    if replaces:
        copy = ["sh", "-c", 'cp "$0" "$1.new" && sync "$1.new" && mv "$1.new" "$1"', raw, out]
    commands = [("cp, sync, mv" if replaces else "cp", copy),
                ("pt2 convert, as it is", [pt2, "convert", raw, "-o", out]),
                ("pt2 convert, 2.6 to newest", [pt2, "convert", flat, "-o", out, "--for", "newest"]),
                ("pt2 convert, newest to 2.6", [pt2, "convert", raw, "-o", out, "--for", "2.6"])]
    return [Writer(name, measure, command, out, replaces) for name, command in commands]


def compare(title, contenders, size, rounds, least_share):
    interleave(contenders, rounds)
    copy = contenders[0].best(WALL)
    rows = [[title, "min s", "GB/s", "of cp", "peak MB"]]
    verdicts = []
    for contender in contenders:
        seconds, megabytes = contender.best(WALL), contender.worst(PEAK) / 1e6
        rows.append([contender.name, f"{seconds:.2f}", f"{size / seconds / 1e9:.2f}", f"{copy / seconds:.2f}",
                     f"{megabytes:.1f}"])
        if contender is not contenders[0]:
            share = copy / seconds
            verdicts.append((f"{contender.name}: under {MOST_MEGABYTES} MB", megabytes < MOST_MEGABYTES))
            if least_share:
                verdicts.append((f"{contender.name}: at least {least_share} of cp: {share:.2f}", share >= least_share))
    return print_table(rows, verdicts)


def bench(options, measure, pt2, gigabytes, is_sparse):
    raw, flat, out = (options.folder / name for name in ("large.pt2", "large-2.6.pt2", "large-out.pt2"))
    try:
        make = [sys.executable, str(HERE / "make_large.py"), str(SMALL), str(raw), str(gigabytes)]
        subprocess.run(make + ["--sparse"] * is_sparse, check=True)
        subprocess.run([pt2, "convert", raw, "-o", flat, "--for", "2.6"], check=True, stdout=subprocess.DEVNULL)
        held = []
        for replaces in (False, True):
            title = f"{gigabytes:g} GB{', sparse' * is_sparse}, {'over a file' if replaces else 'a new file'}"
            contenders = writers(measure, pt2, raw, flat, out, replaces)
            # The content of a sparse file is a hole, so no bytes are copied.
            least_share = None if is_sparse else LEAST_SHARE_OF_CP
            held.append(compare(title, contenders, raw.stat().st_size, options.rounds, least_share))
        return all(held)
    finally:
        for path in (raw, flat, out):
            path.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/bench")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--gigabytes", type=float, default=2)
    parser.add_argument("--sparse-gigabytes", type=float, default=10)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    measure, pt2 = find_programs(options.build, "measure_process", "pt2")
    held = [bench(options, measure, pt2, options.sparse_gigabytes, True),
            bench(options, measure, pt2, options.gigabytes, False)]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
