"""Containers of results that are not a plain list, tuple or dict. Classes named in a program are
never looked up: a named tuple or dataclass comes back as a named tuple of its fields."""

from __future__ import annotations

import collections
import keyword
from typing import Any, Callable, Iterable


def ordered_dict(keys: Iterable[Any], items: Iterable[Any]) -> Any:
    return collections.OrderedDict(zip(keys, items))


def default_dict(keys: Iterable[Any], items: Iterable[Any]) -> Any:
    return collections.defaultdict(None, zip(keys, items))


def deque(items: Iterable[Any]) -> Any:
    return collections.deque(items)


def record(type_name: str, fields: list[str], none_fields: list[str]) -> Callable[[list[Any]], Any]:
    """Returns a function that makes a value of the class from its fields in order; a field without
    a leaf is None."""
    if not fields:
        return tuple
    name = type_name.rpartition(".")[2]
    every = [*fields, *none_fields]
    made: Any = collections.namedtuple(  # type: ignore[misc]
        name if name.isidentifier() and not keyword.iskeyword(name) else "Record", every, rename=True
    )
    return lambda items: made(*items, *(None for _ in none_fields))
