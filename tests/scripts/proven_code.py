#!/usr/bin/env python3
"""Makes files that are proven to run code in PyTorch 2.15, each with the function of PyTorch that opens it.

    proven_code.py make CORPUS OUT    writes OUT/*.pt2 and OUT/index.json; needs gcc and torch
    proven_code.py prove OUT [FILE…]  opens each with real torch, in a process of its own

Their code makes an empty file `pt2_ran_code` in the working folder of the process that opens them, and does nothing else.
`prove` opens each in an empty folder without network, kills the process after two minutes, and exits with 1 if the code of
a file did not run.
"""
import io
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

from code_cases import saved, text

MARK = "pt2_ran_code"
SHELL = f"touch {MARK}"
PYTHON = f"__import__('os').system('{SHELL}')"
EVALUATED = "PyTorch evaluates it as Python"

CALL = b"cposix\nsystem\n" + text(SHELL) + b"\x85R"
CALLED = f"posix.system('{SHELL}')"
IN_ARGS = b"\x80\x02(" + CALL + b"t}\x86."
BARE = b"\x80\x02" + CALL + b"."


def legacy(pickle):
    """Writes the torch.save format from before 1.6: magic number, version, machine, and then the object."""
    magic = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
    machine = b"\x80\x02}(" + text("protocol_version") + b"M\xe9\x03" + text("little_endian") + b"\x88" + text("type_sizes") + b"}u."
    return magic + b"\x80\x02M\xe9\x03." + machine + pickle + b"\x80\x02]."


def entries_of(path):
    with zipfile.ZipFile(path) as z:
        return {entry.filename: z.read(entry) for entry in z.infolist()}


def zipped(entries):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in entries:
            z.writestr(zipfile.ZipInfo(name), data)
    return out.getvalue()


def edited(path, records=None, **changes):
    """Returns the file with other records. Each of `changes` changes the JSON of the record whose name ends with the
    keyword ("__" is a slash)."""
    entries = entries_of(path)
    root = next(iter(entries)).split("/")[0]
    for name, data in (records or {}).items():
        place = next((each for each in entries if each.endswith(name)), f"{root}/{name}")
        entries[place] = data
    for end, change in changes.items():
        place = next(each for each in entries if each.endswith(end.replace("__", "/") + ".json"))
        value = json.loads(entries[place])
        change(value)
        entries[place] = json.dumps(value).encode()
    return zipped(entries.items())


def expression(text_):
    return {"as_expr": {"expr_str": text_, "hint": {"as_int": 3}}}


def library(folder):
    """Returns a shared library of 1 KB whose initializer makes the file by two system calls."""
    source = folder / "mark.c"
    source.write_text(f"""
static long call(long number, const char *path, long flags, long mode) {{
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(path), "S"(flags), "d"(mode) : "rcx", "r11", "memory");
  return result;
}}
__attribute__((constructor)) static void mark(void) {{ call(3, (const char *)call(2, "{MARK}", 0101, 0600), 0, 0); }}
""")
    target = folder / "mark.so"
    subprocess.run(["gcc", "-shared", "-nostdlib", "-Os", "-fPIC", "-s", "-Wl,--hash-style=gnu", "-Wl,-z,noseparate-code",
                    "-Wl,--build-id=none", "-fno-asynchronous-unwind-tables", "-o", target, source], check=True)
    return target.read_bytes()


def script_module(folder):
    """Returns a TorchScript module that writes a file while it is loaded."""
    import torch

    class Marks(torch.nn.Module):
        @torch.jit.export
        def __getstate__(self):
            return torch.zeros(0), self.training

        @torch.jit.export
        def __setstate__(self, state: tuple[torch.Tensor, bool]):
            self.training = state[1]
            torch.save(state[0], "pt2_ran_code")

        def forward(self, x):
            return x

    path = folder / "script.pt2"
    torch.jit.script(Marks()).save(str(path))
    return path.read_bytes()


