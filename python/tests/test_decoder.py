"""Text generation, compared with the tokens of model.generate stored beside the programs."""

from __future__ import annotations

import json
import pathlib
import types

import numpy as np
import pytest

import pt2

FOLDERS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "data" / "decoders"


@pytest.fixture(params=["dynamic", "static"])
def folder(request: pytest.FixtureRequest) -> pathlib.Path:
    return FOLDERS / str(request.param)


def calls(folder: pathlib.Path) -> list[dict[str, list[int]]]:
    found: list[dict[str, list[int]]] = json.loads((folder / "tokens.json").read_text())["calls"]
    return found


def test_gives_the_tokens_of_transformers(folder: pathlib.Path) -> None:
    decoder = pt2.Decoder(folder)
    for call in calls(folder):
        wanted = call["tokens"]
        found = decoder.generate(call["prompt"], max_new_tokens=len(wanted), stop_ids=[])
        assert found == pt2.Generated(wanted, "max_new_tokens")


def test_feeds_and_forgets(folder: pathlib.Path) -> None:
    call = calls(folder)[0]
    decoder = pt2.Decoder(folder, engine="reference", threads=1)
    logits = memoryview(decoder.feed(call["prompt"]).numpy())
    assert max(range(len(logits)), key=lambda token: logits[token]) == call["tokens"][0]
    assert decoder.position == len(call["prompt"])
    decoder.reset()
    assert decoder.position == 0


def test_callbacks_end_and_raise(folder: pathlib.Path) -> None:
    call = calls(folder)[0]
    decoder = pt2.Decoder(folder)
    told: list[int] = []

    def note(token: int) -> bool:
        told.append(token)
        return len(told) < 3

    assert decoder.generate(call["prompt"], stop_ids=[], on_token=note).reason == "callback"
    assert told == call["tokens"][:3]

    # A comparison with a number of NumPy gives np.False_, which is not False.
    last = np.int64(call["tokens"][2])
    assert decoder.generate(call["prompt"], stop_ids=[], on_token=lambda token: token != last).reason == "callback"

    def refuse(token: int) -> None:
        raise LookupError(token)

    with pytest.raises(LookupError):
        decoder.generate(call["prompt"], on_token=refuse)
    assert decoder.generate(call["prompt"], max_new_tokens=1).tokens == call["tokens"][:1]


def test_errors(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(pt2.Error):
        pt2.Decoder(tmp_path)
    with pytest.raises(pt2.LimitError):
        pt2.Decoder(folder, limits=types.MappingProxyType({"max_json_depth": 1}))
    with pytest.raises(pt2.ArgumentError, match="cache_length of -1, expected 1 or more"):
        pt2.Decoder(folder, cache_length=-1)
    with pytest.raises(pt2.ArgumentError, match="expected Operators"):
        pt2.Decoder(folder, operators=3)  # type: ignore[arg-type]
    decoder = pt2.Decoder(folder)
    with pytest.raises(pt2.ArgumentError):
        decoder.generate([])
    with pytest.raises(TypeError):
        decoder.feed(["one"])  # type: ignore[list-item]
    with pytest.raises(pt2.ArgumentError, match="^token 1: .*beyond int64"):
        decoder.feed([1, 2**63])


def test_looks_at_what_an_encoder_made() -> None:
    folder = FOLDERS / "encoder"
    decoder = pt2.Decoder(folder)
    assert decoder.given_names == ["input_ids", "attention_mask"]
    numpy = pytest.importorskip("numpy")
    found = json.loads((folder / "tokens.json").read_text())["calls"]
    for call in found:
        decoder.give({name: numpy.array(rows) for name, rows in call["inputs"].items()})
        wanted = pt2.Generated(call["tokens"], "max_new_tokens")
        assert decoder.generate(call["prompt"], max_new_tokens=len(call["tokens"]), stop_ids=[]) == wanted
    with pytest.raises(pt2.ArgumentError):
        decoder.give({"pixels": numpy.zeros((1, 3))})
    decoder.give({"input_ids": numpy.array(found[1]["inputs"]["input_ids"])})
    # The text begins with decoder_start_token_id, which is also the prompt of the second call.
    assert decoder.generate(stop_ids=[], max_new_tokens=5).tokens == found[1]["tokens"][:5]


def test_computes_several_prompts(folder: pathlib.Path) -> None:
    decoder = pt2.Decoder(folder)
    wanted = calls(folder)
    told: list[tuple[int, int]] = []
    found = decoder.generate_batch(
        [call["prompt"] for call in wanted],
        max_new_tokens=6,
        stop_ids=[],
        on_token=lambda prompt, token: told.append((prompt, token)),
    )
    assert [each.tokens for each in found] == [call["tokens"][:6] for call in wanted]
    assert [token for prompt, token in told if prompt == 1] == wanted[1]["tokens"][:6]
