"""What pt2 answers with: plain named tuples."""

from __future__ import annotations

from typing import NamedTuple, Optional, Union

Size = Union[int, tuple[int, Optional[int]]]


class Place(NamedTuple):
    """An input or output. `shape` has a number for each dimension, or (least, greatest) where the
    size may vary (None: no bound); it is None for what is no tensor."""

    name: str
    type: str
    dtype: Optional[str]
    shape: Optional[tuple[Size, ...]]
    is_keyword: bool


class Finding(NamedTuple):
    """A broken rule: "V103", where, and the node that it is about, if any."""

    rule: str
    name: str
    severity: str
    place: str
    text: str
    node: str


class Blocker(NamedTuple):
    """Why a release cannot have a program. `loss` is what to name in `losses` to do without."""

    kind: str
    loss: str
    text: str
    place: str
    first_release: str


class Conversion(NamedTuple):
    """What convert() did: nothing was written when there are blockers."""

    release: str
    blockers: list[Blocker]
    lost: list[Blocker]


class Generated(NamedTuple):
    """New tokens, a stop id among them, and why there are no more: "max_new_tokens", "stop_id",
    "cache_full", "callback"."""

    tokens: list[int]
    reason: str


class OperatorUse(NamedTuple):
    target: str
    calls: int
    has_kernel: bool
