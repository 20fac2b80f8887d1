"""Decodes the program JSON of a .pt2 file as torch does; one decode for each line on stdin (see rounds.py).

    python torch_worker.py python|cpp FILE
"""

import gc
import sys
import time
import zipfile

import torch
from torch._export.serde import schema, serialize


def program_json(path):
    with zipfile.ZipFile(path) as archive:
        name = next(n for n in archive.namelist() if "/models/" in n or n == "serialized_exported_program.json")
        return archive.read(name)


def decoder(kind, text):
    if kind == "python":  # the decoder of torch.export.load
        return lambda: serialize._bytes_to_dataclass(schema.ExportedProgram, text)
    decoded = text.decode()
    return lambda: torch._C._export.deserialize_exported_program(decoded)


def main():
    kind, path = sys.argv[1:]
    text = program_json(path)
    decode = decoder(kind, text)
    print(len(text), flush=True)
    for _ in sys.stdin:
        gc.collect()
        start, busy_before = time.perf_counter(), time.process_time()
        program = decode()
        print(time.perf_counter() - start, time.process_time() - busy_before, flush=True)
        del program


if __name__ == "__main__":
    main()
