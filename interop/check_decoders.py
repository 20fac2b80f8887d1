#!/usr/bin/env python3
"""Does `pt2 generate` give the tokens of model.generate?

    check_decoders.py PT2 FOLDER...

Each FOLDER is one that make_decoders.py made (tokens.json has prompts and tokens). Prints a
table in Markdown: how many tokens are equal until the first that differs; exit 1 where one does. Needs no PyTorch.
"""

import json
import pathlib
import subprocess
import sys
import time


def check_call(pt2, folder, call):
    """How many tokens are equal until the first that differs, and what pt2 says."""
    command = [pt2, "generate", str(folder), "--greedy", "--json", "--ids", ",".join(map(str, call["prompt"])),
               "--max-new", str(len(call["tokens"])), "--stop", ""]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return 0, done.stderr.strip().splitlines()[-1][:160]
    answer = json.loads(done.stdout)
    equal = 0
    for ours, theirs in zip(answer["tokens"], call["tokens"]):
        if ours != theirs:
            break
        equal += 1
    return equal, "" if answer["stopped_by"] == "max_new_tokens" else answer["stopped_by"]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    rows, failed = [], 0
    for folder in map(pathlib.Path, sys.argv[2:]):
        calls = json.loads((folder / "tokens.json").read_text())["calls"]
        start = time.time()
        found = [check_call(sys.argv[1], folder, call) for call in calls]
        seconds = time.time() - start
        failed += any(equal != len(call["tokens"]) for (equal, _), call in zip(found, calls))
        texts = [f"{equal}/{len(call['tokens'])}{' ' + note if note else ''}" for (equal, note), call in zip(found, calls)]
        rows.append(f"| {folder.name} | {' | '.join(texts)} | {seconds:.1f} |")
        print(rows[-1], flush=True)
    prompts = " | ".join(f"prompt of {len(call['prompt'])}" for call in calls)
    print(f"\n| folder | {prompts} | seconds |\n|---|{'---|' * len(calls)}---|\n" + "\n".join(rows))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
