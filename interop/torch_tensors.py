"""Lists the tensors that PyTorch loads from a .pt2 file, to compare them with `pt2 ls FILE --tensors --json`.

    for program in read_file("model.pt2"):
        for tensor in program.tensors["weights"]: print(tensor["name"], tensor["crc32"])

The three layouts, and the loader that defines their tensors:

    torch 2.1 - 2.7   flat zip of torch.save files                     torch.load of each
    torch 2.8         PT2 archive with torch.save files                torch.load of each
    torch 2.9 -       PT2 archive with raw records and a config        torch's load_pt2 where it succeeds, and
                      `records_payload` below, which must agree

This unpickles what it reads: use it on files that you trust. Classes that cannot be imported are replaced by stand-ins.
"""

import base64
import io
import json
import logging
import pickle
import re
import warnings
import zipfile
import zlib
from dataclasses import dataclass, field
from types import SimpleNamespace

import torch
import torch.utils._pytree as pytree
from torch.export.pt2_archive._package import load_pt2

PAYLOADS = ("weights", "constants", "sample_inputs")

# The flat layout's record of each payload; 2.1 and 2.2 named their torch.save files .json.
FLAT_RECORDS = {
    "weights": ("serialized_state_dict.pt", "serialized_state_dict.json"),
    "constants": ("serialized_constants.pt", "serialized_constants.json"),
    "sample_inputs": ("serialized_example_inputs.pt",),
}

# The numbers of the export schema's ScalarType, which differ from those of c10::ScalarType.
DTYPES = {
    1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64", 9: "complex32",
    10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16", 28: "uint16", 29: "float8_e4m3fn", 30: "float8_e5m2",
    31: "float8_e4m3fnuz", 32: "float8_e5m2fnuz", 33: "float8_e8m0fnu", 34: "uint32", 35: "uint64",
}  # fmt: skip


@dataclass
class Program:
    """One program of a file. `tensors` has a description per tensor, in the form that `pt2 ls --tensors --json` prints."""

    name: str
    loader: str  # loader of weights and constants: "torch.load", "load_pt2" or "records"
    reason: str = ""  # why load_pt2 failed
    tensors: dict = field(default_factory=lambda: {p: [] for p in PAYLOADS})
    objects: list = field(default_factory=list)  # (payload, name, class) of everything that is not a strided tensor
    errors: list = field(default_factory=list)  # (payload, text) of payloads that could not be read


# ---- describing ----------------------------------------------------------------------------------------------


def content_bytes(tensor):
    """Returns the bytes of the elements in row-major order, whatever the strides."""
    plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    return plain.reshape(-1).view(torch.uint8).numpy()


def describe(payload, name, tensor, storages):
    """Describes a tensor. `storages` numbers a payload's storages in order of appearance: equal numbers share memory."""
    storage = tensor.untyped_storage()
    return {
        "payload": payload,
        "name": name,
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "sizes": list(tensor.shape),
        "strides": list(tensor.stride()),
        "storage_offset": tensor.storage_offset(),
        "storage_bytes": storage.nbytes(),
        "storage": storages.setdefault(storage._cdata, len(storages)),
        "requires_grad": tensor.requires_grad,
        "is_parameter": isinstance(tensor, torch.nn.Parameter),
        "crc32": zlib.crc32(content_bytes(tensor)),
    }


def describe_all(program, payload, values):
    """Describes `values`, (name, value) pairs in file order."""
    storages = {}
    for name, value in values:
        if isinstance(value, torch.Tensor) and value.layout == torch.strided and not value.is_quantized:
            program.tensors[payload].append(describe(payload, name, value, storages))
        else:
            program.objects.append((payload, name, class_name(value)))


def class_name(value):
    if isinstance(value, torch.Tensor):
        return f"Tensor[{value.dtype}, {value.layout}]"
    if isinstance(value, torch.ScriptObject):
        return value._type().qualified_name()
    return f"{type(value).__module__}.{type(value).__qualname__}"


def flat_inputs(inputs):
    """Flattens (args, kwargs) to (path, leaf) pairs in PyTorch's order; returns None if they were not recorded."""
    if not inputs:
        return []
    leaves = pytree.tree_flatten_with_path(inputs)[0]
    names = ("args", "kwargs")
    return [(names[path[0].idx] + pytree.keystr(path[1:]), leaf) for path, leaf in leaves]


# ---- pickled payloads ----------------------------------------------------------------------------------------


class StandIn:
    """Replaces an instance of a class that cannot be imported: a pytree node over its fields, like the original class."""

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        self.__dict__.update(enumerate(args), **kwargs)
        return self

    def __init__(self, *args, **kwargs):
        pass

    def __setstate__(self, state):
        self.__dict__.update(state)

    def items(self):
        return [(k, v) for k, v in self.__dict__.items() if v is not None]  # register_dataclass drops None too


STAND_INS = {}


def stand_in(module, name):
    key = f"{module}.{name}"
    if key not in STAND_INS:
        cls = STAND_INS[key] = type(name, (StandIn,), {"__module__": module})
        entry = lambda k: pytree.SequenceKey(k) if isinstance(k, int) else pytree.GetAttrKey(k)
        pytree.register_pytree_node(
            cls,
            lambda v: ([x for _, x in v.items()], [k for k, _ in v.items()]),
            lambda values, keys: None,
            flatten_with_keys_fn=lambda v: ([(entry(k), x) for k, x in v.items()], [k for k, _ in v.items()]),
            serialized_type_name=key,
        )
    return STAND_INS[key]


class LenientUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        try:
            return super().find_class(module, name)
        except (ImportError, AttributeError):
            return stand_in(module, name)


def load_saved(data):
    """Loads a torch.save file. torch.export writes an empty record for "nothing"."""
    lenient = SimpleNamespace(__name__="lenient", Unpickler=LenientUnpickler, load=pickle.load)
    return torch.load(io.BytesIO(data), weights_only=False, pickle_module=lenient) if data else {}


def guarded(program, payload, read):
    """Runs `read() -> [(name, value)]`; a failure is added to the program's errors and does not end the run."""
    try:
        values = read()
        describe_all(program, payload, values)
    except Exception as e:
        program.errors.append((payload, first_line(e)))


def first_line(error):
    lines = [line for line in str(error).splitlines() if line.strip()] or [""]
    text = re.sub(r" from '/[^']*'", "", lines[0])  # the path in an import error differs from machine to machine
    return f"{type(error).__name__}: {text[:200]}"


# ---- raw records ---------------------------------------------------------------------------------------------


def records_payload(read, folder, config):
    """Builds (name, value) of a PayloadConfig from the raw records alone, as torch/export/pt2_archive/_package.py does."""
    storages, values = {}, []
    for name, meta in config.items():
        path, tensor = meta["path_name"], meta["tensor_meta"]
        data = read(folder + path)
        if path.startswith("opaque_obj_"):
            values.append((name, pickle.loads(data)))
        elif tensor is None:
            values.append((name, torch._C._pickle_load_obj(data)))
        elif meta["use_pickle"]:
            values.append((name, load_saved(data)))
        else:
            if path not in storages:  # the first name determines the dtype and requires_grad of the record
                storages[path] = flat_storage(data, tensor)
            numbers = [[n["as_int"] for n in tensor[key]] for key in ("sizes", "strides")]
            value = torch.as_strided(storages[path], *numbers, tensor["storage_offset"]["as_int"])
            if meta["is_param"]:
                value = torch.nn.Parameter(value, requires_grad=tensor["requires_grad"])
            values.append((name, value))
    return values


def flat_storage(data, meta):
    dtype = getattr(torch, DTYPES[meta["dtype"]])
    if data:
        flat = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(dtype)
    else:
        flat = torch.zeros([n["as_int"] for n in meta["sizes"]], dtype=dtype)
    return flat.requires_grad_(meta["requires_grad"])


# ---- files ---------------------------------------------------------------------------------------------------


def read_file(path):
    """Returns every program in the file."""
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "serialized_exported_program.json" in names:
            return [read_flat(archive, names)]
        root = names[0].split("/")[0] + "/"
        models = [n.removeprefix(root + "models/").removesuffix(".json") for n in names if n.startswith(root + "models/")]
        read = lambda name: archive.read(root + name)
        if root + f"data/weights/{models[0]}.pt" in names:
            return [read_pickled(read, model) for model in models]
        return [read_raw(path, read, model) for model in models]


def read_flat(archive, names):
    program = Program("model", "torch.load")
    for payload, records in FLAT_RECORDS.items():
        for record in records:
            if record in names:
                guarded(program, payload, lambda: payload_items(payload, load_saved(archive.read(record))))
    text = json.loads(archive.read("serialized_exported_program.json"))
    inline = text["graph_module"]["graph"].get("constants") or {}  # 2.1: base64 of a torch.save file each
    if inline:
        guarded(program, "constants", lambda: [(k, load_saved(base64.b64decode(v))) for k, v in inline.items()])
    return program


def payload_items(payload, value):
    return flat_inputs(value) if payload == "sample_inputs" else list(value.items())


def read_pickled(read, model):
    program = Program(model, "torch.load")
    for payload in PAYLOADS:
        guarded(program, payload, lambda: payload_items(payload, load_saved(read(f"data/{payload}/{model}.pt"))))
    return program


def read_raw(path, read, model):
    """Returns load_pt2's tensors if it succeeds; they must equal those of the records."""
    records = Program(model, "records")
    for payload in ("weights", "constants"):
        folder = f"data/{payload}/"
        config = json.loads(read(f"{folder}{model}_{payload}_config.json"))["config"]
        guarded(records, payload, lambda: records_payload(read, folder, config))
    guarded(records, "sample_inputs", lambda: flat_inputs(load_saved(read(f"data/sample_inputs/{model}.pt"))))
    try:
        loaded = load_pt2(path).exported_programs[model]
    except Exception as e:
        records.reason = first_line(e)
        return records
    program = Program(model, "load_pt2")
    describe_all(program, "weights", loaded.state_dict.items())
    describe_all(program, "constants", loaded.constants.items())
    describe_all(program, "sample_inputs", flat_inputs(loaded.example_inputs))
    for payload in PAYLOADS:
        if by_name(program.tensors[payload]) != by_name(records.tensors[payload]):
            program.errors.append((payload, "load_pt2 and the records differ"))
    return program


def by_name(tensors):
    """Sorts by name and renumbers storages in that order, so that readers with different orders can be compared."""
    numbers = {}
    return [t | {"storage": numbers.setdefault(t["storage"], len(numbers))} for t in sorted(tensors, key=lambda t: t["name"])]
