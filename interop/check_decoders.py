#!/usr/bin/env python3
"""Does `pt2 generate` give the tokens of model.generate?

    check_decoders.py PT2 FOLDER...

Each FOLDER is one that make_decoders.py made (tokens.json has the prompt and the tokens). Prints a line a folder, and a
table in Markdown; exit 1 where tokens differ. Needs no PyTorch.
"""

import json
import pathlib
import subprocess
import sys
import time


def check(pt2, folder):
    wanted = json.loads((folder / "tokens.json").read_text())
    command = [pt2, "generate", str(folder), "--greedy", "--json", "--ids", ",".join(map(str, wanted["prompt"])),
               "--max-new", str(len(wanted["tokens"])), "--stop", ""]
    start = time.time()
    done = subprocess.run(command, capture_output=True, text=True)
    seconds = time.time() - start
    if done.returncode:
        return 0, len(wanted["tokens"]), seconds, done.stderr.strip().splitlines()[-1][:200]
    answer = json.loads(done.stdout)
    equal = 0
    for ours, theirs in zip(answer["tokens"], wanted["tokens"]):
        if ours != theirs:
            break
        equal += 1
    return equal, len(wanted["tokens"]), seconds, f"shared weights {answer['shared_weight_bytes'] / 1e3:.0f} kB"


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    rows, failed = [], 0
    for folder in map(pathlib.Path, sys.argv[2:]):
        equal, count, seconds, note = check(sys.argv[1], folder)
        failed += equal != count
        rows.append(f"| {folder.name} | {equal} of {count} | {seconds:.1f} | {note} |")
        print(f"{'ok  ' if equal == count else 'FAIL'} {folder.name}: {equal} of {count}, {note}", flush=True)
    print("\n| folder | equal tokens | seconds | |\n|---|---|---|---|\n" + "\n".join(rows))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
