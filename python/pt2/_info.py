"""The results of pt2's functions: plain named tuples."""

from __future__ import annotations

from typing import NamedTuple, Optional, Union

Size = Union[int, tuple[int, Optional[int]]]


class Place(NamedTuple):
    """An input or output. `shape` has a number for each dimension, or (least, greatest) if the
    size may vary (None: no bound). `shape` is None if the input or output is not a tensor."""

    name: str
    type: str
    dtype: Optional[str]
    shape: Optional[tuple[Size, ...]]
    is_keyword: bool


class Finding(NamedTuple):
    """A violated rule: its number such as "V103", the place, and the node concerned, if any."""

    rule: str
    name: str
    severity: str
    place: str
    text: str
    node: str


class Blocker(NamedTuple):
    """A reason why a release cannot have a program. `loss` is the name to put into `losses` to
    accept the loss."""

    kind: str
    loss: str
    text: str
    place: str
    first_release: str


class Conversion(NamedTuple):
    """The result of convert(). If there are blockers, nothing was written."""

    release: str
    blockers: list[Blocker]
    lost: list[Blocker]


class Generated(NamedTuple):
    """The new tokens, including a stop id, and why generation stopped: "max_new_tokens", "stop_id",
    "cache_full", "callback"."""

    tokens: list[int]
    reason: str


class OperatorUse(NamedTuple):
    target: str
    calls: int
    has_kernel: bool
