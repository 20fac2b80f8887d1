#!/usr/bin/env python3
"""Generation of one token per call: `PYTHON bench/decode_bench.py build/release/tools/pt2 [FOLDER]`.

Exports a Llama of 111 million parameters with random weights (Transformers; float32 and bfloat16, with a dynamic cache
and a static one of 2,108 places) into FOLDER, if it is not there. Prints the time of one more token after 20 and after
2,000 others, with one thread and two: the fastest of 40 steps of `pt2 generate --time`, over several rounds. GB/s counts
the bytes of weights that a token reads, without the embedding table. NumPy's maximum gives the bandwidth to compare with.
"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import time

import numpy

VOCABULARY, WIDTH, PLACES = 8192, 1024, 2100
SIZES = dict(vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=8, num_attention_heads=16, num_key_value_heads=8,
             intermediate_size=2816, max_position_embeddings=4096, tie_word_embeddings=False)
PARAMETERS = 111_166_464
BYTES = {"float32": 4, "bfloat16": 2}
CACHES = ("dynamic", "static")


def export(folder):
    sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "interop"))
    import make_decoders
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    for dtype in BYTES:
        config = AutoConfig.for_model("llama", **SIZES)
        config.eos_token_id = config.bos_token_id = None
        model = AutoModelForCausalLM.from_config(config).eval().to(getattr(torch, dtype))
        model.generation_config.eos_token_id = None
        assert sum(each.numel() for each in model.parameters()) == PARAMETERS
        for cache in CACHES:
            if not (folder / f"{dtype}-{cache}" / "decode.pt2").exists():
                (folder / f"{dtype}-{cache}").mkdir(parents=True, exist_ok=True)
                make_decoders.export(model, cache, PLACES, folder / f"{dtype}-{cache}")


def step_seconds(pt2, folder, prompt, threads, steps=40):
    """Returns the time of the fastest step after the prompt."""
    command = [pt2, "generate", str(folder), "--ids", prompt, "--greedy", "--threads", str(threads), "--max-new", str(steps)]
    answer = subprocess.run([*command, "--time", "--json"], check=True, capture_output=True)
    return min(json.loads(answer.stdout)["times"]["step_seconds"])


def bandwidth(count):
    """Returns the bytes per second that one thread can read."""
    numbers = numpy.ones(count // 4, numpy.float32)
    best = None
    for _ in range(5):
        begin = time.perf_counter()
        numbers.max()
        seconds = time.perf_counter() - begin
        best = seconds if best is None else min(best, seconds)
    return count / best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pt2")
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path("build/bench/llama"))
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    if not all((arguments.folder / f"{dtype}-{cache}" / "decode.pt2").exists() for dtype in BYTES for cache in CACHES):
        export(arguments.folder)
    numbers = random.Random(1)
    long = ",".join(str(numbers.randrange(VOCABULARY)) for _ in range(1990))
    print(f"one thread reads {bandwidth(400 << 20) / 1e9:.1f} GB/s\n")
    print("| weights | cache | threads | behind 20, ms | GB/s | behind 2,000, ms | ratio |")
    print("|---|---|---|---|---|---|---|")
    for dtype, size in BYTES.items():
        weights = (PARAMETERS - VOCABULARY * WIDTH) * size
        for cache in CACHES:
            folder = arguments.folder / f"{dtype}-{cache}"
            for threads in (1, 2):
                rounds = [[step_seconds(arguments.pt2, folder, prompt, threads) for prompt in ("5,17,99", long)]
                          for _ in range(arguments.rounds)]
                short, far = map(min, zip(*rounds))
                print(f"| {dtype} | {cache} | {threads} | {short * 1e3:.1f} | {weights / short / 1e9:.1f} | {far * 1e3:.1f} "
                      f"| {far / short:.2f} |", flush=True)


if __name__ == "__main__":
    main()
