#!/usr/bin/env python3
"""Makes small real exports whose graphs or guards have rare forms: exports.py FOLDER (torch 2.15)."""
import dataclasses
import json
import pathlib
import sys
import zipfile

import torch
from safetensors.torch import save_file
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.hints_wrap import hints_wrapper
from torch._higher_order_ops.map import map as map_
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim
from torch.testing._internal.two_tensor import TwoTensor

AUTO = Dim.AUTO


@dataclasses.dataclass
class Pair:
    a: torch.Tensor
    b: torch.Tensor


@dataclasses.dataclass
class Nested:
    pair: Pair
    c: torch.Tensor


for cls in (Pair, Nested):
    torch.export.register_dataclass(cls, serialized_type_name=cls.__name__)


def x(*sizes):
    return torch.arange(torch.Size(sizes).numel(), dtype=torch.float32).reshape(sizes)


def sym_operand(self, x, n):
    u = n.item()
    torch._check(u >= 2)
    torch._check(u < 10)
    return torch.cond(x.sum() > 0, lambda x, u: x + u, lambda x, u: x - u, (x, u))


def size_operand(self, x):
    n = x.shape[0]
    return torch.cond(x.sum() > 0, lambda x: x + x.shape[0], lambda x: x - n, (x,))


def size_in_map(self, x, y):
    n = y.shape[0]
    return map_(lambda row, y: row * n + y.sum(), x, y)


def sym_carried(self, x, n):
    return while_loop(lambda i, x: i > 0, lambda i, x: (i - 1, x + 1), (n.item(), x))


def unused_operand(self, x, y):
    return hints_wrapper(lambda x, y: x + 1, (x, y), {}, hints={"a": 1})


def other_autocast(self, x):
    with torch.autocast("cuda", dtype=torch.float16):
        return x @ x


def sizes_without_autocast(self, x):
    n = x.shape[0]
    positions = torch.arange(n)
    with torch.autocast("cpu", enabled=False):
        angles = positions[:, None] * x[:, :2].reshape(n, 2)
        half = n // 2
    return angles + x[half : half + 1, :2], half + positions


def unsigned_product(self, a, b):
    return torch._int_mm(a, b)


def keywords(self, x, **kw):
    return x + kw["mask"] * kw["scale"]


def variadic(self, *xs):
    return xs[0] + xs[1] + xs[2]


def nested_dataclass(self, p, q):
    return p.pair.a + p.pair.b + p.c + q


def dtype_questions(self, x, y):
    dtype = torch.promote_types(x.dtype, y.dtype)
    torch.can_cast(x.dtype, y.dtype), torch.result_type(x, 2), torch.result_type(2.5, x), torch.result_type(1, 2.5)
    x.is_set_to(y), x.is_distributed()
    return x.to(dtype) + torch.ones(3, dtype=torch.result_type(x, y))


def bags(self, weight, indices, offsets):
    return [torch.nn.functional.embedding_bag(indices, weight, offsets, mode=mode, include_last_offset=True)
            for mode in ("sum", "mean", "max")]


def inner_tensors(self, x):
    return x * self.w.a + self.w.b


def recurrent(self, x, state, of_input, of_state):
    return torch.gru(x, state, (of_input, of_state), False, 1, 0.0, False, False, False)[0]


def whole_subclass(self, x):
    return x + self.w


def part_between(self, x, begin, end):
    i, j = begin.item(), end.item()
    torch._check(i >= 0)
    torch._check(j >= i)
    torch._check(j <= x.shape[0])
    return x[i:j].sum(0), x.narrow(0, i, j - i)


def halves(self, x):
    first, second = x.split(2)
    return first + second, first * 2


def half_statistics(self, x):
    """Statistics as run_decompositions() writes them: half in the trace, although the kernels give float32."""
    w, b, ops = torch.ones(3), torch.zeros(3), torch.ops.aten
    batch = ops._native_batch_norm_legit_functional(x, w, b, b, w, True, 0.1, 1e-5)
    known = ops._native_batch_norm_legit_no_training(x, w, b, b, w, 0.1, 1e-5)
    groups = ops.native_group_norm(x, w, b, 2, 3, 4, 1, 1e-5)
    return batch[0].float().sum() + known[0].float().sum(), groups[0], batch[1], groups[2]


def take_twice(graph):
    """Makes another node take the first half for the product, a form that graph passes leave behind."""
    (split,) = graph.find_nodes(op="call_function", target=torch.ops.aten.split.Tensor)
    (product,) = graph.find_nodes(op="call_function", target=torch.ops.aten.mul.Tensor)
    first = product.args[0]
    with graph.inserting_after(first):
        again = graph.call_function(first.target, (split, 0))
    again.meta = dict(first.meta)
    product.args = (again, 2)


D = {0: AUTO}
NAN = float("nan")
mask = {"mask": x(4, 3), "scale": x(4, 3)}
# Name: (forward, arguments, keyword arguments, dynamic shapes, strict).
def small_numbers(self, x, y, z, n, limit):
    scale = n if x.shape[0] // y.shape[0] == 2 else 1
    return x * scale, torch.diff(z, dim=0), torch.nn.functional.pad(y, (-2, 3))


def prints(self, x):
    torch._higher_order_ops.print("rows {n:>4}, mean {0:.2f} {{}} {1}", x.mean(), x, n=x.shape[0])
    torch.ops.aten._print("printed")
    return x + 1


def running_sums(self, x):
    return associative_scan(lambda sum, row: sum * 2 + row, x, dim=0, combine_mode="pointwise")


