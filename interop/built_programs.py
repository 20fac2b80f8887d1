"""Does PyTorch load and run the programs that examples/build_programs.cpp makes from nothing?

    python interop/built_programs.py PT2 BUILD_PROGRAMS

PT2 is the command, BUILD_PROGRAMS the compiled example. Each program is loaded and verified by torch.export.load, run by
torch and by `pt2 run` on the same inputs, and the results compared. Prints a line per file and "N passed, N failed"; the
exit status is 1 if any failed.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
import torch

INPUTS = {
    "built_perceptron.pt2": [torch.randn(1, 2), torch.randn(5, 2), torch.randn(64, 2)],
    "built_conditional.pt2": [torch.tensor([1.0, 2.0, 3.0]), torch.tensor([-1.0, 0.5, 0.0])],
    "built_accumulator.pt2": [torch.tensor([1.0, 2.0])],
}


def check(pt2, path, inputs):
    """Returns a description of the fault; empty if there is none."""
    program = torch.export.load(path)
    program.validate()
    for x in inputs:
        expected = program.module()(x)
        numpy.save(path.with_suffix(".in.npy"), x.numpy())
        out = path.with_suffix(".out.npz")
        done = subprocess.run(
            [pt2, "run", path, "-i", f"x={path.with_suffix('.in.npy')}", "-o", out], capture_output=True, text=True
        )
        if done.returncode:
            return f"pt2 run: {done.stderr.strip()}"
        ours = torch.from_numpy(next(iter(numpy.load(out).values())))
        torch.testing.assert_close(ours, expected)
    return ""


def main():
    pt2, build_programs = sys.argv[1:3]
    torch.manual_seed(0)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([build_programs, folder], check=True, stdout=subprocess.DEVNULL)
        for name, inputs in INPUTS.items():
            try:
                fault = check(pt2, Path(folder) / name, inputs)
            except Exception as error:  # any exception of torch is the fault
                fault = f"{type(error).__name__}: {error}"
            failed += bool(fault)
            print(f"{'FAILED' if fault else 'passed'}  {name}  {fault}")
    print(f"{len(INPUTS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
