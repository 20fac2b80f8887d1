#!/usr/bin/env python3
"""Writes .pt2 files smaller, for the test data: the program's JSON compressed, as PyTorch reads it, too.

    shrink_archive.py FILE...

Other records stay as they are, at multiples of 64 bytes; stack traces are `pt2 strip --metadata`'s to leave out.
"""

import pathlib
import sys
import zipfile

ALIGNMENT = 64


def shrink(path):
    with zipfile.ZipFile(path) as archive:
        records = [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in records:
            entry = zipfile.ZipInfo(name)
            if name.endswith(".json"):
                entry.compress_type = zipfile.ZIP_DEFLATED
            else:
                # A header of 30 bytes, the name, the header of the padding.
                begin = archive.fp.tell() + 30 + len(name) + 4
                entry.extra = b"FB" + (padding := -begin % ALIGNMENT).to_bytes(2, "little") + b"Z" * padding
            archive.writestr(entry, data)


for argument in sys.argv[1:]:
    shrink(pathlib.Path(argument))
