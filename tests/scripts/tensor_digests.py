"""Lists every tensor in a corpus of .pt2 files as PyTorch loads it, for tests that must not need PyTorch.

    python tests/scripts/tensor_digests.py OUT.jsonl CORPUS/2.1.2 [CORPUS/2.2.2 ...]

Needs interop/requirements.txt. The first line of OUT names the columns; then one line per program:

    release, file, program   the folder's name, the file's name, the program's name in the archive
    loader                   the loader: torch.load (2.1 - 2.8), load_pt2 (2.9 -), or records: load_pt2 refused,
                             for the given `reason`, and the tensors come from the raw records and their description
    weights, constants, sample_inputs    a row per tensor, in PyTorch's order; left out where there is none
    objects                  [payload, name, class] of each value that is not a strided tensor; left out if there is none
    errors                   [payload, text] of each payload that PyTorch could not read; left out if there is none

`storage` numbers the storages of one payload: equal numbers share memory. `crc32` is the CRC-32 of the elements in
row-major order. The name of a sample input is its path in (args, kwargs); its rows and objects are in flattened order.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "interop"))
import torch
from torch_tensors import PAYLOADS, read_file

COLUMNS = (
    "name", "dtype", "sizes", "strides", "storage_offset", "storage_bytes", "storage", "requires_grad", "is_parameter", "crc32",
)  # fmt: skip


def line(release, file, program):
    entry = {"release": release, "file": file, "program": program.name, "loader": program.loader}
    if program.reason:
        entry["reason"] = program.reason
    for payload in PAYLOADS:
        if program.tensors[payload]:
            entry[payload] = [[int(t[c]) if isinstance(t[c], bool) else t[c] for c in COLUMNS] for t in program.tensors[payload]]
    for key in ("objects", "errors"):
        if getattr(program, key):
            entry[key] = getattr(program, key)
    return entry


def write(out, value):
    out.write(json.dumps(value, separators=(",", ":"), ensure_ascii=False) + "\n")


def main():
    out_path, folders = sys.argv[1], sys.argv[2:]
    files = tensors = objects = errors = refused = 0
    with open(out_path, "w", encoding="utf-8") as out:
        write(out, {"torch": torch.__version__, "columns": COLUMNS})
        for folder in map(Path, folders):
            for path in sorted(folder.glob("*.pt2")):
                files += 1
                for program in read_file(str(path)):
                    write(out, line(folder.name, path.name, program))
                    tensors += sum(map(len, program.tensors.values()))
                    objects += len(program.objects)
                    errors += len(program.errors)
                    refused += bool(program.reason)
                    for payload, text in program.errors:
                        print(f"{folder.name}/{path.name}: {payload}: {text}")
            print(f"{folder.name}: done", file=sys.stderr)
    print(f"{files} files, {tensors} tensors, {objects} objects, {refused} programs not loaded by load_pt2, {errors} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
