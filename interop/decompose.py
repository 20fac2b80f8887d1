"""Does PyTorch load what `pt2 decompose` writes, and are no composite operators left in it?

    python interop/decompose.py PT2 [FOLDER]

PT2 is the command, FOLDER a collection of programs with recorded calls (tests/data/corpus/<this release> without one).
Every file is decomposed; what pt2 refuses is counted with its reasons. The others must load in the PyTorch that runs
this, hold no operator with a CompositeImplicitAutograd kernel that is not core ATen, and give the recorded results
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
    """The targets of a loaded program that PyTorch makes of others."""
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
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else HERE.parent / "tests" / "data" / "corpus" / release
    counts, refused, pairs, failed = collections.Counter(), collections.Counter(), [], False
    with tempfile.TemporaryDirectory() as temporary:
        for path in sorted(folder.glob("*.pt2")):
            out = Path(temporary) / path.name
            done = subprocess.run([pt2, "decompose", path, "-o", out], text=True, capture_output=True)
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
                print(f"{path.name}: composites left: {', '.join(sorted(left))}")
            pairs.append((out, path.with_suffix(".safetensors")))
        before = recorded([(folder / out.name, calls) for out, calls in pairs])
        for out, verdict in recorded(pairs).items():
            original = before[str(folder / Path(out).name)]
            if verdict["ok"]:
                counts["run alike"] += 1
            elif not original["ok"]:
                counts["PyTorch cannot run the original"] += 1
            else:
                failed = True
                print(f"{Path(out).name}: {verdict['stage']}: {verdict['error']}"[:400])
    for what, count in refused.most_common():
        print(f"{count:4} refused for {what}")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return failed


if __name__ == "__main__":
    sys.exit(main())
