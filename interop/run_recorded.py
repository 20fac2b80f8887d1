"""Checks that this PyTorch loads programs and that they give the recorded results. Runs under the Python of one release.

    python run_recorded.py [--load-only] < PAIRS > RESULTS

PAIRS has a line for each file: the program, a tab, the .safetensors file of its recorded calls (docs/recorded-calls.md).
A program without that file is only loaded.
RESULTS gets a line of JSON for each file when it is done: {"file", "ok", "stage", "error"}. The stage is where the check
ended: "load", "run" (a call raised, or should have raised and did not), "compare" (other numbers), "time". Each file has a
process of its own, so a crash or an endless loop affects only that file. Needs only torch.
"""

import collections
import dataclasses
import inspect
import io
import json
import os
import signal
import struct
import sys
import warnings

import torch
import torch.utils._pytree as pytree

RELEASE = tuple(int(number) for number in torch.__version__.split(".")[:2])
SECONDS = 120
DTYPES = {
    "BOOL": torch.bool, "U8": torch.uint8, "I8": torch.int8, "I16": torch.int16, "I32": torch.int32, "I64": torch.int64,
    "F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64,
}  # fmt: skip
for letters, name in (("U16", "uint16"), ("U32", "uint32"), ("U64", "uint64"),
                      ("F8_E4M3", "float8_e4m3fn"), ("F8_E5M2", "float8_e5m2")):  # fmt: skip
    if hasattr(torch, name):
        DTYPES[letters] = getattr(torch, name)


# Classes and custom operators of the corpus's programs, which torch lacks.

Pair = collections.namedtuple("Pair", ["left", "right"])


@dataclasses.dataclass
class Box:
    low: torch.Tensor
    high: torch.Tensor
    label: object = None


# Releases before 2.3 registered these names by themselves.
OldPair = collections.namedtuple("Pair", ["left", "right"])


@dataclasses.dataclass
class OldBox(Box):
    pass


def register_classes():
    if hasattr(pytree, "_register_namedtuple"):
        pytree._register_namedtuple(Pair, serialized_type_name="corpus.Pair")
        pytree._register_namedtuple(OldPair, serialized_type_name="Pair")
    from torch._export.utils import register_dataclass_as_pytree_node

    if "serialized_type_name" in inspect.signature(register_dataclass_as_pytree_node).parameters:
        register_dataclass_as_pytree_node(Box, serialized_type_name="corpus.Box")
        register_dataclass_as_pytree_node(OldBox, serialized_type_name="__main__.Box")
    else:
        register_dataclass_as_pytree_node(Box)  # 2.1 calls it __main__.Box


def register_flatten_specs():
    """PyTorch before 2.7 asks users to do this: "Please register one with ... register_pytree_flatten_spec"."""
    import torch.fx._pytree as fx_pytree

    def fields(value, spec):
        names = spec.context[-2]  # before 2.3 the class comes first
        return [getattr(value, name) for name in names]

    flatten = {
        Box: fields,
        OldBox: fields,
        collections.OrderedDict: lambda value, spec: [value[key] for key in spec.context],
        collections.defaultdict: lambda value, spec: [value[key] for key in spec.context[1]],
        collections.deque: lambda value, spec: list(value),
    }
    for cls, function in flatten.items():
        if cls not in fx_pytree.SUPPORTED_NODES:
            fx_pytree.register_pytree_flatten_spec(cls, function)


def register_operators():
    """Registers the operators. They exist as long as the returned library objects."""
    import torch.ao.quantization.fx._decomposed  # noqa: F401
    own = torch.library.Library("corpus", "DEF")
    own.define(
        'scale_shift(Tensor x, float a, int[] dims, Tensor? bias=None, *, str mode="add", bool[] flags=[]) -> Tensor'
    )
    own.define("add_into(Tensor(a!) out, Tensor x) -> ()")
    own.define("parts(Tensor x, int n) -> (Tensor[], Tensor?, int)")
    effect = torch.library.Library("corpus_effect", "DEF")
    effect.define("note(Tensor x) -> Tensor")

    def scale_shift(x, a, dims, bias=None, *, mode="add", flags=()):
        result = x * a + sum(dims)
        if bias is None:
            return result
        return result + bias if mode == "add" else result - bias

    for key in ("CPU", "Meta"):
        own.impl("scale_shift", scale_shift, key)
        own.impl("add_into", lambda out, x: (out.add_(x), None)[1], key)
        own.impl("parts", lambda x, n: (list(x.clone().chunk(n)), None, n + 1), key)
        effect.impl("note", lambda x: x.clone(), key)
    try:
        from torch._higher_order_ops import effects

        kind = getattr(effects, "_EffectType", None)
        if kind is None:
            from torch._library.effects import EffectType as kind
        if hasattr(effects, "_register_effectful_op"):
            effects._register_effectful_op(torch.ops.corpus_effect.note.default, kind.ORDERED)
        else:
            effects.SIDE_EFFECTS[torch.ops.corpus_effect.note.default] = kind.ORDERED
    except Exception:
        pass  # this release has no effects
    return own, effect


