"""Text generation, against the tokens of model.generate that lie beside the programs."""

from __future__ import annotations

import json
import pathlib

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

    def refuse(token: int) -> None:
        raise LookupError(token)

    with pytest.raises(LookupError):
        decoder.generate(call["prompt"], on_token=refuse)
    assert decoder.generate(call["prompt"], max_new_tokens=1).tokens == call["tokens"][:1]


def test_errors(folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    with pytest.raises(pt2.Error):
        pt2.Decoder(tmp_path)
    decoder = pt2.Decoder(folder)
    with pytest.raises(pt2.ArgumentError):
        decoder.generate([])
    with pytest.raises(TypeError):
        decoder.feed(["one"])  # type: ignore[list-item]
