"""The `pt2` command, which is implemented in C++."""

from __future__ import annotations

import signal
import sys

from . import _native


def main() -> int:
    # Python only takes note of Ctrl-C while the command runs; so it ends the command at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _native.command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
