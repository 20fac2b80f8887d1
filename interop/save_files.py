"""Does PyTorch load the files that libpt2 writes? Saves files again and compares how torch loads and runs both.

    python interop/save_files.py RESAVE [FILE.pt2 ...]

RESAVE is the program of resave.cpp. Each file is written in its own layout and, where its schema lets torch load them
there, in the other layouts; torch must load each result, have the same state dict, constants and example inputs, and
compute the same outputs from them. Files that torch cannot load or run itself are skipped. Without files it takes
fifteen of tests/data/corpus. Prints a line per file and "N passed, N failed, N skipped"; the exit status is 1 if any
failed. Needs requirements.txt.
"""

import copy
import logging
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import torch
import torch.utils._pytree as pytree

CORPUS = Path(__file__).resolve().parents[1] / "tests" / "data" / "corpus"
CHOSEN = (
    "2.7.1/mlp 2.7.1/tied_weights 2.7.1/dtypes_int 2.8.0/mlp 2.8.0/param_layouts 2.9.1/tied_weights 2.9.1/mlp "
    "2.15.0/buffer_mutation 2.15.0/dtypes_float 2.15.0/dtypes_uint 2.15.0/kwargs_inputs 2.15.0/lifted_constants "
    "2.15.0/mlp 2.15.0/pytree_nested 2.15.0/shared_storage"
).split()
# Files with contents that some layouts cannot hold: several programs, objects, sparse tensors.
REFUSALS = ("no place in the layout", "the tensor has no elements")
LAYOUTS = ("", "flat", "pickled", "raw")


def same(left, right):
    """True if the trees are equal; tensors are compared by dtype, strides and bits."""
    left_leaves, left_spec = pytree.tree_flatten(left)
    right_leaves, right_spec = pytree.tree_flatten(right)
    return left_spec == right_spec and all(map(same_leaf, left_leaves, right_leaves))


def same_leaf(left, right):
    if not isinstance(left, torch.Tensor):
        return type(left) is type(right) and (left == right or left != left)
    if left.layout != torch.strided:
        return left.layout == right.layout and same_leaf(left.to_dense(), right.to_dense())
    if (left.dtype, left.shape, left.stride(), type(left)) != (right.dtype, right.shape, right.stride(), type(right)):
        return False
    left, right = (t.detach().contiguous().flatten().view(torch.uint8) for t in (left, right))
    return torch.equal(left, right)


def outputs(program):
    """Returns the results of one call with the example inputs, and the state after it."""
    args, kwargs = copy.deepcopy(program.example_inputs)
    torch.manual_seed(0)
    module = program.module()
    return module(*args, **kwargs), dict(module.named_buffers())


def differences(original, again, expected):
    found = []
    for what in ("state_dict", "constants", "example_inputs"):
        if not same(getattr(original, what), getattr(again, what)):
            found.append(f"other {what}")
    if {n: t.requires_grad for n, t in original.state_dict.items()} != {
        n: t.requires_grad for n, t in again.state_dict.items()
    }:
        found.append("other requires_grad")
    if expected is not None and not same(expected, outputs(again)):
        found.append("other outputs")
    return found


def load(path):
    """Returns the program and the results of a call; None instead of results if there are no example inputs."""
    program = torch.export.load(path)
    # A call changes the buffers of its program, so the outputs are computed with a second
    # copy.
    return program, None if program.example_inputs is None else outputs(torch.export.load(path))


def check(resave, path, folder):
    """Returns one line per fault; None if torch cannot load or run the original."""
    try:
        original, expected = load(path)
    except Exception:
        return None
    found = []
    for layout in LAYOUTS:
        target = Path(folder) / "again.pt2"
        done = subprocess.run([resave, path, target, layout], capture_output=True, text=True, timeout=600)
        if done.returncode:
            if not layout or not any(text in done.stderr for text in REFUSALS):
                found.append(f"{layout or 'own layout'}: {done.stderr.strip()}")
            continue
        try:
            again = torch.export.load(target)
            found += [f"{layout or 'own layout'}: {text}" for text in differences(original, again, expected)]
        except Exception as e:
            found.append(f"{layout or 'own layout'}: {type(e).__name__}: {e}")
    return found


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    logging.disable(logging.WARNING)
    warnings.filterwarnings("ignore")
    resave = str(Path(sys.argv[1]).resolve())
    paths = sys.argv[2:] or [str(CORPUS / f"{name}.pt2") for name in CHOSEN]
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            label = "/".join(Path(path).parts[-2:])
            found = check(resave, path, folder)
            if found is None:
                skipped += 1
                print(f"skip {label}: torch does not load and run it")
                continue
            print(f"{'FAIL' if found else 'ok  '} {label}", *found, sep="\n     ")
            passed += not found
            failed += bool(found)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
