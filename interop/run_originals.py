"""Finds the files that the PyTorch release that wrote them cannot load, or does not run as recorded. They are the evidence
for KNOWN of convert_matrix.py.

    python interop/run_originals.py [--record] [RELEASE=PYTHON ...]

Each RELEASE=PYTHON ("2.6=/path/to/python") is a release and a Python that has it; without any, the Python that runs
this is taken for its own release. Every file that the release wrote, in tests/data/corpus or the folder that PT2_CORPUS
names, is loaded and its recorded calls are run (run_recorded.py). The failures must be those in interop/originals.json.
--record, which needs the whole corpus, writes them there, together with the programs of KNOWN that the release cannot
even export (by index.json of the corpus). Prints a line for each difference and one for each release; the exit status is 1 if
anything differs.
"""

import re
import sys

from convert_matrix import KNOWN, ORIGINALS, corpus_files, given_pythons, read_json, run_all, write_json

LONGEST = 160


def first_line(error):
    """Returns the part of an error that is the same on all machines and in all runs."""
    line = next((each.strip() for each in error.splitlines() if each.strip()), "")
    line = re.sub(r"(?<![\w.])/[\w./+-]*/(?=\w)", "", line)  # folders
    line = re.sub(r"<eval_with_key>\.\d+", "<eval_with_key>", line)
    line = re.sub(r"\b0x[0-9a-f]+\b", "0x...", line)
    return line if len(line) <= LONGEST else line[: LONGEST - 3] + "..."


def failures(python, files):
    """Returns {program: {"stage", "error"}}."""
    programs = {str(each): each.stem for each in files}
    results = run_all(python, [(each, each.with_suffix(".safetensors")) for each in files])
    return {
        programs[each["file"]]: {"stage": each["stage"], "error": first_line(each["error"])}
        for each in results
        if not each["ok"]
    }


def not_exported(folder):
    """Returns the same for programs that the release could not export, for the reason in KNOWN (from the index)."""
    skipped = read_json(folder / "index.json").get("skipped", {})
    return {
        program: {"stage": "export", "error": first_line(skipped[program])}
        for _, _, program, part in KNOWN
        if part in skipped.get(program, "")
    }


def differences(files, found, recorded):
    """Compares without the error texts, which also depend on the Python version."""
    for program in sorted({each.stem for each in files}):
        if program in found and program not in recorded:
            yield f"{program} fails at {found[program]['stage']}: {found[program]['error']}"
        elif program in recorded and program not in found:
            yield f"{program} runs, expected a failure: {recorded[program]['error']}"


def main():
    options = [each for each in sys.argv[1:] if each.startswith("--")]
    arguments = [each for each in sys.argv[1:] if not each.startswith("--")]
    if set(options) - {"--record"}:
        sys.exit(__doc__.strip())
    originals = read_json(ORIGINALS)
    differ = 0
    for release, python in given_pythons(arguments).items():
        files = corpus_files(release)
        found = failures(python, files)
        if "--record" in options:
            fails = found | not_exported(files[0].parent)
            originals[release] = {"files": len(files), "fails": dict(sorted(fails.items()))}
        recorded = originals.get(release, {}).get("fails", {})
        for each in differences(files, found, recorded):
            differ += 1
            print(f"FAIL {release}: {each}")
        print(f"{release}: {len(files)} files, {len(found)} fail in the PyTorch that wrote them", flush=True)
    if "--record" in options:
        write_json(ORIGINALS, originals)
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
