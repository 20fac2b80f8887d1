"""Makes tests/data/containers from programs of a corpus. PyTorch defined the containers of schema 8.6 to 8.11, but no code
of PyTorch ever wrote one (docs/containers.md)."""

import io
import json
import sys
import zipfile
from pathlib import Path

import torch


def flat_program(path):
    """Returns JSON, state dict and constants of a file of PyTorch 2.4 to 2.7."""
    with zipfile.ZipFile(path) as file:
        load = lambda name: torch.load(io.BytesIO(file.read(name)), weights_only=True)
        return (
            json.loads(file.read("serialized_exported_program.json")),
            load("serialized_state_dict.pt"),
            load("serialized_constants.pt"),
        )


def tensor_bytes(tensor, pickled):
    if pickled:
        out = io.BytesIO()
        torch.save(tensor, out)
        return out.getvalue()
    return bytes(tensor.detach().untyped_storage())


class Records:
    """The tensors of several programs in one archive, each with its own path."""

    def __init__(self):
        self.files = {}

    def add(self, folder, prefix, tensors, pickled=()):
        paths = {}
        for name, tensor in tensors.items():
            record = f"data/{folder}/{prefix}{name}"
            self.files[record] = tensor_bytes(tensor, name in pickled)
            paths[name] = "/" + record
        return paths


def write_archive(path, records, models):
    root = path.stem
    with zipfile.ZipFile(path, "w") as file:
        def add(name, content):
            file.writestr(zipfile.ZipInfo(f"{root}/{name}"), content)

        for name, content in records.files.items():
            add(name, content)
        for name, model in models.items():
            add(f"models/{name}.json", json.dumps(model))
        add("archive_format", "pt2")
        add("archive_version", "0")
        add(".data/version", "6\n")
        add("byteorder", "little")


def methods(corpus, out):
    """8.7: three methods and a delegate; one weight pickled, a lifted constant."""
    records = Records()
    mlp, mlp_state, _ = flat_program(corpus / "2.7.1" / "mlp.pt2")
    attention, attention_state, constants = flat_program(corpus / "2.7.1" / "lifted_constant.pt2")
    ranges, range_state, _ = flat_program(corpus / "2.7.1" / "dynamic_range.pt2")
    tensors = records.add("tensor", "", mlp_state, pickled=["fc1.bias"])
    tensors |= records.add("tensor", "", attention_state) | records.add("tensor", "", range_state)
    model = {
        "name": "local",
        "tensorPaths": tensors,
        "program": {"methods": {"forward": mlp, "lift": attention, "ranges": ranges}},
        "delegates": {"aotinductor-a100": {"methods": {"forward": mlp}}},
        "deviceAllocationMap": {"cpu": "cpu"},
        "constantPaths": records.add("constants", "", constants),
    }
    write_archive(out / "methods.pt2", records, {"local": model})
    (out / "methods.json").write_text(json.dumps(model))


def variants(corpus, out):
    """8.11: a program with a variant, and the paths inside each program."""
    def at_8_11(program, paths):
        program["schema_version"]["minor"] = 11
        return program | {"tensor_paths": paths, "constant_paths": {}, "guards_code": []}

    records = Records()
    with zipfile.ZipFile(corpus / "2.8.0" / "mlp.pt2") as file:
        mlp = json.loads(file.read("mlp/models/model.json"))
        state = torch.load(io.BytesIO(file.read("mlp/data/weights/model.pt")), weights_only=True)
    doubled = {name: tensor.detach() * 2 for name, tensor in state.items()}
    model = {
        "name": "local",
        "program": at_8_11(dict(mlp), records.add("tensor", "", state)),
        "variants": {"doubled": at_8_11(dict(mlp), records.add("tensor", "doubled.", doubled))},
    }
    write_archive(out / "variants.pt2", records, {"local": model, "other": model})


def broken(corpus, out):
    """Makes broken containers: two programs of one name; a path that names no record."""
    mlp, state, _ = flat_program(corpus / "2.7.1" / "mlp.pt2")
    model = {"name": "local", "tensorPaths": {}, "program": {"methods": {"gpu/forward": mlp}},
             "delegates": {"gpu": {"methods": {"forward": mlp}}}, "deviceAllocationMap": {},
             "constantPaths": {}}
    (out / "container_two_names.json").write_text(json.dumps(model))
    records = Records()
    paths = records.add("tensor", "", state)
    del records.files[paths["fc2.bias"].removeprefix("/")]
    model |= {"tensorPaths": paths, "program": {"methods": {"forward": mlp}}, "delegates": {}}
    write_archive(out / "container_no_record.pt2", records, {"local": model})


if __name__ == "__main__":
    corpus, out, negative = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    methods(corpus, out)
    variants(corpus, out)
    broken(corpus, negative)
