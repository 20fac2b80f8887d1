#!/usr/bin/env python3
"""Makes .pt2 files of the test data smaller by compressing the program's JSON, which PyTorch can still read.

    shrink_archive.py FILE...

Other records stay as they are, at multiples of 64 bytes. To remove stack traces, use `pt2 strip --metadata`.
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
                # A header of 30 bytes, the name, the header of the padding field.
                begin = archive.fp.tell() + 30 + len(name) + 4
                entry.extra = b"FB" + (padding := -begin % ALIGNMENT).to_bytes(2, "little") + b"Z" * padding
            archive.writestr(entry, data)


for argument in sys.argv[1:]:
    shrink(pathlib.Path(argument))
