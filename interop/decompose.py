"""Does PyTorch load what `pt2 decompose` writes, and are no composite operators left in it?

    python interop/decompose.py PT2 [FOLDER ...]

PT2 is the command, each FOLDER a collection of programs with recorded calls (tests/data/corpus/<this release> without
one). Every file is converted for the release of the PyTorch that runs this, and decomposed. A file that pt2 does not
refuse must load in that PyTorch, hold no operator outside of core ATen that has a CompositeImplicitAutograd kernel, and
give the recorded results (run_recorded.py), unless the original, or what PyTorch itself decomposes it to, fails alike.
Prints a line for each file that fails, is refused or still writes to memory, the reasons for the refusals and the
counts; the exit status is 1 if anything failed.
"""

import collections
import contextlib
import json
import logging
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import run_recorded
import torch

HERE = Path(__file__).resolve().parent
COMPOSITE = "CompositeImplicitAutograd"
# "pt2: TEXT at %NAME (TARGET): LINE"
REASON = re.compile(r"^pt2: (.*? at )%\S* (\(.*?\))", re.MULTILINE)


def operators(program):
    """Returns the operators of a loaded program."""
    modules = program.graph_module.modules()
    targets = {node.target for each in modules for node in getattr(getattr(each, "graph", None), "nodes", ())}
    return [each for each in targets if isinstance(each, torch._ops.OpOverload)]


def is_composite(operator):
    """True for operators that PyTorch decomposes."""
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), COMPOSITE)
    return operator.namespace == "aten" and has_kernel and torch.Tag.core not in operator.tags


def recorded(pairs):
    """Returns run_recorded.py's verdicts by file."""
    if not pairs:
        return {}  # PyTorch takes seconds to start
    lines = "".join(f"{program}\t{calls}\n" for program, calls in pairs)
    done = subprocess.run([sys.executable, HERE / "run_recorded.py"], input=lines, text=True, stdout=subprocess.PIPE)
    return {each["file"]: each for each in map(json.loads, done.stdout.splitlines())}


def by_pytorch(original, folder):
    """Decomposes a program with PyTorch, and returns the file. The file is missing where PyTorch cannot do that."""
    out = folder / f"by-pytorch-{original.name}"
    with contextlib.suppress(Exception):
        torch.export.save(run_recorded.load(original).run_decompositions(), out)
    return out


def decomposed(pt2, path, folder, release):
    """Returns (the program converted for this release, the same decomposed, why pt2 refuses it or nothing)."""
    original = folder / f"{path.parent.name}-{path.name}"
    out = folder / f"{path.parent.name}-core-{path.name}"
    steps = (
        ("not for this release", [pt2, "convert", path, "-o", original, "--for", f"torch-{release}"]),
        ("refused", [pt2, "decompose", original, "-o", out]),
    )
    for failure, command in steps:
        done = subprocess.run(command, text=True, capture_output=True)
        if done.returncode:
            return original, out, (failure, done.stderr)
    return original, out, None


def main():
    pt2 = sys.argv[1]
    version = torch.__version__.split("+")[0]
    release = ".".join(version.split(".")[:2])
    folders = list(map(Path, sys.argv[2:])) or [HERE.parent / "tests" / "data" / "corpus" / version]
    paths = sorted(path for folder in folders for path in folder.glob("*.pt2"))
    logging.disable(logging.ERROR)
    run_recorded.register_classes()
    libraries = run_recorded.register_operators()
    counts, refused, pairs = collections.Counter(files=len(paths)), collections.Counter(), []
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor() as pool:
        made = pool.map(lambda path: decomposed(pt2, path, Path(temporary), release), paths)
        for path, (original, out, failure) in zip(paths, made):
            if failure:
                counts[failure[0]] += 1
                if failure[0] == "refused":
                    print(f"{original.name}: {failure[1].strip()}"[:400])
                    refused.update(map("".join, REASON.findall(failure[1])))
                continue
            try:
                found = operators(run_recorded.load(out))
            except Exception:  # it is loaded again below, which gives the reason
                found = []
            left = sorted(str(each) for each in found if is_composite(each))
            if left:
                counts["composites left"] += 1
                print(f"{original.name}: composites left: {', '.join(left)}")
            writing = sorted(str(each) for each in found if each._schema.is_mutable)
            if writing:
                counts["still write"] += 1
                print(f"{original.name}: writes left: {', '.join(writing)}")
            pairs.append((original, out, path.with_suffix(".safetensors")))
        after = recorded([(out, calls) for _, out, calls in pairs])
        differing = [each for each in pairs if not after[str(each[1])]["ok"]]
        counts["run alike"] = len(pairs) - len(differing)
        before = recorded([(original, calls) for original, _, calls in differing])
        theirs = {path: by_pytorch(path, Path(temporary)) for path, _, _ in differing if before[str(path)]["ok"]}
        also = recorded([(theirs[path], calls) for path, _, calls in differing if path in theirs])
        for path, out, _ in differing:
            original, verdict = before[str(path)], after[str(out)]
            if not original["ok"]:
                counts["PyTorch runs the original otherwise than recorded"] += 1
                print(f"{path.name}: {original['stage']}: {original['error']}"[:400])
                continue
            print(f"{out.name}: {verdict['stage']}: {verdict['error']}"[:400])
            if also[str(theirs[path])].get("error") == verdict["error"]:
                counts["fail as what PyTorch decomposes itself"] += 1
            else:
                counts["failed"] += 1
    for what, count in refused.most_common():
        print(f"{count:4} refused: {what}")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    del libraries
    return bool(counts["failed"] or counts["composites left"])


if __name__ == "__main__":
    sys.exit(main())
