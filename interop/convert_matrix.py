"""Converts the corpus for each release and checks the converted files with real PyTorch.

    python interop/convert_matrix.py PT2 [--record] [RELEASE=PYTHON ...]

PT2 is the command. Each RELEASE=PYTHON ("2.6=/path/to/python") is a release and a Python that has it; without any, the
Python that runs this is taken for its own release. Every file of tests/data/corpus, or of the folder that PT2_CORPUS
names (before 2.5: of CHOSEN), is converted for the release: either pt2 names what the release cannot have (exit 4), or
the release must load the file, run its recorded calls and give the recorded results (run_recorded.py).

KNOWN lists what PyTorch itself cannot load or run. An entry only excuses a failure if interop/originals.json records the
same error without any conversion: for the original in the release that wrote it, or for the same program exported by
the target (run_originals.py). --record writes what was found into interop/support.json (README.md's table:
tests/structure/support.sh). Prints a line for each file that is excused or failed, a table, and what blocks how many
files; the exit status is 1 if anything failed.
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
ORIGINALS = HERE / "originals.json"
WORKERS = os.cpu_count() or 1
CONVERT_SECONDS = 60
# (source release, target release, program, part of the error): the reason. "" is every release.
KNOWN = {
    ("", "", "keyword_names", "invalid syntax"): "a name that is a Python keyword: the module's code does not parse",
    ("", "2.5", "while_loop", "must be a tuple"): "carried inputs come back as a list, which 2.5 refuses",
    ("", "2.6", "while_loop", "must be a tuple"): "carried inputs come back as a list, which 2.6 refuses",
    ("2.6", "", "pytree_containers", "1 results, expected 2"): "2.6 saves a defaultdict as a dict without its entry",
    ("2.3", "2.5", "unbacked_split", "KeyError"): "2.3 writes sizes of symbols that it does not define before their use",
    ("2.3", "2.6", "unbacked_split", "KeyError"): "2.3 writes sizes of symbols that it does not define before their use",
    ("2.1", "", "dynamic_range", "shape[1]"): "a recorded call is outside of the range; only the module of 2.1 lets it",
}  # fmt: skip
# Releases before 2.5 test the dozen programs of CHOSEN, where the release has them.
FIRST_WITH_ALL = 5
CHOSEN = (
    "mlp transformer dynamic_range tied_weights conv_bn_relu pytree_nested buffer_mutation cond_simple lifted_constants "
    "dtypes_float module_calls reductions view_ops"
).split()


@dataclass
class Outcome:
    """The outcomes of all files for one release."""

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


def excuse(path, target, error, originals):
    """Returns PyTorch's known fault that excuses the failure, or nothing. The same error must occur without conversion:
    for the original, or for the same program exported by the target."""
    source = short(path.parent.name)
    for (sources, targets, program, part), reason in KNOWN.items():
        meant = sources in ("", source) and targets in ("", target)
        if meant and program == path.stem and part in error:
            fails = (originals.get(release, {}).get("fails", {}).get(program) for release in (source, target))
            if any(each and part in each["error"] for each in fails):
                return reason
    return None


def corpus_files(release="*"):
    return sorted(path for path in CORPUS.glob(f"{release}.*/*.pt2") if path.parent.name[0].isdigit())


def given_pythons(arguments):
    """{release: Python}"""
    if arguments:
        return dict(each.split("=", 1) for each in arguments)
    import torch

    return {short(torch.__version__): sys.executable}


def read_json(path):
    return json.loads(path.read_text()) if path.exists() else {}


def write_json(path, by_release):
    ordered = dict(sorted(by_release.items(), key=lambda item: int(item[0].split(".")[1])))
    path.write_text(json.dumps(ordered, indent=1) + "\n")


def convert(pt2, source, target, out):
    command = [pt2, "convert", source, "-o", out, "--for", target, "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CONVERT_SECONDS)
    except subprocess.TimeoutExpired as e:
        return None, str(e)
    if done.returncode in (0, 4):
        return done.returncode, json.loads(done.stdout)
    return done.returncode, done.stderr.strip()


def run_recorded(python, pairs):
    """Returns a result for each (program, recorded calls), in order, as run_recorded.py describes it."""
    lines = "".join(f"{program}\t{calls}\n" for program, calls in pairs)
    done = subprocess.run([python, HERE / "run_recorded.py"], input=lines, capture_output=True, text=True)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    if len(results) != len(pairs):
        raise RuntimeError(f"{python} gave {len(results)} results, expected {len(pairs)}: {done.stderr[-500:]}")
    return results


def run_all(python, pairs):
    """Does the same as run_recorded, in several processes."""
    parts = [pairs[i::WORKERS] for i in range(min(WORKERS, len(pairs)))]
    with ThreadPoolExecutor(WORKERS) as pool:
        return [result for part in pool.map(lambda part: run_recorded(python, part), parts) for result in part]


def check(pt2, target, python, folder):
    """Returns the Outcome for one release."""
    outcome = Outcome(target)
    originals = read_json(ORIGINALS)
    files = corpus_files()
    if int(target.split(".")[1]) < FIRST_WITH_ALL:
        files = [path for path in files if path.stem in CHOSEN]
    outs = [Path(folder) / target / path.parent.name / path.name for path in files]
    for out in outs:
        out.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(WORKERS) as pool:
        converted = list(pool.map(lambda pair: convert(pt2, pair[0], target, pair[1]), zip(files, outs)))
    sources = {}
    for path, out, (code, report) in zip(files, outs, converted):
        if code == 4:
            outcome.blocked += 1
            outcome.reasons.update({reason(each) for each in report["blockers"]})
        elif code != 0:
            outcome.failures.append(f"{name_of(path)}: pt2 convert: {report}")
        else:
            sources[str(out)] = path
    for result in run_all(python, [(out, path.with_suffix(".safetensors")) for out, path in sources.items()]):
        path = sources[result["file"]]
        if result["ok"]:
            outcome.alike += 1
        elif why := excuse(path, target, result["error"], originals):
            outcome.excused.append((path, why))
        else:
            outcome.failures.append(f"{name_of(path)}: {result['stage']}: {result['error']}")
    return outcome


def reason(blocker):
    """Returns the blocker's kind, and its text without the names that the program's author gave."""
    text = blocker["text"]
    for kind, general in (
        ("program_name", "a program's name"),
        ("input", "a symbolic number among the inputs"),
        ("guard", "a guard"),
    ):
        if blocker["kind"] == kind:
            text = general
    return blocker["kind"], text


def record(outcomes):
    """Writes the outcomes into support.json and keeps its entries for other releases."""
    support = read_json(SUPPORT)
    for each in outcomes:
        support[each.release] = {
            "alike": each.alike,
            "failed": len(each.failures),
            "excused": dict(sorted(collections.Counter(why for _, why in each.excused).items())),
            "blocked": each.blocked,
            "reasons": {f"{kind}: {text}": count for (kind, text), count in sorted(each.reasons.items())},
        }
    write_json(SUPPORT, support)


def main():
    options = [each for each in sys.argv[1:] if each.startswith("--")]
    arguments = [each for each in sys.argv[1:] if not each.startswith("--")]
    if not arguments or set(options) - {"--record"}:
        sys.exit(__doc__.strip())
    pt2 = str(Path(arguments[0]).resolve())
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        for target, python in given_pythons(arguments[1:]).items():
            outcome = check(pt2, target, python, folder)
            outcomes.append(outcome)
            for path, why in outcome.excused:
                print(f"excused for {target}: {name_of(path)}: {why}")
            for failure in outcome.failures:
                print(f"FAIL for {target}: {failure}")
            print(outcome.line())
            for (kind, text), count in outcome.reasons.most_common():
                print(f"    {count} {kind}: {text}", flush=True)
    if "--record" in options:
        record(outcomes)
    return 1 if any(each.failures for each in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
