"""Are converted files what they should be? Converts the corpus for each release and lets real PyTorch judge.

    python interop/convert_matrix.py PT2 [--record] [RELEASE=PYTHON ...]

PT2 is the command. Each RELEASE=PYTHON ("2.6=/path/to/python") is a release and a Python that has it; without any, the
Python that runs this is taken for its own release. Every file of tests/data/corpus, or of the folder that PT2_CORPUS
names (before 2.5: of CHOSEN), is converted for the release: either pt2 names what the release cannot have (exit 4), or
the release must load the file, run its recorded calls and give the recorded results (run_recorded.py).

KNOWN lists what PyTorch itself cannot load or run. Where the Python of the release that wrote a file is given, the file
as it was written is tried there: if it runs, the entry is a failure, unless the target fails at its own file of the
same program, too. --record writes what was found into interop/support.json (README.md's table:
tests/structure/support.sh). Prints a line for each failure, a table, and what blocks how many files; the exit status is
1 if anything failed.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORPUS = Path(os.environ.get("PT2_CORPUS") or HERE.parent / "tests" / "data" / "corpus")
SUPPORT = HERE / "support.json"
WORKERS = 2
# (source releases, target releases, program): why. "" is every release.
KNOWN = {
    ("", "", "keyword_names"): "names that are Python keywords make PyTorch generate code that does not parse",
    ("", "", "joint_loss"): "a joint graph of loss and gradients has more results than its module's tree says",
    ("", "", "no_grad_region"): "a region without results: the loader makes a node without metadata (2.6 to 2.15)",
    ("", "2.5", "while_loop"): "carried inputs come back as a list, which 2.5 refuses",
    ("", "2.6", "while_loop"): "carried inputs come back as a list, which 2.6 refuses",
    ("2.6", "", "pytree_containers"): "2.6 saves a defaultdict as a dict without its entry",
    ("2.7", "2.7", "sym_float_arithmetic"): "2.7 saves math.trunc, which it cannot load",
    ("2.3", "", "unbacked_split"): "2.3 writes sizes of symbols that it does not define before their use",
    ("", "2.1", "dynamic_range"): "2.1 does not check the range that a file states",
    ("2.1", "", "dynamic_range"): "2.1 does not check the range that its file states",
}  # fmt: skip
# For releases before 2.5 a dozen programs of each release that has them.
FIRST_WITH_ALL = 5
CHOSEN = (
    "mlp transformer dynamic_range tied_weights conv_bn_relu pytree_nested buffer_mutation cond_simple lifted_constants "
    "dtypes_float module_calls reductions view_ops"
).split()
# What no failure of the original can show: it runs, and should not.
LENIENT = ("dynamic_range",)


@dataclass
class Outcome:
    """What became of every file for one release."""

    release: str
    alike: int = 0
    failures: list = field(default_factory=list)
    excused: list = field(default_factory=list)  # (path of the original, reason)
    reasons: collections.Counter = field(default_factory=collections.Counter)  # of blockers, by (kind, text)
    blocked: int = 0

    def line(self):
        return (
            f"for {self.release}: {self.alike} run alike, {len(self.failures)} failed, "
            f"{len(self.excused)} that PyTorch cannot run itself, {self.blocked} blocked"
        )


def short(release):
    return ".".join(release.split(".")[:2])


def name_of(path):
    return f"{path.parent.name}/{path.stem}"


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


def run_recorded(python, pairs):
    """[result] for [(program, recorded calls)], as run_recorded.py describes them, in their order."""
    lines = "".join(f"{program}\t{calls}\n" for program, calls in pairs)
    done = subprocess.run([python, HERE / "run_recorded.py"], input=lines, capture_output=True, text=True)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    if len(results) != len(pairs):
        raise RuntimeError(f"{python} gave {len(results)} results, expected {len(pairs)}: {done.stderr[-500:]}")
    return results


def run_all(python, pairs):
    """The same in several processes."""
    parts = [pairs[i::WORKERS] for i in range(WORKERS)]
    with ThreadPoolExecutor(WORKERS) as pool:
        return [result for part in pool.map(lambda part: run_recorded(python, part), parts) for result in part]


def check(pt2, target, python, folder):
    """The Outcome for one release."""
    outcome = Outcome(target)
    files = sorted(CORPUS.glob("[0-9]*/*.pt2"))
    if int(target.split(".")[1]) < FIRST_WITH_ALL:
        files = [path for path in files if path.stem in CHOSEN]
    outs = [Path(folder) / target / path.parent.name / path.name for path in files]
    for out in outs:
        out.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(WORKERS) as pool:
        converted = list(pool.map(lambda pair: convert(pt2, pair[0], target, pair[1]), zip(files, outs)))
    originals = {}
    for path, out, (code, report) in zip(files, outs, converted):
        if code == 4:
            outcome.blocked += 1
            outcome.reasons.update({reason(each) for each in report["blockers"]})
        elif code != 0:
            outcome.failures.append(f"{name_of(path)}: pt2 convert: {report}")
        else:
            originals[str(out)] = path
    for result in run_all(python, [(out, path.with_suffix(".safetensors")) for out, path in originals.items()]):
        path = originals[result["file"]]
        excuse = known(short(path.parent.name), target, path.stem)
        if result["ok"]:
            outcome.alike += 1
        elif excuse:
            outcome.excused.append((path, excuse))
        else:
            outcome.failures.append(f"{name_of(path)}: {result['stage']}: {result['error']}")
    return outcome


def reason(blocker):
    """What stands in the way, without the names that the program's author gave."""
    text = blocker["text"]
    for kind, general in (
        ("program_name", "a program's name"),
        ("input", "a symbolic number among the inputs"),
        ("guard", "a guard"),
    ):
        if blocker["kind"] == kind:
            text = general
    return blocker["kind"], text


