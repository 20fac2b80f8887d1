"""Does pt2 read the same tensors as PyTorch? Compares `pt2 ls FILE --tensors --json` with torch, tensor by tensor.

    python interop/load_tensors.py PT2 [FILE.pt2 ...]

PT2 is the command. Without files it takes thirteen of tests/data/corpus, of every archive layout. Prints a line per file
and "N passed, N failed"; the exit status is 1 if any failed. Needs requirements.txt.
"""

import json
import subprocess
import sys
from pathlib import Path

from torch_tensors import PAYLOADS, by_name, read_file

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "data" / "corpus"
CHOSEN = (
    "2.6.0/mlp 2.6.0/tied_weights 2.7.1/param_layouts 2.7.1/shared_storage 2.8.0/dtypes_float 2.8.0/lifted_constants "
    "2.9.1/param_layouts 2.9.1/tied_weights 2.13.0/buffer_mutation 2.13.0/dtypes_float 2.15.0/shared_storage "
    "2.15.0/lifted_constants 2.15.0/mlp"
).split()


def pt2_tensors(pt2, path):
    """Returns {payload: [description]}. Raises if the command fails or prints something else."""
    done = subprocess.run([pt2, "ls", path, "--tensors", "--json"], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()}")
    tensors = json.loads(done.stdout)["tensors"]
    return {payload: [t for t in tensors if t["payload"] == payload] for payload in PAYLOADS}


def ordered(tensors, payload):
    """Sorts tensors by name, except sample inputs: these are matched by order, because readers name them differently."""
    if payload == "sample_inputs":
        tensors = [t | {"name": f"{i:06}"} for i, t in enumerate(tensors)]
    return by_name(tensors)


def differences(payload, torch_tensors, our_tensors):
    """Returns one line per difference."""
    found = []
    if len(torch_tensors) != len(our_tensors):
        found.append(f"{payload}: {len(our_tensors)} tensors, in torch {len(torch_tensors)}")
    theirs, ours = ({t["name"]: t for t in ordered(ts, payload)} for ts in (torch_tensors, our_tensors))
    for name in sorted(theirs.keys() | ours.keys()):
        if name not in ours or name not in theirs:
            found.append(f"{payload} {name}: only in {'torch' if name in theirs else 'pt2'}")
            continue
        for key, value in theirs[name].items():
            if ours[name].get(key) != value:
                found.append(f"{payload} {name}: {key} is {ours[name].get(key)}, in torch {value}")
    return found


def check(pt2, path):
    """Returns (number of tensors compared, differences)."""
    programs = read_file(path)
    program = next((p for p in programs if p.name == "model"), programs[0])
    found = [f"torch: {payload}: {text}" for payload, text in program.errors]
    ours = pt2_tensors(pt2, path)
    for payload in PAYLOADS:
        found += differences(payload, program.tensors[payload], ours[payload])
    return sum(map(len, program.tensors.values())), found


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    pt2 = str(Path(sys.argv[1]).resolve())
    paths = sys.argv[2:] or [str(CORPUS / f"{name}.pt2") for name in CHOSEN]
    passed = failed = 0
    for path in paths:
        label = "/".join(Path(path).parts[-2:])
        try:
            count, found = check(pt2, path)
        except Exception as e:
            count, found = 0, [f"{type(e).__name__}: {e}"]
        print(f"{'FAIL' if found else 'ok  '} {label}: {count} tensors", *found, sep="\n     " if found else " ")
        passed += not found
        failed += bool(found)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
