"""More files that are proven to run code in PyTorch 2.15. They use readers that are laxer than libpt2's, and names as code.

Cases for proven_code.py, which makes and proves them.
"""
import io
import json
import zipfile

from code_cases import saved, text
from proven_code import (BARE, CALL, CALLED, EVALUATED, IN_ARGS, MARK, PYTHON, SHELL, edited, entries_of, expression,
                         script_module, zipped)

SAMPLES = "data/sample_inputs/model.pt"
WEIGHTS = b"\x80\x02}" + text("fc1.weight") + CALL + b"s."
EMPTY = b"\x80\x02)}\x86."
VERSION = ("archive/version", b"3\n")


def member(path, end):
    return next(name for name in entries_of(path) if name.endswith(end))


def with_size(program):
    program["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][0] = expression(PYTHON)


def with_size_and(change):
    def both(program):
        with_size(program)
        change(program)

    return both


def member_twice(path, end, key, change):
    """Returns JSON in which a member occurs twice, the second time changed: Python's reader takes the last."""
    entries = entries_of(path)
    name = member(path, end)
    value = json.loads(entries[name])
    first = json.dumps(value)
    change(value)
    entries[name] = f"{first[:-1]}, {json.dumps(key)}: {json.dumps(value[key])}}}".encode()
    return entries


def renamed(path, old, new):
    """Changes a name in all JSON."""
    entries = entries_of(path)
    for name in [each for each in entries if each.endswith(".json")]:
        entries[name] = entries[name].decode().replace(json.dumps(old), json.dumps(new)).encode()
    return zipped(entries.items())


def with_record_name(path, old, new, data):
    return zipped((name[: -len(old)] + new, data) if name.endswith(old) else (name, kept)
                  for name, kept in entries_of(path).items())


def second_program(path, record, name):
    program = json.loads(entries_of(path)[member(path, "models/model.json")])
    with_size(program)
    own = {end: entries_of(path)[member(path, end)] for end in ("model_weights_config.json", "model_constants_config.json")}
    return edited(path, {
        f"models/{record}": json.dumps(program).encode(),
        f"data/weights/{name}_weights_config.json": own["model_weights_config.json"],
        f"data/constants/{name}_constants_config.json": own["model_constants_config.json"],
        f"data/sample_inputs/{name}.pt": saved(EMPTY)})


def first_value(kind):
    def change(program):
        values = program["graph_module"]["graph"][f"sym_{kind}_values"]
        hint = {"int": {"as_int": 3}, "float": {"as_float": 1.0}}[kind]
        values[next(iter(values))] = {"as_expr": {"expr_str": PYTHON, "hint": hint}}

    return change


def with_node(target, arguments):
    def change(program):
        graph = program["graph_module"]["graph"]
        graph["tensor_values"]["new"] = dict(graph["tensor_values"]["x"])
        inputs = [{"name": name, "arg": arg, "kind": kind} for name, arg, kind in arguments]
        graph["nodes"].insert(0, {"target": target, "inputs": inputs, "outputs": [{"as_tensor": {"name": "new"}}],
                                  "metadata": {}, "is_hop_single_tensor_return": True, "name": "new"})

    return change


class Stream(io.RawIOBase):
    """A stream that cannot seek, so zipfile writes sizes after the data."""

    def __init__(self):
        self.data = bytearray()

    def writable(self):
        return True

    def write(self, data):
        self.data += bytes(data)
        return len(data)


def streamed(pickle):
    stream = Stream()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("archive/data.pkl", pickle)
        z.writestr("archive/version", "3\n")
    return bytes(stream.data)


def zip64(pickle):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        with z.open(zipfile.ZipInfo("archive/data.pkl"), "w", force_zip64=True) as file:
            file.write(pickle)
        z.writestr(zipfile.ZipInfo("archive/version"), "3\n")
    return out.getvalue()


def short(value):
    return b"\x8c" + bytes([len(value)]) + value.encode()


MAPPED = b"c__builtin__\nmap\ncposix\nsystem\n]" + text(SHELL) + b"a\x86"
PICKLES = {
    "protocol_0": (b"((cposix\nsystem\n(S'" + SHELL.encode() + b"'\ntRt(dt.", CALLED),
    "protocol_0_inst": (b"(((S'" + SHELL.encode() + b"'\niposix\nsystem\nt(dt.", CALLED),
    "protocol_5_memo": (b"\x80\x05" + short("system") + b"\x94" + short("posix") + b"\x94h\x01h\x00\x93\x94" + short(SHELL)
                        + b"\x94000(h\x02h\x03\x85Rt}\x86.", CALLED),
    "persistent_id": (b"\x80\x02(" + CALL + b"Qt}\x86.", CALLED),
    "build": (b"\x80\x02(cfunctools\npartial\ncposix\nsystem\n\x85\x81(cposix\nsystem\n" + text(SHELL) + b"\x85}Ntb)Rt}\x86.",
              "functools.partial"),
    "counter": (b"\x80\x02(ccollections\nCounter\n" + MAPPED + b"R\x85Rt}\x86.", "map("),
    "getattr": (b"\x80\x02(c__builtin__\ngetattr\nc__builtin__\neval\n" + text("__call__") + b"\x86R" + text(PYTHON) + b"\x85Rt}\x86.",
                "getattr("),
}


def tricks(corpus, folder):
    """Yields the same as proven_code.cases."""
    new, dynamic, flat = corpus / "2.15.0/mlp.pt2", corpus / "2.15.0/dynamic_batch.pt2", corpus / "2.6.0/mlp.pt2"
    load = "export"
    for name, (pickle, says) in PICKLES.items():
        yield name, load, "V108", says, edited(new, {SAMPLES: saved(pickle)})

    yield "big_endian", load, "V108", CALLED, edited(new, {SAMPLES: saved(IN_ARGS), "byteorder": b"big"})
    yield "saved_deflated", load, "V108", CALLED, edited(new, {SAMPLES: streamed(IN_ARGS)})
    yield "saved_zip64", load, "V108", CALLED, edited(new, {SAMPLES: zip64(IN_ARGS)})
    yield "saved_script", load, "V109", "TorchScript", edited(new, {SAMPLES: script_module(folder)})
    yield "saved_other_case", load, "V109", "no data.pkl", edited(new, {SAMPLES: zipped([("archive/DATA.PKL", IN_ARGS), VERSION])})
    yield "saved_two_cases", load, "V109", "case of letters", edited(
        new, {SAMPLES: zipped([("archive/DATA.PKL", IN_ARGS), ("archive/data.pkl", EMPTY), VERSION])})
    yield "saved_twice", load, "V109", "two entries", edited(
        new, {SAMPLES: zipped([("archive/data.pkl", IN_ARGS), ("archive/data.pkl", EMPTY), VERSION])})
    yield "other_case", load, "V108", CALLED, with_record_name(new, SAMPLES, "data/Sample_Inputs/model.pt", saved(IN_ARGS))
    yield "two_cases", load, "S001", "case of letters", zipped(
        pair for name, data in entries_of(new).items() for pair in
        ([(name, data), (name.replace("model.pt", "Model.pt"), saved(IN_ARGS))] if name.endswith(SAMPLES) else [(name, data)]))
    yield "weights_of_2_8", load, "V108", CALLED, edited(new, {"data/weights/model.pt": saved(WEIGHTS)})
    yield "constants_of_2_8", load, "V108", CALLED, edited(new, {"data/constants/model.pt": saved(WEIGHTS)})
    yield "bytes_in_front", load, "V108", CALLED, b"#!/bin/sh\n" + edited(flat, {"serialized_example_inputs.pt": saved(IN_ARGS)})
    yield "number_for_flag", load, "V108", CALLED, edited(
        new, {"weights/weight_0": saved(BARE)}, model_weights_config=lambda c: c["config"]["fc1.weight"].update(use_pickle=1))
    config = member_twice(new, "model_weights_config.json", "config", lambda c: c["config"]["fc1.weight"].update(use_pickle=True))
    config[member(new, "weights/weight_0")] = saved(BARE)
    yield "config_twice", load, "V108", CALLED, zipped(config.items())

    yield "graph_twice", load, "V506", EVALUATED, zipped(
        member_twice(dynamic, "models/model.json", "graph_module", with_size).items())
    yield "unknown_layout", load, "V506", EVALUATED, edited(
        dynamic, models__model=with_size_and(lambda p: p["graph_module"]["graph"]["tensor_values"]["x"].update(layout=99)))
    yield "null_metadata", load, "V506", EVALUATED, edited(
        dynamic, models__model=with_size_and(lambda p: p["graph_module"]["graph"]["nodes"][0].update(metadata=None)))
    yield "number_for_text", load, "V506", EVALUATED, edited(dynamic, models__model=with_size_and(lambda p: p.update(torch_version=7)))
    yield "second_other_ending", load, "V506", EVALUATED, second_program(dynamic, "second.text", "second")
    yield "second_no_ending", load, "V506", EVALUATED, second_program(dynamic, "secondabcde", "second")
    for kind, case in (("int", "sym_int_arithmetic"), ("float", "sym_float_arithmetic")):
        yield f"symbolic_{kind}", load, "V506", EVALUATED, edited(corpus / f"2.15.0/{case}.pt2", models__model=first_value(kind))

    yield "input_name", load, "S012", "parameter of this name", renamed(new, "x", f"x={PYTHON}")
    yield "keyword_name", load, "S012", "parameter of this name", renamed(
        corpus / "2.15.0/kwargs_inputs.pt2", "scale", f"scale={PYTHON}")
    quoted = f'a"+str(getattr(__import__("os"),"system")("{SHELL}"))+"'
    yield "weight_name", "call", "S012", "ends the quotes", renamed(new, "fc1.weight", quoted)
    yield "file_operator", "call", "S013", "aten.from_file", edited(new, models__model=with_node("torch.ops.aten.from_file.default", [
        ("filename", {"as_string": MARK}, 1), ("shared", {"as_bool": True}, 1), ("size", {"as_int": 4}, 1),
        ("dtype", {"as_scalar_type": 7}, 2)]))
