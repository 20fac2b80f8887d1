"""The `pt2` command, which is implemented in C++."""

from __future__ import annotations

import sys

from . import _native


def main() -> int:
    return _native.command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
