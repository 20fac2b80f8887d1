"""Code shared by make_decoders.py and make_encoder_decoders.py: weights, the command line, a folder for each model."""

import argparse
import json
import pathlib
import sys
import time
import traceback

# A package that was built for another CUDA fails on import; no text model needs these packages.
sys.modules["torchaudio"] = None
sys.modules["torchao"] = None

import torch


def spread_weights(model, factor):
    """Multiplies the weights by factor: with the small initial weights of models, all scores are alike."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(factor)


def different_tokens(calls):
    texts = [text for call in calls for text in (call["tokens"] if "prompts" in call else [call["tokens"]])]
    return [len(set(text)) for text in texts]


def make_folders(doc, architectures, caches, make_model, make_calls, export):
    """Parses the command line, whose help is doc. For each chosen model and cache, makes OUT/NAME-CACHE, with the result
    of make_calls(model, cache, new_tokens) as tokens.json. Returns the exit code: 1 if a folder was not made.
    """
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("architectures", nargs="*", metavar="ARCHITECTURE", help=f"of {', '.join(architectures)}")
    parser.add_argument("--cache", action="append", choices=caches,
                        help="; ".join(f"{name}: {text}" for name, text in caches.items()))
    parser.add_argument("--new-tokens", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0, help="of the weights")
    parser.add_argument("--seeds", type=int, default=1, help="of so many, the one whose texts have the most different tokens")
    parser.add_argument("--tokens-only", action="store_true", help="the programs are there already")
    options = parser.parse_args()
    failed = 0
    for architecture in options.architectures or [name for name in architectures if not name.startswith("tiny")]:
        for cache in options.cache or ["dynamic", "static"]:
            start = time.time()
            folder = options.out / f"{architecture}-{cache}"
            try:
                models = [make_model(architecture, options.seed + i) for i in range(options.seeds)]
                # A text that repeats one token is a weak test.
                model = max(models, key=lambda each: len(models) > 1 and min(different_tokens(make_calls(each, cache, 32))))
                calls = make_calls(model, cache, options.new_tokens)
                folder.mkdir(parents=True, exist_ok=True)
                if not options.tokens_only:
                    export(model, cache, options.new_tokens, folder)
                (folder / "tokens.json").write_text(json.dumps({"calls": calls}) + "\n")
                print(f"{folder.name}: {different_tokens(calls)} different tokens, {time.time() - start:.0f} s", flush=True)
            except Exception as error:
                failed += 1
                print(f"{folder.name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
                traceback.print_exc(file=sys.stderr)
    return 1 if failed else 0