PROGRAMS = {
    "cond_symbol": (sym_operand, (x(4, 3), torch.tensor(3)), {}, None, True),
    "cond_size": (size_operand, (x(4, 3),), {}, (D,), True),
    "map_size": (size_in_map, (x(4, 3), x(5)), {}, (D, D), True),
    "while_symbol": (sym_carried, (x(4, 3), torch.tensor(3)), {}, None, True),
    "hints_unused": (unused_operand, (x(4, 3), x(4, 3)), {}, None, True),
    "autocast_absent": (other_autocast, (x(3, 3),), {}, None, True),
    "autocast_sizes": (sizes_without_autocast, (x(6, 3),), {}, (D,), False),
    "int_mm_unsigned": (unsigned_product, (torch.full((20, 16), 255, dtype=torch.uint8), torch.full((16, 8), -128, dtype=torch.int8)), {}, None, True),
    "strict_keywords": (keywords, (x(4, 3),), mask, {"x": D, "kw": {"mask": D, "scale": D}}, True),
    "keywords": (keywords, (x(4, 3),), mask, {"x": D, "kw": {"mask": D, "scale": D}}, False),
    "variadic": (variadic, (x(4, 3), x(4, 3), x(4, 3)), {}, ((D, D, D),), False),
    "strict_dataclass": (nested_dataclass, (Nested(Pair(x(4, 3), x(4, 3)), x(4, 3)), x(4, 3)), {}, ([[D, D], D], D), True),
    "subclass": (inner_tensors, (x(4, 3),), {}, (D,), False),
    "subclass_whole": (whole_subclass, (x(4, 3),), {}, None, False),
    "bags": (bags, (x(5, 3), torch.tensor([0, 1, 2, 4]), torch.tensor([0, 2, 3])), {}, None, False),
    "part_between": (part_between, (x(8, 3), torch.tensor(2), torch.tensor(5)), {}, None, False),
    "repeated_getitem": (halves, (x(4, 2),), {}, None, False),
    "half_statistics": (half_statistics, (x(2, 3, 4).bfloat16(),), {}, None, False),
    "dtype_questions": (dtype_questions, (x(4, 3).int(), x(4, 3)), {}, None, False),
    "small_numbers": (small_numbers, (x(8), x(4), x(5, 3), 7, NAN), {}, (D, D, D, AUTO, None), False),
    "prints": (prints, (x(3, 2),), {}, (D,), False),
    "recurrent_core": (recurrent, (x(2, 1, 2), x(1, 1, 2), x(6, 2) / 9, -x(6, 2) / 9), {}, None, False),
    "prints_core": (prints, (x(3, 2),), {}, (D,), False),
    "associative_scan": (running_sums, (x(3, 2),), {}, None, False),
}


# Calls to record beside a program.
CALLS = {
    "small_numbers": [
        (x(8), x(4), x(5, 3), 7, NAN),
        (x(8), x(4), x(0, 3), -5, NAN),
        (x(8), x(4), x(1, 3), 0, NAN),
        (x(4), x(2), x(2, 3), 1, NAN),
        (x(8), x(0), x(5, 3), 7, NAN),  # the guard divides by zero
        (x(2), x(1), x(5, 3), 7, NAN),  # pad crops more than there is
        (x(8), x(4), x(5, 3), 7, 1.0),
    ],
}


def record(program, calls, path):
    tensors, recorded = {}, []

    def value(key, each):
        if isinstance(each, torch.Tensor):
            tensors[key] = each.contiguous()
            return {"tensor": key}
        return {"int": each} if isinstance(each, int) else {"float": each if each == each else "nan"}

    for i, args in enumerate(calls):
        call = {"in": [value(f"call{i}.in.{j}", each) for j, each in enumerate(args)]}
        try:
            results = program.module()(*args)
            call["out"] = [value(f"call{i}.out.{j}", each) for j, each in enumerate(results)]
        except Exception as error:
            call["error"] = {"type": type(error).__name__, "text": str(error)}
        recorded.append(call)
    save_file(tensors, path, metadata={"calls": json.dumps(recorded), "torch": torch.__version__})


def without_traces(value):
    """Returns the JSON without stack traces, because these name files of this machine."""
    if isinstance(value, dict):
        return {k: without_traces(v) for k, v in value.items() if k != "stack_trace"}
    return [without_traces(v) for v in value] if isinstance(value, list) else value


def clean(path):
    with zipfile.ZipFile(path) as z:
        records = [(e.filename, z.read(e)) for e in z.infolist()]
    with zipfile.ZipFile(path, "w") as z:
        for name, data in records:
            if name.endswith("models/model.json"):
                data = json.dumps(without_traces(json.loads(data))).encode()
            z.writestr(zipfile.ZipInfo(name), data)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for name, (forward, args, kwargs, shapes, strict) in PROGRAMS.items():
        module = type("Program", (torch.nn.Module,), {"forward": forward})()
        if name.startswith("subclass"):
            module.w = torch.nn.Parameter(TwoTensor(x(3), 10 * x(3)))
        program = torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=strict)
        if name == "repeated_getitem":
            take_twice(program.graph)
        if name.endswith("_core"):
            program = program.run_decompositions()
        torch.export.save(program, folder / f"{name}.pt2")
        clean(folder / f"{name}.pt2")
        if name in CALLS:
            record(torch.export.load(folder / f"{name}.pt2"), CALLS[name], folder / f"{name}.safetensors")


if __name__ == "__main__":
    main()
