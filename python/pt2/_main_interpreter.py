"""Refuses every interpreter of a process but the main one.

Loading the native module in another one would replace the state that the classes of the first need,
so this comes before it."""

from __future__ import annotations

try:
    import _interpreters as interpreters  # type: ignore[import-not-found]  # Python 3.13 on
except ImportError:
    try:
        import _xxsubinterpreters as interpreters  # type: ignore[import-not-found]
    except ImportError:
        interpreters = None

if interpreters is not None and interpreters.get_current() != interpreters.get_main():
    raise ImportError("pt2 can only be imported in the main interpreter of a process")
