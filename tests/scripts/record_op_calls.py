#!/usr/bin/env python3
"""Records calls of PyTorch operators in the layout of tests/ops/README.md.

    record_op_calls.py OUT_DIR aten.add.Tensor aten.kron.default … [--samples 12] [--seed 0]

The arguments come from torch.testing's op_db: its sample inputs run under a dispatch mode that sees every operator call,
and composite operators before they are decomposed. `thin_op_samples.py` then chooses a few for tests/data/ops.
"""
import argparse, json, math, os, pathlib, struct, sys, unittest, types, warnings

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX2")  # makes results independent of the machine
os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx2")
try:
    import expecttest  # torch.testing imports it, for classes that are not used here
except ImportError:
    sys.modules["expecttest"] = types.SimpleNamespace(TestCase=unittest.TestCase,
                                                      assert_expected_inline=None)
import torch
from torch.utils._python_dispatch import TorchDispatchMode

SAFETENSORS = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
               torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8",
               torch.bool: "BOOL", torch.complex64: "C64", torch.float8_e4m3fn: "F8_E4M3", torch.float8_e5m2: "F8_E5M2"}
TOLERANCE = {"float64": [1e-7, 1e-7], "float32": [1.3e-6, 1e-5], "float16": [1e-3, 1e-5], "bfloat16": [1.6e-2, 1e-5],
             "complex64": [1.3e-6, 1e-5]}
MAX_ELEMENTS = 512


class Unsupported(Exception):
    pass


def raw_bytes(tensor):
    return bytes(tensor.contiguous().reshape(-1).view(torch.uint8).tolist()) if tensor.numel() else b""


def number(value):
    return value if math.isfinite(value) else ("nan" if value != value else "inf" if value > 0 else "-inf")


class File:
    """The samples of one overload and their tensors."""

    def __init__(self, overload):
        self.overload, self.samples, self.tensors = overload, [], {}

    def store(self, key, dtype, shape, data):
        self.tensors[key] = (SAFETENSORS[dtype], list(shape), data)

    def describe(self, key, tensor, whole_storage):
        if tensor.dtype not in SAFETENSORS or tensor.layout != torch.strided or tensor.is_conj() or tensor.is_neg():
            raise Unsupported
        elements = tensor.untyped_storage().nbytes() // tensor.element_size()
        if elements > MAX_ELEMENTS or tensor.numel() > MAX_ELEMENTS:
            raise Unsupported
        if whole_storage:
            flat = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage(), 0, (elements,))
            self.store(key, tensor.dtype, [elements], raw_bytes(flat))
        else:
            self.store(key, tensor.dtype, tensor.shape, raw_bytes(tensor))
        return {"tensor": key, "sizes": list(tensor.shape), "strides": list(tensor.stride()),
                "storage_offset": tensor.storage_offset(), "dtype": str(tensor.dtype)[6:]}

    def value(self, key, value, whole_storage=True):
        if value is None:
            return {"none": True}
        if isinstance(value, torch.Tensor):
            return self.describe(key, value, whole_storage)
        if isinstance(value, bool):
            return {"bool": value}
        if isinstance(value, int):
            return {"int": value}
        if isinstance(value, float):
            return {"float": number(value)}
        if isinstance(value, complex):
            return {"complex": [number(value.real), number(value.imag)]}
        if isinstance(value, str):
            return {"str": value}
        if isinstance(value, torch.dtype):
            return {"dtype": str(value)[6:]}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        if isinstance(value, torch.layout):
            return {"layout": str(value)[6:]}
        if isinstance(value, torch.memory_format):
            return {"memory_format": str(value)[6:]}
        if isinstance(value, (list, tuple)):
            return self.list_value(key, value, whole_storage)
        raise Unsupported

    def list_value(self, key, items, whole_storage):
        if any(isinstance(item, torch.Tensor) for item in items):
            kind = "optional_tensors" if any(item is None for item in items) else "tensors"
            return {kind: [self.value(f"{key}.{i}", item, whole_storage) for i, item in enumerate(items)]}
        for kind, plain in (("bools", bool), ("ints", int), ("floats", (int, float))):
            if all(isinstance(item, plain) for item in items):
                return {kind: list(items)}
        raise Unsupported

    def add(self, func, arguments, results, changed={}, origin="op_db"):
        """Adds a sample. `changed` are the arguments that the call changes."""
        i, kept = len(self.samples), dict(self.tensors)
        try:
            args = {name: self.value(f"s{i}.a.{name}", value) for name, value in arguments.items()}
            outs = () if not func._schema.returns else results if isinstance(results, tuple) else (results,)
            found = [self.value(f"s{i}.r{n}", value, False) for n, value in enumerate(outs)]
            after = {name: self.value(f"s{i}.m.{name}", value, False) for name, value in changed.items()}
        except Unsupported:
            self.tensors = kept
            return False
        self.samples.append({"args": args, "results": found, "from": origin})
        if after:
            self.samples[-1]["mutated"] = after
        return True

    def record(self, func, args, kwargs):
        """Makes a call and adds it, whether it succeeds or raises."""
        given = bind(func._schema, args, kwargs)
        before = {name: copied(value) for name, value in given.items()}
        written = [each.name for each in func._schema.arguments if each.alias_info and each.alias_info.is_write]
        try:
            results = func(*args, **kwargs)
        except Exception as error:
            if not self.add(func, before, ()):
                return
            self.samples[-1].update(results=[], raises=f"{type(error).__name__}: {str(error).splitlines()[0][:90]}")
            return
        self.add(func, before, results, {name: given[name] for name in written}, "listed")

    def write(self, folder, schema):
        header, blobs, offset = {}, [], 0
        for key in sorted(self.tensors):
            dtype, shape, data = self.tensors[key]
            header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
            blobs.append(data)
            offset += len(data)
        header["__metadata__"] = {"overload": self.overload, "schema": schema, "tier": "bonus",
                                  "torch": torch.__version__.split("+")[0], "tolerance": json.dumps(TOLERANCE),
                                  "samples": json.dumps(self.samples)}
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        (folder / f"{self.overload}.safetensors").write_bytes(
            struct.pack("<Q", len(text)) + text + b"".join(blobs))


