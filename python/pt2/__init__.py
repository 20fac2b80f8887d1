"""Runs, checks and converts PyTorch's exported programs (.pt2) without PyTorch.

    import pt2
    model = pt2.load("digits.pt2")
    result = model(image)["logits"]   # NumPy arrays in, NumPy arrays out; torch tensors likewise
"""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, Optional, Sequence, Union

from . import _main_interpreter, _native
from ._errors import (
    ArgumentError,
    CancelledError,
    CorruptError,
    Error,
    FileError,
    InvalidError,
    LimitError,
    MalformedError,
    UnsupportedError,
)
from ._info import Blocker, Conversion, Finding, Generated, OperatorUse, Place
from ._native import Decoder, Model, Operators, Session, Tensor

__all__ = [
    "ArgumentError", "Blocker", "CancelledError", "Conversion", "CorruptError", "Decoder", "Error",
    "FileError", "Finding", "Generated", "InvalidError", "LimitError", "MalformedError", "Model", "OperatorUse",
    "Operators", "Place", "Session", "Tensor", "UnsupportedError", "convert", "dis", "json", "load",
    "operators", "verify",
]  # fmt: skip

__version__: str = _native.version

Path = Union[str, "os.PathLike[str]"]
Limits = Optional[Mapping[str, int]]


def load(
    source: Union[Path, bytes],
    *,
    program: str = "",
    engine: str = "planned",
    limits: Limits = None,
    operators: Optional[Operators] = None,
) -> Model:
    """Loads a model from a file, whose weights stay mapped, or from bytes.

    `program` names one program of a file with several; `engine` is "planned" or "reference" (exact
    and slow); `limits` raises safety limits ({"max_work": 10**12}) for a file that you trust.
    Raises the errors of opening a file, and UnsupportedError naming every operator that cannot be
    computed."""
    options: dict[str, Any] = {"program": program, "engine": engine}
    if limits is not None:
        options["limits"] = dict(limits)
    if operators is not None:
        options["operators"] = operators
    return _load_again(source, options)


def _load_again(source: Union[Path, bytes], options: dict[str, Any]) -> Model:
    if isinstance(source, bytes):
        return _native.load_bytes(source, options)
    return _native.load_path(source, options)


def verify(
    path: Path,
    *,
    level: str = "full",
    limits: Limits = None,
    progress: Optional[Callable[[int, int], None]] = None,
) -> list[Finding]:
    """Returns every fault of a file, up to a level: "container", "schema", "graph", "full". The
    list is empty if the file is intact. `progress` is called with the bytes done and the total."""
    return _native.verify(os.fspath(path), level, _plain(limits), progress)


def convert(
    path: Path, output: Path, release: str = "", *, losses: Sequence[str] = (), limits: Limits = None
) -> Conversion:
    """Writes the file for another release of PyTorch: "torch-2.6", "newest", "oldest", or a schema,
    "schema 8.14". If that is impossible, nothing is written and `blockers` says why."""
    made = _native.convert(
        os.fspath(path), os.fspath(output), release, list(losses), _plain(limits)
    )
    return Conversion(*made)


def json(path: Path, *, program: str = "", pretty: bool = False, limits: Limits = None) -> str:
    """Returns the program's JSON as it is in the file."""
    return _native.json(os.fspath(path), program, pretty, _plain(limits))


def dis(path: Path, *, program: str = "", metadata: bool = False, limits: Limits = None) -> str:
    """Returns the program as text, one line per node; with stack traces if `metadata`."""
    return _native.dis(os.fspath(path), program, metadata, _plain(limits))


def operators(path: Path, *, program: str = "", limits: Limits = None) -> list[OperatorUse]:
    """Returns the operators that a program calls, most called first, and whether they can run."""
    return _native.operators(os.fspath(path), program, _plain(limits))


def _plain(limits: Limits) -> Optional[dict[str, int]]:
    return None if limits is None else dict(limits)