class Evidence:
    """Whether PyTorch fails at files that no converter has seen. Each is tried once."""

    def __init__(self, pythons):
        self.pythons = pythons
        self.fails = {}  # by path; releases that are not given have no entries

    def files(self, path, target):
        """The original, and what the target itself wrote of the program."""
        return [path, *(own for folder in CORPUS.glob(target + ".*") if (own := folder / path.name).exists())]

    def gather(self, outcome):
        wanted = {file for path, _ in outcome.excused for file in self.files(path, outcome.release)}
        for release, python in self.pythons.items():
            files = sorted(f for f in wanted if short(f.parent.name) == release and f not in self.fails)
            for result in run_recorded(python, [(f, f.with_suffix(".safetensors")) for f in files]) if files else ():
                self.fails[Path(result["file"])] = not result["ok"]

    def check(self, outcome):
        """An excuse is none where the original runs, and the target has no trouble with its own file either."""
        self.gather(outcome)
        for path, excuse in outcome.excused:
            original, *own = (self.fails.get(file) for file in self.files(path, outcome.release))
            if original is False and not any(own) and path.stem not in LENIENT:
                outcome.failures.append(f"{name_of(path)}: KNOWN says '{excuse}', but PyTorch runs the original")


def record(outcomes):
    """Into support.json; what it has of other releases stays."""
    support = json.loads(SUPPORT.read_text()) if SUPPORT.exists() else {}
    for each in outcomes:
        support[each.release] = {
            "alike": each.alike,
            "failed": len(each.failures),
            "excused": dict(sorted(collections.Counter(why for _, why in each.excused).items())),
            "blocked": each.blocked,
            "reasons": {f"{kind}: {text}": count for (kind, text), count in sorted(each.reasons.items())},
        }
    ordered = dict(sorted(support.items(), key=lambda item: int(item[0].split(".")[1])))
    SUPPORT.write_text(json.dumps(ordered, indent=1) + "\n")


def main():
    options = [each for each in sys.argv[1:] if each.startswith("--")]
    arguments = [each for each in sys.argv[1:] if not each.startswith("--")]
    if not arguments or set(options) - {"--record"}:
        sys.exit(__doc__.strip())
    pt2 = str(Path(arguments[0]).resolve())
    pythons = dict(each.split("=", 1) for each in arguments[1:])
    if not pythons:
        import torch

        pythons = {short(torch.__version__): sys.executable}
    evidence = Evidence(pythons)
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        for target, python in pythons.items():
            outcome = check(pt2, target, python, folder)
            evidence.check(outcome)
            outcomes.append(outcome)
            for failure in outcome.failures:
                print(f"FAIL for {target}: {failure}")
            print(outcome.line())
            for (kind, text), count in outcome.reasons.most_common():
                print(f"    {count} {kind}: {text}", flush=True)
    tried = collections.Counter(evidence.fails.values())
    print(f"{tried[True]} originals fail in the PyTorch that wrote them, {tried[False]} run")
    if "--record" in options:
        record(outcomes)
    return 1 if any(each.failures for each in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