def package(folder):
    from torch.package import PackageExporter

    path = folder / "package.pt2"
    with PackageExporter(str(path)) as exporter:
        exporter.extern("os")
        exporter.save_source_string("model", f"import os\nos.system('{SHELL}')\n")
    return path.read_bytes()


def two_of_one_name(path):
    """Makes two records with the name of the example inputs: Python's zipfile takes the last, PyTorch's reader another."""
    entries = list(entries_of(path).items())
    place = next(i for i, (name, _) in enumerate(entries) if name.endswith("sample_inputs/model.pt"))
    name, good = entries[place]
    return zipped(entries[:place] + [(name, saved(IN_ARGS))] + entries[place + 1:] + [(name, good)])


def other_local_name(path):
    """Makes a file in which the directory names the example inputs but their local header names another entry."""
    data = bytearray(edited(path, {"sample_inputs/model.pt": saved(IN_ARGS)}))
    name = next(each for each in entries_of(path) if each.endswith("sample_inputs/model.pt")).encode()
    start = data.find(name)
    data[start:start + len(name)] = name.replace(b"sample_inputs/model.pt", b"harmless_notes/it.txt")[:len(name)].ljust(len(name), b"_")
    return bytes(data)


def hidden_behind_another(path):
    """Makes a file whose directory entry for the example inputs points at a hostile entry behind the harmless one."""
    hostile = saved(IN_ARGS)
    entries = list(entries_of(path).items())
    place = next(i for i, (name, _) in enumerate(entries) if name.endswith("sample_inputs/model.pt"))
    name, good = entries[place]
    whole = bytearray(zipped(entries + [(name.replace("model.pt", "other"), hostile)]))
    # The central header of the real name points at the local header of the other entry.
    end = whole.rfind(b"PK\x05\x06")
    offset, places = struct.unpack_from("<I", whole, end + 16)[0], {}
    while whole[offset:offset + 4] == b"PK\x01\x02":
        sizes = struct.unpack_from("<HHH", whole, offset + 28)
        entry = bytes(whole[offset + 46:offset + 46 + sizes[0]]).decode()
        places[entry] = offset
        offset += 46 + sum(sizes)
    real, other = places[name], places[name.replace("model.pt", "other")]
    for field, size in ((16, 12), (42, 4)):  # checksum and sizes, offset of the local header
        whole[real + field:real + field + size] = whole[other + field:other + field + size]
    return bytes(whole)


