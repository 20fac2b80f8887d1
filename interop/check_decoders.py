#!/usr/bin/env python3
"""Does `pt2 generate` give the tokens of model.generate?

    check_decoders.py PT2 FOLDER...

Each FOLDER was made by make_decoders.py or make_encoder_decoders.py (tokens.json has prompts, tokens, and the encoder's
inputs). Prints a table in Markdown: the number of equal tokens before the first that differs; for a batch, in all of its
texts. Exits with 1 if a token differs. Needs no PyTorch.
"""

import json
import pathlib
import subprocess
import sys
import time


def equal_tokens(ours, theirs):
    for count, (our, their) in enumerate(zip(ours, theirs)):
        if our != their:
            return count
    return min(len(ours), len(theirs))


def check_call(pt2, folder, call):
    """Returns the number of equal tokens before the first that differs, the number of tokens, and pt2's error or reasons
    to stop early."""
    prompts = call["prompts"] if "prompts" in call else [call["prompt"]]
    wanted = call["tokens"] if "prompts" in call else [call["tokens"]]
    count = sum(map(len, wanted))
    command = [pt2, "generate", str(folder), "--greedy", "--json", "--max-new", str(len(wanted[0])), "--stop", "none"]
    for prompt in prompts:
        command += ["--ids", ",".join(map(str, prompt))]
    for name, value in call.get("inputs", {}).items():
        command += ["-i", f"{name}={json.dumps(value)}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return 0, count, done.stderr.strip().splitlines()[-1][:160]
    answer = json.loads(done.stdout)
    texts = answer.get("sequences", [answer])
    notes = {text["stopped_by"] for text in texts} - {"max_new_tokens"}
    return sum(equal_tokens(text["tokens"], ids) for text, ids in zip(texts, wanted)), count, " ".join(notes)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    rows, failed = [], 0
    for folder in map(pathlib.Path, sys.argv[2:]):
        calls = json.loads((folder / "tokens.json").read_text())["calls"]
        start = time.time()
        found = [check_call(sys.argv[1], folder, call) for call in calls]
        seconds = time.time() - start
        failed += any(equal != count for equal, count, _ in found)
        texts = [f"{equal}/{count}{' ' + note if note else ''}" for equal, count, note in found]
        rows.append(f"| {folder.name} | {' | '.join(texts)} | {seconds:.1f} |")
        print(rows[-1], flush=True)
    prompts = " | ".join(
        f"{len(call['prompts'])} prompts" if "prompts" in call else f"prompt of {len(call['prompt'])}" for call in calls)
    print(f"\n| folder | {prompts} | seconds |\n|---|{'---|' * len(calls)}---|\n" + "\n".join(rows))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
