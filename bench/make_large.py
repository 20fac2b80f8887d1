"""Write a program with weights of any size, sparse or random, from a small real one. Needs nothing but Python.

    python3 make_large.py SMALL.pt2 LARGE.pt2 GIGABYTES [--sparse]

SMALL is tests/data/corpus/2.15.0/mlp.pt2: two linear layers around a hidden dimension of 16, which is enlarged until the
file has the wanted size. Records are laid out as PyTorch does it; random bytes repeat every 64 MB.
"""

import argparse
import os
import re
import struct
import zipfile
import zlib

HIDDEN, SCALED_BYTES = 16, 832  # the hidden dimension of SMALL, and the bytes of its tensors that grow with it
BLOCK = 1 << 26


class SparseFile:
    """A file in which written zeros become a hole."""

    def __init__(self, path):
        self.file = open(path, "wb")

    def write(self, data):
        if len(data) > 4096 and data == ZEROS[:len(data)]:
            self.file.seek(len(data), os.SEEK_CUR)
        else:
            self.file.write(data)
        return len(data)

    def __getattr__(self, name):
        return getattr(self.file, name)


ZEROS = bytes(BLOCK)


def entry(name, offset, size):
    info = zipfile.ZipInfo(name)
    # The content starts at a multiple of 64; a ZIP64 field of 20 bytes precedes the padding.
    start = offset + 30 + len(name) + 20 + 4
    padding = -start % 64
    info.extra = b"FB" + struct.pack("<H", padding) + b"Z" * padding
    info.file_size = size
    return info


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("small")
    parser.add_argument("large")
    parser.add_argument("gigabytes", type=float)
    parser.add_argument("--sparse", action="store_true")
    options = parser.parse_args()
    factor = int(options.gigabytes * 1e9) // SCALED_BYTES
    block = ZEROS if options.sparse else os.urandom(BLOCK)
    with zipfile.ZipFile(options.small) as small, zipfile.ZipFile(SparseFile(options.large), "w") as large:
        for info in small.infolist():
            content = small.read(info)
            is_scaled = re.search(r"weight_[012]$", info.filename) is not None
            size = len(content) * factor if is_scaled else len(content)
            if info.filename.endswith((".json")):
                content = content.replace(b'{"as_int": %d}' % HIDDEN, b'{"as_int": %d}' % (HIDDEN * factor))
                size = len(content)
            with large.open(entry(info.filename, large.fp.tell(), size), "w", force_zip64=True) as out:
                if is_scaled:
                    for start in range(0, size, BLOCK):
                        out.write(block if size - start >= BLOCK else block[:size - start])
                else:
                    out.write(content)


if __name__ == "__main__":
    main()