def fake_tensor(size):
    meta = {"dtype": 7, "sizes": [size], "requires_grad": False, "device": {"type": "cpu", "index": None},
            "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}
    value = json.dumps(meta).encode()
    made = b"B" + struct.pack("<I", len(value)) + value
    return b"\x80\x03(ctorch._export.serde.serialize\n_reconstruct_fake_tensor\n(" + made + b"\x89tRt}\x86."


def cases(corpus, folder):
    """Yields name, how PyTorch opens it, rule of `pt2 scan`, text of the finding, the file."""
    new, dynamic, flat = corpus / "2.15.0/mlp.pt2", corpus / "2.15.0/dynamic_batch.pt2", corpus / "2.6.0/mlp.pt2"
    flat_dynamic = corpus / "2.6.0/dynamic_batch.pt2"
    samples, load = "data/sample_inputs/model.pt", "export"

    def graph(change):
        return lambda program: change(program["graph_module"]["graph"])

    def values(change):
        return graph(lambda g: change(g["tensor_values"]["x"]))

    yield "size", load, "V506", EVALUATED, edited(dynamic, models__model=values(lambda x: x["sizes"].__setitem__(0, expression(PYTHON))))
    yield "stride", load, "V506", EVALUATED, edited(dynamic, models__model=values(lambda x: x["strides"].__setitem__(0, expression(f"2*S(\"{PYTHON}\")"))))
    yield "flat_size", load, "V506", EVALUATED, edited(flat_dynamic, serialized_exported_program=values(lambda x: x["sizes"].__setitem__(0, expression(PYTHON))))
    yield "fake_tensor", load, "V506", EVALUATED, edited(new, {samples: saved(fake_tensor(expression(PYTHON)))})
    yield "guard", "call", "V532", EVALUATED, edited(dynamic, models__model=lambda p: p.update(guards_code=[f"L['x'].size()[0] == {PYTHON}"]))
    # PyTorch puts the guard's text in quotes of its own into the message of an assertion.
    escape = f'" + str({PYTHON}) + "'
    yield "guard_message", "call", "V532", EVALUATED, edited(dynamic, models__model=lambda p: p.update(guards_code=[f"L['x'].size()[0] != {escape}"]))
    yield "samples", load, "V108", CALLED, edited(new, {samples: saved(IN_ARGS)})
    yield "samples_legacy", load, "V108", CALLED, edited(new, {samples: legacy(IN_ARGS)})
    pickled = lambda config: config["config"]["fc1.weight"].update(use_pickle=True)  # noqa: E731
    inner = b"\x80\x03c_pickle\nloads\n" + b"C" + bytes([len(BARE)]) + BARE + b"\x85R."
    yield "weight", load, "V108", CALLED, edited(new, {"weights/weight_0": saved(BARE)}, model_weights_config=pickled)
    yield "weight_nested", load, "V108", "_pickle.loads(", edited(new, {"weights/weight_0": saved(inner)}, model_weights_config=pickled)
    again = saved(BARE)
    inner = b"\x80\x03ctorch.storage\n_load_from_bytes\nB" + struct.pack("<I", len(again)) + again + b"\x85R."
    yield "weight_saved_again", load, "V108", "torch.storage._load_from_bytes(", edited(new, {"weights/weight_0": saved(inner)}, model_weights_config=pickled)
    constant = json.dumps({"config": {"c": {"path_name": "tensor_0", "is_param": False, "use_pickle": True, "tensor_meta": None}}}).encode()
    yield "constant", load, "V108", CALLED, edited(new, {"constants/model_constants_config.json": constant, "data/constants/tensor_0": saved(BARE)})
    opaque = constant.replace(b"tensor_0", b"opaque_obj_0")
    yield "opaque_object", load, "V108", CALLED, edited(new, {"constants/model_constants_config.json": opaque, "data/constants/opaque_obj_0": BARE})
    file = legacy(BARE)
    stored = b"ctorch.storage\n_load_from_bytes\nB" + len(file).to_bytes(4, "little") + file + b"\x85R"
    yield "opaque_storage", load, "V108", CALLED, edited(new, {"constants/model_constants_config.json": opaque, "data/constants/opaque_obj_0": b"\x80\x02" + stored + b"."})
    state = b"\x80\x02}" + text("fc1.weight") + CALL + b"s."
    yield "flat_weights", load, "V108", CALLED, edited(flat, {"serialized_state_dict.pt": saved(state)})
    yield "flat_constants", load, "V108", CALLED, edited(flat, {"serialized_constants.pt": saved(state)})
    yield "flat_samples", load, "V108", CALLED, edited(flat, {"serialized_example_inputs.pt": saved(IN_ARGS)})
    second = json.loads(next(data for name, data in entries_of(dynamic).items() if name.endswith("models/model.json")))
    values(lambda x: x["sizes"].__setitem__(0, expression(PYTHON)))(second)
    own = {end: next(data for name, data in entries_of(dynamic).items() if name.endswith(end)) for end in ("model_weights_config.json", "model_constants_config.json")}
    yield "second_program", load, "V506", EVALUATED, edited(dynamic, {
        "models/second.json": json.dumps(second).encode(),
        "data/weights/second_weights_config.json": own["model_weights_config.json"],
        "data/constants/second_constants_config.json": own["model_constants_config.json"],
        "data/sample_inputs/second.pt": saved(b"\x80\x02)}\x86.")})
    aoti = "data/aotinductor/model/"
    about = {aoti + "m.wrapper_metadata.json": b'{"AOTI_DEVICE_KEY": "cpu"}'}
    yield "library", load, "S004", "machine code", edited(new, about | {aoti + "m.wrapper.so": library(folder)})
    flags = json.dumps({"aoti_standalone_config": {}, "compile_mode_cpp": f"$({SHELL})", "cflags": [f"; {SHELL};"], "definitions": [], "include_dirs": [],
                        "ldflags": [f"; {SHELL};"], "libraries": [], "libraries_dirs": [], "passthrough_args": [], "compile_only": False, "use_absolute": False,
                        "use_relative_path": False, "extra_flags": [], "compiler": f"{SHELL}; g++", "cpp_compiler": "g++", "device_type": "cpu"}).encode()
    yield "compiled_at_load", load, "S010", "compiled", edited(new, about | {
        aoti + "m.wrapper.cpp": b"int unused;\n", aoti + "m.wrapper_compile_flags.json": flags, aoti + "m.wrapper_linker_flags.json": flags})
    yield "script", "jit", "S011", "torch.save", script_module(folder)
    yield "package", "package", "S006", "Python", package(folder)
    yield "two_of_one_name", load, "S001", "", two_of_one_name(new)
    yield "other_local_name", load, "S002", "", other_local_name(new)
    yield "hidden_entry", load, "S002", "", hidden_behind_another(new)
    from proven_tricks import tricks  # proven_tricks imports this file

    yield from tricks(corpus, folder)


def make(corpus, out):
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name, opened_by, rule, says, data in cases(pathlib.Path(corpus), pathlib.Path(folder)):
            (out / f"{name}.pt2").write_bytes(data)
            rows.append({"file": f"{name}.pt2", "opened_by": opened_by, "rule": rule, "says": says})
    (out / "index.json").write_text(json.dumps({"cases": rows}, indent=1) + "\n")


def open_with_torch(path, opened_by):
    import torch

    if opened_by == "jit":
        torch.jit.load(path)
    elif opened_by == "package":
        torch.package.PackageImporter(path).import_module("model")
    else:
        program = torch.export.load(path)
        if opened_by == "call":
            program.module()(*program.example_inputs[0])


def prove_one(path, opened_by):
    """True if the code ran. Opens the file in a child of this process, where torch is already imported."""
    with tempfile.TemporaryDirectory() as folder:
        child = os.fork()
        if child == 0:
            os.setsid()
            os.chdir(folder)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            log = os.open(os.environ.get("PROOF_LOG", os.devnull), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.dup2(log, 2)
            try:
                open_with_torch(path, opened_by)
            except BaseException as error:
                print(path, repr(error)[:500], file=sys.stderr)
            os._exit(0)
        for _ in range(6000):
            if os.waitpid(child, os.WNOHANG)[0]:
                break
            time.sleep(0.02)
        else:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
        return (pathlib.Path(folder) / MARK).exists()


def prove(out, chosen):
    if os.environ.get("PROOF_ALONE") is None:  # start again, without network
        os.environ["PROOF_ALONE"] = "1"
        os.execvp("unshare", ["unshare", "--map-root-user", "--net", sys.executable, *sys.argv])
    import torch
    import torch._dynamo  # imported once instead of in each child
    import torch._export.serde.serialize
    import torch.export.pt2_archive._package
    import torch.package

    failed = 0
    for case in json.loads((out / "index.json").read_text())["cases"]:
        if chosen and case["file"] not in chosen:
            continue
        ran = prove_one(str((out / case["file"]).resolve()), case["opened_by"])
        failed += not ran
        print("ran " if ran else "DID NOT RUN", case["file"], flush=True)
    print(f"{failed} did not run in torch {torch.__version__}")
    return failed > 0


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], pathlib.Path(sys.argv[3]))
    else:
        sys.exit(prove(pathlib.Path(sys.argv[2]), sys.argv[3:]))