def bind(schema, args, kwargs):
    """Returns every parameter of the schema with its value, defaults included."""
    out = {}
    for position, parameter in enumerate(schema.arguments):
        if position < len(args):
            out[parameter.name] = args[position]
        elif parameter.name in kwargs:
            out[parameter.name] = kwargs[parameter.name]
        else:
            out[parameter.name] = parameter.default_value
    return {name: value for name, value in out.items() if name != "generator"}


def copied(value):
    if isinstance(value, torch.Tensor):
        storage = value.untyped_storage().clone()
        return torch.empty(0, dtype=value.dtype).set_(storage, value.storage_offset(), value.shape, value.stride())
    if isinstance(value, (list, tuple)):
        return [copied(item) for item in value]
    return value


class Recorder(TorchDispatchMode):
    def __init__(self, files, limit):
        super().__init__()
        self.files, self.limit = files, limit

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        file = self.files.get(func)
        if file is None or len(file.samples) >= self.limit or func._schema.is_mutable:
            return func(*args, **kwargs)
        before = {name: copied(value) for name, value in bind(func._schema, args, kwargs).items()}
        results = func(*args, **kwargs)
        file.add(func, before, results)
        return results


def find_overload(name):
    namespace, operator, overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), operator), overload)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("overloads", nargs="+")
    parser.add_argument("--samples", type=int, default=12)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    from torch.testing._internal.common_methods_invocations import op_db
    files = {find_overload(name): File(name) for name in options.overloads}
    torch.manual_seed(options.seed)
    torch.set_num_threads(1)
    with torch.inference_mode(), Recorder(files, options.samples):
        for info in op_db:
            for dtype in (torch.float32, torch.int64, torch.complex64, torch.float16):
                if not info.supports_dtype(dtype, "cpu"):
                    continue
                try:
                    for sample in info.sample_inputs("cpu", dtype, requires_grad=False):
                        info(sample.input, *sample.args, **sample.kwargs)
                except Exception:  # an operator that this machine does not support does not stop the script
                    continue
    options.out.mkdir(parents=True, exist_ok=True)
    for func, file in files.items():
        if file.samples:
            file.write(options.out, str(func._schema))
        else:
            print(f"{file.overload}: no call of it was seen", file=sys.stderr)


if __name__ == "__main__":
    main()