class Recorded:
    """The recorded calls of one program."""

    def __init__(self, path):
        with open(path, "rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            self.header = json.loads(file.read(size))
            self.data = bytearray(file.read())
        metadata = self.header.pop("__metadata__")
        self.calls = json.loads(metadata["calls"])
        self.case = json.loads(metadata.get("case", "{}"))

    def tensor(self, entry):
        found = self.header[entry["tensor"]]
        begin, end = found["data_offsets"]
        dtype = DTYPES[found["dtype"]]
        flat = torch.frombuffer(bytearray(self.data[begin:end]), dtype=dtype) if end > begin else torch.empty(0, dtype=dtype)
        result = flat.reshape(found["shape"])
        view = entry.get("view_as")
        if view in ("complex32", "complex64", "complex128"):
            result = torch.view_as_complex(result)
        elif view:
            result = result.view(getattr(torch, view))
        # copy_ refuses a tensor whose elements share memory (stride 0).
        if all(entry.get("strides", [0])):
            strided = torch.empty_strided(list(result.shape), entry["strides"], dtype=result.dtype)
            result = strided.copy_(result)
        return result

    def value(self, entry):
        if "tensor" in entry:
            return self.tensor(entry)
        if "complex" in entry:
            return complex(*entry["complex"])
        if "none" in entry:
            return None
        ((kind, value),) = ((k, v) for k, v in entry.items() if k in ("int", "float", "bool", "str"))
        return float(value) if kind == "float" else value


def describe(value):
    return f"{value.dtype} {list(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)


def compare(expected, found, random, where):
    if isinstance(expected, torch.Tensor):
        if not isinstance(found, torch.Tensor) or (found.dtype, found.shape) != (expected.dtype, expected.shape):
            raise AssertionError(f"{where}: found {describe(found)}, expected {describe(expected)}")
        if random:
            return
        found = found.detach()
        if expected.dtype.itemsize == 1 and expected.dtype.is_floating_point or expected.dtype == torch.complex32:
            expected, found = (x.contiguous().view(torch.uint8) for x in (expected, found))
        if str(expected.dtype) in ("torch.uint16", "torch.uint32", "torch.uint64"):
            expected, found = (x.contiguous().view(torch.uint8) for x in (expected, found))
        torch.testing.assert_close(found, expected, equal_nan=True, msg=lambda text: f"{where}: {text}")
    elif isinstance(expected, float):
        same = found == expected or (found != found and expected != expected)
        if not same and not random and abs(found - expected) > 1e-6 * max(1, abs(expected)):
            raise AssertionError(f"{where}: found {found!r}, expected {expected!r}")
    elif found != expected:
        raise AssertionError(f"{where}: found {found!r}, expected {expected!r}")


def state_of(module):
    return {**dict(module.named_parameters(remove_duplicate=False)), **dict(module.named_buffers(remove_duplicate=False))}


def call_arguments(program, flat):
    """Returns (args, kwargs). 2.1 omits empty kwargs (torch/_export/utils.py)."""
    structure = pytree.tree_unflatten(flat, program.call_spec.in_spec)
    has_both = len(structure) == 2 and isinstance(structure[0], tuple) and isinstance(structure[1], dict)
    return structure if has_both else (structure, {})


def joint_graph(program):
    """Returns a function that calls the program's graph, with the parameters first."""
    state = {**program.state_dict, **program.constants}

    def call(*user_inputs):
        given = iter(user_inputs)
        specs = program.graph_signature.input_specs
        return program.graph_module(*[state[each.target] if each.target else next(given) for each in specs])

    return call


def runner(program):
    """Returns (the callable for users of this release, a function that returns the state after a call)."""
    # The output tree of the module has no entry for gradients. 2.5 counts the loss among the results; 2.1 has
    # no output_specs.
    if any(each.kind.name.startswith("GRADIENT") for each in getattr(program.graph_signature, "output_specs", ())):
        return joint_graph(program), lambda: program.state_dict
    # Before 2.3, call the program itself; its module has neither keyword arguments nor checks.
    if RELEASE < (2, 3):
        return program, lambda: program.state_dict
    module = program.module()
    return module, lambda: state_of(module)


def repeat(program, recorded):
    """Makes every recorded call in order. Returns (stage, error) of the first that differs, or nothing."""
    call_program, current_state = runner(program)
    random = bool(recorded.case.get("random"))
    for k, call in enumerate(recorded.calls):
        flat = [recorded.value(each) for each in call["in"]]
        args, kwargs = call_arguments(program, flat)
        torch.manual_seed(0)
        try:
            result = call_program(*args, **kwargs)
        except Exception as e:
            if "error" in call:
                continue
            return "run", f"call {k}: {described(e)}"
        if "error" in call:
            return "run", f"call {k}: torch {recorded.case.get('torch', '')} refused it, and this one did not"
        leaves = pytree.tree_flatten(result)[0]
        if len(leaves) != len(call["out"]):
            return "compare", f"call {k}: {len(leaves)} results, expected {len(call['out'])}"
        any_random = random or bool(call.get("random"))
        try:
            for i, (expected, found) in enumerate(zip(call["out"], leaves)):
                compare(recorded.value(expected), found, any_random, f"call {k}, result {i}")
            state = current_state()
            for name, expected in call.get("mut", {}).items():
                if name in state:
                    compare(recorded.value(expected), state[name], any_random, f"call {k}, {name}")
            for i, expected in call.get("mutin", {}).items():
                compare(recorded.value(expected), flat[int(i)], any_random, f"call {k}, input {i}")
        except AssertionError as e:
            return "compare", str(e)
    return None


def described(error):
    """Returns the error's text, beginning with its cause: PyTorch's text around the cause can be pages long."""
    text = f"{type(error).__name__}: {error}"
    return text if error.__cause__ is None else f"{described(error.__cause__)} (so {text})"


def load(path):
    try:
        return torch.export.load(path)
    except (KeyError, RuntimeError) as e:
        # The program in the package has another name, or the loader hides the actual error.
        if e.args != ("model",) and "check the warnings above" not in str(e):
            raise
        from torch.export.pt2_archive._package import load_pt2

        programs = load_pt2(path).exported_programs
        return programs["model"] if "model" in programs else next(iter(programs.values()))


def check(path, calls, load_only):
    try:
        program = load(path)
    except Exception as e:
        return "load", described(e)
    try:
        return None if load_only or not os.path.exists(calls) else repeat(program, Recorded(calls))
    except Exception as e:
        return "run", described(e)


def check_apart(path, calls, load_only):
    """Runs one file in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        os.close(read)
        found = check(path, calls, load_only)
        with os.fdopen(write, "w") as pipe:
            json.dump(found, pipe)
            pipe.flush()
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if text:
        return json.loads(text)
    return "time", f"ended by signal {status & 127}"


def shortened(text):
    """Shortens an error: PyTorch prints whole nodes before the actual fault."""
    return text if len(text) < 700 else f"{text[:200]} ... {text[-480:]}"


def warm_up():
    """Loads the modules that every child needs, once."""

    class Double(torch.nn.Module):
        def forward(self, x):
            return x * 2

    buffer = io.BytesIO()
    torch.export.save(torch.export.export(Double(), (torch.zeros(2),)), buffer)
    buffer.seek(0)
    torch.export.load(buffer).module()(torch.zeros(2))


def main():
    import logging

    logging.disable(logging.ERROR)
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    sys.stderr = open(os.devnull, "w")
    try:
        register_classes()
    except Exception:
        pass  # a release that lacks these modules has no program that needs them
    register_flatten_specs()
    libraries = register_operators()
    warm_up()
    load_only = "--load-only" in sys.argv
    for line in sys.stdin:
        path, _, calls = line.rstrip("\n").partition("\t")
        found = check_apart(path, calls, load_only)
        result = {"file": path, "ok": found is None}
        if found is not None:
            result["stage"], result["error"] = found[0], shortened(found[1])
        print(json.dumps(result), flush=True)
    del libraries


if __name__ == "__main__":
    main()
