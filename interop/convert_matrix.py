"""Are converted files what they should be? Converts the corpus for each release and lets real PyTorch judge.

    python interop/convert_matrix.py PT2 [RELEASE=PYTHON ...]

PT2 is the command. Each RELEASE=PYTHON ("2.6=/path/to/python") is a release and a Python that has it; without any, the
Python that runs this is taken for its own release. Every file of tests/data/corpus, or of the folder that PT2_CORPUS
names, is converted for the release: either pt2 names what the release cannot have (exit 4), or the release must load
the file, run its recorded calls and give the recorded results (run_recorded.py). KNOWN lists what PyTorch itself cannot
load or run as it wrote it. Prints a line for each failure and a table; the exit status is 1 if anything failed.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = Path(os.environ.get("PT2_CORPUS") or HERE.parent / "tests" / "data" / "corpus")
# (source releases, target releases, program): why. "" is every release.
KNOWN = {
    ("", "", "keyword_names"): "names that are Python keywords make PyTorch generate code that does not parse",
    ("", "", "joint_loss"): "a joint graph of loss and gradients has more results than its module's tree says",
    ("", "", "no_grad_region"): "a region without results: the loader makes a node without metadata (2.6 to 2.15)",
    ("", "2.6", "pytree_containers"): "torch.fx has no flatten spec of defaultdict before 2.7",
    ("", "2.6", "pytree_dicts"): "torch.fx has no flatten spec of OrderedDict before 2.7",
    ("", "2.6", "pytree_dataclass"): "torch.fx has no flatten spec of dataclasses before 2.7",
    ("", "2.6", "while_loop"): "carried inputs come back as a list, which 2.6 refuses (its own file too)",
    ("2.6", "", "pytree_containers"): "2.6 cannot run it: its recorded results are those of the module",
    ("2.3", "", "while_loop"): "2.3 could not run it: there are no recorded calls",
    ("2.3", "2.6", "pytree_none"): "2.3 names an input so that the generated code does not parse (its own file too)",
    ("2.3", "2.6", "unbacked_split"): "2.3 cannot load its own file",
    ("2.1", "", "dynamic_range"): "2.1 does not check the range that its file states",
}  # fmt: skip


def short(release):
    return ".".join(release.split(".")[:2])


def known(source, target, name):
    for (sources, targets, program), reason in KNOWN.items():
        if program == name and sources in ("", source) and targets in ("", target):
            return reason
    return None


def convert(pt2, source, target, out):
    done = subprocess.run(
        [pt2, "convert", source, "-o", out, "--for", target, "--json"], capture_output=True, text=True, timeout=300
    )
    if done.returncode in (0, 4):
        return done.returncode, json.loads(done.stdout)
    return done.returncode, done.stderr.strip()


def check(pt2, target, python, folder):
    """(passed, failures, blocked kinds, known failures) for one release."""
    files = sorted(CORPUS.glob("[0-9]*/*.pt2"))
    outs = [Path(folder) / target / path.parent.name / path.name for path in files]
    for out in outs:
        out.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        converted = list(pool.map(lambda pair: convert(pt2, pair[0], target, pair[1]), zip(files, outs)))
    failures, blocked, pairs = [], collections.Counter(), {}
    for path, out, (code, report) in zip(files, outs, converted):
        if code == 4:
            blocked[", ".join(sorted({each["kind"] for each in report["blockers"]}))] += 1
        elif code != 0:
            failures.append(f"{path.parent.name}/{path.stem}: pt2 convert: {report}")
        else:
            pairs[str(out)] = path
    lines = "".join(f"{out}\t{path.with_suffix('.safetensors')}\n" for out, path in pairs.items())
    done = subprocess.run([python, HERE / "run_recorded.py"], input=lines, capture_output=True, text=True)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    if len(results) != len(pairs):
        failures.append(f"{python} gave {len(results)} results, expected {len(pairs)}: {done.stderr[-500:]}")
    passed = excused = 0
    for result in results:
        path = pairs[result["file"]]
        if result["ok"]:
            passed += 1
        elif known(short(path.parent.name), target, path.stem):
            excused += 1
        else:
            failures.append(f"{path.parent.name}/{path.stem}: {result['stage']}: {result['error']}")
    return passed, failures, blocked, excused


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    pt2 = str(Path(sys.argv[1]).resolve())
    targets = dict(each.split("=", 1) for each in sys.argv[2:])
    if not targets:
        import torch

        targets = {short(torch.__version__): sys.executable}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for target, python in targets.items():
            passed, failures, blocked, excused = check(pt2, target, python, folder)
            failed += len(failures)
            for failure in failures:
                print(f"FAIL for {target}: {failure}")
            reasons = "; ".join(f"{count} {kinds}" for kinds, count in blocked.most_common())
            print(
                f"for {target}: {passed} run alike, {len(failures)} failed, {excused} that PyTorch cannot run itself, "
                f"{sum(blocked.values())} blocked{': ' if reasons else ''}{reasons}"
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
