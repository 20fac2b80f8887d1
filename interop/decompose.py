"""Does PyTorch load what `pt2 decompose` writes, and are no composite operators left in it?

    python interop/decompose.py PT2 [FOLDER ...]

PT2 is the command, each FOLDER a collection of programs with recorded calls (tests/data/corpus/<this release> without
one). Every file is converted for the release of the PyTorch that runs this, and decomposed; what pt2 refuses is counted with its reasons. The others must load in the PyTorch that runs
this, hold no operator outside of core ATen that has a CompositeImplicitAutograd kernel, and give the recorded results
(run_recorded.py). Prints a line for each file that fails and the counts; the exit status is 1 if anything failed.
"""

import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

HERE = Path(__file__).resolve().parent
COMPOSITE = "CompositeImplicitAutograd"


def composites(program):
    """The targets of a loaded program that PyTorch decomposes."""
    found = set()
    for module in program.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", ()):
            if not isinstance(node.target, torch._ops.OpOverload) or node.target.namespace != "aten":
                continue
            has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key(node.target.name(), COMPOSITE)
            if has_kernel and torch.Tag.core not in node.target.tags:
                found.add(str(node.target))
    return found


def recorded(pairs):
    """run_recorded.py's verdicts by file."""
    lines = "".join(f"{program}\t{calls}\n" for program, calls in pairs)
    done = subprocess.run([sys.executable, HERE / "run_recorded.py"], input=lines, text=True, stdout=subprocess.PIPE)
    return {each["file"]: each for each in map(json.loads, done.stdout.splitlines())}


def main():
    pt2 = sys.argv[1]
    release = ".".join(torch.__version__.split("+")[0].split("."))
    folders = list(map(Path, sys.argv[2:])) or [HERE.parent / "tests" / "data" / "corpus" / release]
    counts, refused, pairs, failed = collections.Counter(), collections.Counter(), [], False
    with tempfile.TemporaryDirectory() as temporary:
        for path in sorted(path for folder in folders for path in folder.glob("*.pt2")):
            original = Path(temporary) / f"{path.parent.name}-{path.name}"
            out = Path(temporary) / f"{path.parent.name}-core-{path.name}"
            target = "torch-" + ".".join(release.split(".")[:2])
            if subprocess.run([pt2, "convert", path, "-o", original, "--for", target], capture_output=True).returncode:
                counts["not for this release"] += 1
                continue
            done = subprocess.run([pt2, "decompose", original, "-o", out], text=True, capture_output=True)
            if done.returncode != 0:
                counts["refused" if done.returncode == 4 else "unreadable"] += 1
                refused.update(line.partition(" at %")[2].partition(")")[0] for line in done.stderr.splitlines()[1:])
                continue
            try:
                left = composites(torch.export.load(out))
            except Exception as error:  # what stays out of the counts is loaded below, with its reason
                left = set()
                if not isinstance(error, (RuntimeError, ValueError, KeyError, AttributeError)):
                    print(f"{path.name}: {error!r}"[:300])
            if left:
                failed = True
                print(f"{original.name}: composites left: {', '.join(sorted(left))}")
            pairs.append((original, out, path.with_suffix(".safetensors")))
        before = recorded([(original, calls) for original, out, calls in pairs])
        after = recorded([(out, calls) for original, out, calls in pairs])
        for path, out, _ in pairs:
            original, verdict = before[str(path)], after[str(out)]
            if verdict["ok"]:
                counts["run alike"] += 1
            elif not original["ok"]:
                counts["PyTorch cannot run the original"] += 1
            else:
                failed = True
                print(f"{out.name}: {verdict['stage']}: {verdict['error']}"[:400])
    for what, count in refused.most_common():
        print(f"{count:4} refused for {what}")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return failed


if __name__ == "__main__":
    sys.exit(main())
