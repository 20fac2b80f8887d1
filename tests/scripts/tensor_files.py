"""Writes tests/data/tensor_files: small arrays as NumPy and the safetensors library write them; and, beside it,
checkpoints: weights for corpus/2.15.0/mlp.pt2 as trainings and Hugging Face store them.

    python tests/scripts/tensor_files.py FOLDER

Needs ml_dtypes, numpy, safetensors and torch. Every array counts up from 0, row by row.
"""

import argparse
import json
import struct
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import torch
from safetensors.numpy import load_file, save_file

DTYPES = "u1 i1 i2 i4 i8 f2 f4 f8 c8 c16 u2 u4 u8".split()


def count(dtype, *shape, order="C"):
    return np.arange(int(np.prod(shape))).astype(dtype).reshape(shape).copy(order=order)


def save(path, array, version=None, allow_pickle=False):
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, version=version, allow_pickle=allow_pickle)


def save_checkpoints(folder):
    """torch.save as before 1.6; a checkpoint with classes that no one should load; one with two state dicts; shards."""
    folder.mkdir(exist_ok=True)
    sizes = {"fc1.weight": (16, 8), "fc1.bias": (16,), "fc2.weight": (4, 16), "fc2.bias": (4,)}
    weights = {name: torch.from_numpy(count("f4", *size)) for name, size in sizes.items()}
    torch.save(weights, folder / "legacy.pt", _use_new_zipfile_serialization=False)
    halves = {f"module.{name}": weight.to(torch.bfloat16) for name, weight in weights.items()}
    training = {"epoch": torch.tensor(3), "args": argparse.Namespace(lr=0.1), "best": np.float64(0.5)}
    torch.save({"state_dict": halves, "optimizer": {"state": {}, "param_groups": []}, **training}, folder / "training.pt")
    torch.save({"state_dict": weights, "state_dict_ema": weights}, folder / "averaged.pt")
    names, files = list(sizes), ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
    for shard, file in (names[:2], files[0]), (names[2:], files[1]):
        save_file({name: weights[name].numpy() for name in shard}, folder / file, {"format": "pt"})
    weight_map = {name: files[i // 2] for i, name in enumerate(names)}
    index = {"metadata": {"total_size": 848}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")


def save_wrong_calls(path, recorded):
    """Writes calls of corpus/2.15.0/dtypes_int.pt2 with wrong results: one call for each thing that can differ."""
    tensors = load_file(recorded)
    with open(recorded, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    calls = json.loads(header["__metadata__"]["calls"])[:1]
    inputs, outputs = calls[0]["in"], calls[0]["out"]
    tensors["value"] = tensors["call0.out.0"] + np.array([0, 0, 1], "i1")
    tensors["dtype"] = tensors["call0.out.0"].astype("<i4")
    tensors["sizes"] = tensors["call0.out.0"][:2]
    replaced = [{"in": inputs, "out": [{"tensor": name}] + outputs[1:]} for name in ("value", "dtype", "sizes")]
    others = [
        {"in": inputs, "out": [{"int": 3}] + outputs[1:]},
        {"in": inputs, "out": outputs[1:]},
        {"in": inputs, "out": outputs, "mut": {"absent": outputs[0]}},
        {"in": inputs, "out": outputs, "mutin": {"99": outputs[0]}},
        {"in": inputs, "error": {"type": "RuntimeError", "text": "a torch that refuses"}},
        {"in": inputs[1:], "out": outputs},
        {"in": inputs, "out": [{"tensor": "value"}] + outputs[1:], "random": True},
    ]
    save_file(tensors, path, {"calls": json.dumps(replaced + others)})


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for version in (1, 2, 3):
        save(folder / f"version{version}.npy", count("<f4", 2, 3), (version, 0))
    save(folder / "fortran.npy", count("<f8", 2, 3, order="F"))
    save(folder / "big_endian.npy", count(">i4", 2, 3))
    save(folder / "big_endian_complex.npy", count(">c8", 2, 3))
    save(folder / "scalar.npy", np.array(7, dtype="<i8"))
    save(folder / "vector.npy", count("<i8", 3))
    save(folder / "empty.npy", count("<f4", 0, 3))
    save(folder / "bool.npy", np.array([True, False, True]))
    save(folder / "structured.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i8")]))
    save(folder / "object.npy", np.array([1, "a"], dtype=object), allow_pickle=True)
    save(folder / "unicode.npy", np.array(["a", "bc"]))
    save(folder / "long_double.npy", np.zeros(2, dtype=np.longdouble))
    arrays = {name: count(name, 2, 3) for name in DTYPES}
    np.savez(folder / "stored.npz", **arrays)
    np.savez_compressed(folder / "deflated.npz", **arrays)
    save_file({"x": count("<f4", 2, 3), "y": count("<i8", 3)}, folder / "two.safetensors", {"made_by": "numpy"})
    corpus = folder.parent / "corpus" / "2.15.0"
    save_wrong_calls(folder / "wrong_calls.safetensors", corpus / "dtypes_int.safetensors")
    # Packed without padding, as a careless writer might do: the float32 elements begin at an odd offset.
    header = b'{"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"x":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}}'
    data = struct.pack("<Q", len(header)) + header + b"\x07" + struct.pack("<2f", 0, 1)
    (folder / "unaligned.safetensors").write_bytes(data)
    save(folder / "ml_dtypes_bfloat16.npy", np.arange(3).astype(ml_dtypes.bfloat16))
    save_checkpoints(folder.parent / "checkpoints")


if __name__ == "__main__":
    main()
