#!/usr/bin/env python3
"""Makes files that run code in PyTorch: pickles that call functions, and expressions, guards and targets that are Python.

    code_cases.py CORPUS NEGATIVE

Reads CORPUS/2.15.0/{mlp,dynamic_batch}.pt2 and CORPUS/2.6.0/mlp.pt2, writes NEGATIVE/code_*.pt2 and their rows of
NEGATIVE/index.json. `says` is the text that `pt2 verify` must print; `opens` means that opening continues without the
record. Every command in the files is `true`.
"""
import io
import json
import pathlib
import sys
import zipfile

CALL = b"cos\nsystem\nX\x04\x00\x00\x00true\x85R"
PYTHON = "__import__('os').system('true')"
SPELLED = "eval(" + "+".join(f"chr({ord(c)})" for c in PYTHON) + ")"


def text(value):
    return b"X" + len(value).to_bytes(4, "little") + value.encode()


# Name: (pickle, the text that is printed about it).
PICKLES = {
    "in_args": (b"\x80\x02(" + CALL + b"t}\x86.", "os.system('true')"),
    "inst": (b"(S'true'\nios\nsystem\n.", "os.system('true')"),
    "obj": (b"(cos\nsystem\nS'true'\no.", "os.system('true')"),
    "stack_global": (b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.", "os.system('true')"),
    "posix": (b"\x80\x02cposix\nsystem\nX\x04\x00\x00\x00true\x85R.", "posix.system('true')"),
    "dotted": (b"\x80\x04\x8c\x13torch.serialization\x8c\x09os.system\x93\x8c\x04true\x85R.", "torch.serialization.os.system('true')"),
    "memo": (b"\x80\x02cos\nsystem\nq\x010h\x01X\x04\x00\x00\x00true\x85R.", "os.system('true')"),
    "popped": (b"\x80\x02" + CALL + b"0)}\x86.", "os.system('true')"),
    "getattr": (b"\x80\x02c__builtin__\ngetattr\nc__builtin__\n__import__\nX\x02\x00\x00\x00os\x85RX\x06\x00\x00\x00system\x86R" + text("true") + b"\x85R.",
                "__import__('os')"),
    "eval": (b"\x80\x02c__builtin__\neval\n" + text(PYTHON) + b"\x85R.", "eval("),
    "partial": (b"\x80\x02cfunctools\npartial\ncos\nsystem\n" + text("true") + b"\x86\x81)R.", "functools.partial"),
    "map": (b"\x80\x02c__builtin__\nlist\nc__builtin__\nmap\ncos\nsystem\n(" + text("true") + b"l\x86\x81\x85R.", "byte"),
    "rebuild": (b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(cos\nsystem\nctorch\nTensor\n" + text("true") + b"\x85}tR.", "os.system('true')"),
    "reconstructor": (b"\x80\x02ccopy_reg\n_reconstructor\ncsubprocess\nPopen\ncsubprocess\nPopen\n" + text("true") + b"\x87R.", "subprocess.Popen('true')"),
    "setattr": (b"\x80\x02ctorch.nn.modules.module\nModule\nN}" + text("__call__") + b"cos\nsystem\ns\x86b0)}\x86.", "setattr of torch.nn.modules.module.Module"),
    "then_garbage": (b"\x80\x02" + CALL + b"\xff\xff", "os.system('true')"),
    "factory": (b"\x80\x02ccollections\ndefaultdict\nc__builtin__\nbreakpoint\n\x85R)\x86.", "breakpoint()"),
    "extension": (b"\x80\x02\x82\x01.", "outside of the pickle"),
}


def saved(pickle):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in (("data.pkl", pickle), ("byteorder", b"little"), ("version", b"3\n")):
            z.writestr(zipfile.ZipInfo("archive/" + name), data)
    return out.getvalue()


def edited(path, records=(), program=None, config=None):
    """Returns the file with other records. `program` changes the program's JSON, `config` that of the weights."""
    out = io.BytesIO()
    replaced = dict(records)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            for end, change in (("models/model.json", program), ("model_weights_config.json", config)):
                if change and entry.filename.endswith(end):
                    value = json.loads(data)
                    change(value)
                    data = json.dumps(value).encode()
            for end in [r for r in replaced if entry.filename.endswith(r)]:
                data = replaced.pop(end)
            new.writestr(zipfile.ZipInfo(entry.filename), data)
        root = entry.filename.split("/")[0]
        for name, data in replaced.items():
            new.writestr(zipfile.ZipInfo(f"{root}/{name}"), data)
    return out.getvalue()


def cases(corpus):
    mlp, dynamic, old = (corpus / p for p in ("2.15.0/mlp.pt2", "2.15.0/dynamic_batch.pt2", "2.6.0/mlp.pt2"))
    samples = "data/sample_inputs/model.pt"
    for name, (pickle, says) in PICKLES.items():
        yield f"code_samples_{name}", f"example inputs: {says}", edited(mlp, {samples: saved(pickle)}), says, True
    yield "code_samples_raw", "example inputs that are a bare pickle, as torch.load of old reads it", edited(
        mlp, {samples: b"\x80\x02" + CALL + b"."}), "os.system('true')", True
    yield "code_legacy_samples", "flat zip: example inputs whose pickle calls os.system", edited(
        old, {"serialized_example_inputs.pt": saved(PICKLES["in_args"][0])}), "os.system('true')", True
    yield "code_legacy_constants", "flat zip: constants whose pickle calls os.system", edited(
        old, {"serialized_constants.pt": saved(PICKLES["stack_global"][0])}), "os.system('true')", False

    def add(record, **meta):
        def change(config):
            config["config"]["fc1.weight"].update(use_pickle=True, **meta)

        return change

    yield "code_weight_getattr", "a pickled weight that imports os", edited(
        mlp, {"data/weights/weight_0": saved(PICKLES["getattr"][0])}, config=add("weight_0")), "__import__('os')", False
    constants = json.dumps({"config": {"o": {"path_name": "opaque_obj_0", "is_param": False, "use_pickle": True, "tensor_meta": None}}})
    yield "code_opaque_object", "an opaque object, which PyTorch unpickles", edited(mlp, {
        "data/constants/model_constants_config.json": constants.encode(),
        "data/constants/opaque_obj_0": b"\x80\x02" + CALL + b"."}), "os.system('true')", True

    def size(expression):
        def change(p):
            p["graph_module"]["graph"]["tensor_values"]["x"]["sizes"][0] = {"as_expr": {"expr_str": expression, "hint": {"as_int": 3}}}

        return change

    for name, expression in (("spelled", SPELLED), ("nested", f"Max(2, {SPELLED})"), ("sympify", f"S('{PYTHON}')"), ("exec", "exec(chr(49))")):
        yield f"code_expression_{name}", f"a size that is Python: {expression[:40]}", edited(dynamic, program=size(expression)), "PyTorch evaluates it as Python", False

    def ranges(p):
        p["range_constraints"][SPELLED] = {"min_val": 0, "max_val": None}

    yield "code_range", "a range of what is Python", edited(dynamic, program=ranges), "PyTorch evaluates it as Python", False

    def guard(text):
        return lambda p: p.update(guards_code=[text])

    for name, text_ in (("call", PYTHON), ("behind_method", f"L['x'].element_size() == {PYTHON}"), ("spelled", f"{SPELLED} == 0"),
                        ("attribute", "L['x'].register_hook(print)")):
        yield f"code_guard_{name}", f"a guard that is Python: {text_[:40]}", edited(dynamic, program=guard(text_)), "PyTorch evaluates it as Python", True

    def operator_argument(p):
        p["graph_module"]["graph"]["nodes"][1].update(target="torch._C._autograd._saved_tensors_hooks_enable")

    yield "code_target", "a node that calls a Python function", edited(mlp, program=operator_argument), "Python function", True


def main():
    corpus, negative = map(pathlib.Path, sys.argv[1:])
    index = json.loads((negative / "index.json").read_text())
    index["cases"] = [case for case in index["cases"] if not case["file"].startswith("code_")]
    for name, wrong, data, says, opens in cases(corpus):
        (negative / f"{name}.pt2").write_bytes(data)
        index["cases"].append({"file": f"{name}.pt2", "wrong": wrong, "stage": "code", "expect": "reject", "says": says, "opens": opens})
    (negative / "index.json").write_text(json.dumps(index, indent=1) + "\n")


if __name__ == "__main__":
    main()
