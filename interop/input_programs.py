"""Exports programs whose inputs are hard to name, for convert_matrix.py.

    python interop/input_programs.py FOLDER
    PT2_CORPUS=FOLDER python interop/convert_matrix.py PT2 RELEASE=PYTHON ...

The programs have keyword arguments, nested containers, dataclasses and dynamic dimensions that must be equal. Strict export
writes guards that name such inputs by position or by path, differently from release to release. Each program is exported
both strictly and non-strictly, and recorded (docs/recorded-calls.md) with the sizes of the export and with others. FOLDER
gets a folder for the release of this torch. Programs that torch.export refuses are printed and left out. If PyTorch cannot
run the file that it saved, the results are those of the original module.
"""

import copy
import inspect
import io
import json
import sys
import warnings
from collections import OrderedDict
from pathlib import Path

import torch
import torch.utils._pytree as pytree
from record_calls import record
from run_recorded import Box, Pair, register_classes
from safetensors.torch import save_file
from torch import nn
from torch.export import Dim

BATCH, OTHER_BATCH = 4, 6
SIZE = 5


def floats(*sizes):
    """Returns a function that makes floats; None among the sizes stands for the dynamic batch."""
    return lambda n: torch.randn([n if size is None else size for size in sizes])


X = floats(None, SIZE)


class Linear(nn.Module):
    """A function of several inputs. Its parameters and a buffer precede the inputs among the placeholders."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(SIZE, SIZE)
        self.register_buffer("scale", torch.full((SIZE,), 1.5))


def program(function, *args, **kwargs):
    return type(function.__name__, (Linear,), {"forward": function}), args, kwargs


def all_of_keywords(self, x, **kw):
    return self.linear(x) * kw["scale"] + kw["shift"] * self.scale


def optional_mask(self, x, *, mask=None, bias=None):
    y = self.linear(x)
    y = y if mask is None else y.masked_fill(mask, 0.0)
    return y if bias is None else y + bias


def variadic(self, *xs):
    return self.linear(sum(xs)) * len(xs)


def variadic_and_keywords(self, *xs, **kw):
    return self.linear(torch.cat([*xs, kw["more"]])), kw["factor"] * self.scale


def pairs(self, x):
    (a, b), (c, d) = x
    return self.linear(a + b) - c * d


def dictionary(self, batch):
    return {"y": self.linear(batch["x"]), "z": batch["x"] + batch["w"]}


def nested(self, batch, state):
    h, c = state["rnn"][0], state["rnn"][1]
    y = self.linear(batch["features"]["dense"] + h)
    return {"y": y, "state": {"rnn": [y.tanh(), c + y]}}


def dataclass(self, box):
    return Box(self.linear(box.low), box.high * self.scale)


def dataclass_inside(self, x, boxes):
    return self.linear(x) + sum(each.low * each.high for each in boxes), boxes[0]


def named_tuple(self, pair, x):
    return Pair(self.linear(pair.left) + x, pair.right - x)


def ordered(self, x):
    return self.linear(x["b"]) + x["a"]


def numbers(self, x, options):
    return self.linear(x)[:, : options["width"]] * options["factor"], x.sum(dim=options["dims"])


def none_inside(self, x, options):
    y = self.linear(x)
    return y if options["bias"] is None else y + options["bias"]


def equal_sizes(self, x, y, z):
    return self.linear(x) + y * z


def equal_within(self, x):
    return x + x.transpose(0, 1), self.scale.sum() * x


def joined(self, x, y):
    return self.linear(torch.cat([x, y])), torch.stack([x[0], y[0]])


def twice_as_long(self, x, y):
    return self.linear(x) + y.view(x.shape[0], 2, SIZE).sum(1)


def products(self, x, y):
    return x @ y, (y @ x) + self.scale.sum()


def lists(self, xs):
    return [self.linear(each) for each in xs], torch.cat(xs)


def attention(self, query, *, memory, mask):
    k = self.linear(memory["key"])
    weights = (query @ k.mT).masked_fill(mask["padding"][:, None, :], -1e9).softmax(-1)
    return weights @ memory["value"]


def written_input(self, x, cache):
    cache["keys"].add_(x)
    return self.linear(cache["keys"])


def unused_input(self, x, extra):
    return self.linear(x)


def shape_as_value(self, x, box):
    return self.linear(x) * x.shape[0], box.low.new_zeros(box.high.shape[0] + x.shape[0])


def keyword_dataclass(self, x, *, box, table):
    return self.linear(x) * box.low + table["a"][0] * box.high


def below_limit(self, x, y):
    n = min(x.shape[0], 32)
    return self.linear(x)[:n] + y[:n]


def pair_of_boxes(self, pair):
    return pair.left.low + self.linear(pair.right.high), Pair(pair.right.low, pair.left.high)


PROGRAMS = [
    program(all_of_keywords, X, scale=X, shift=X),
    program(optional_mask, X, mask=lambda n: X(n) > 0),
    program(variadic, X, X, X),
    program(variadic_and_keywords, X, X, more=X, factor=X),
    program(pairs, ((X, X), (X, X))),
    program(dictionary, {"x": X, "w": X}),
    program(nested, {"features": {"dense": X}}, {"rnn": [X, X]}),
    program(dataclass, Box(X, X)),
    program(dataclass_inside, X, [Box(X, X), Box(X, X)]),
    program(named_tuple, Pair(X, X), X),
    program(ordered, OrderedDict(b=X, a=X)),
    program(numbers, X, {"width": 3, "factor": 0.5, "dims": [0, 1]}),
    program(none_inside, X, {"bias": None, "unused": X}),
    program(equal_sizes, X, X, X),
    program(equal_within, floats(None, None, SIZE)),
    program(joined, X, X),
    program(twice_as_long, X, lambda n: torch.randn(2 * n, SIZE)),
    program(products, floats(None, 7), floats(7, None)),
    program(lists, [X, X, X]),
    program(
        attention, floats(2, None, SIZE),
        memory={"key": floats(2, None, SIZE), "value": floats(2, None, SIZE)}, mask={"padding": lambda n: torch.ones(2, n) < 0},
    ),
    program(written_input, X, {"keys": X}),
    program(unused_input, X, {"a": X, "b": [X]}),
    program(shape_as_value, X, Box(X, X)),
    program(keyword_dataclass, X, box=Box(X, X), table={"a": [X]}),
    program(below_limit, X, X),
    program(pair_of_boxes, Pair(Box(X, X), Box(X, X))),
]  # fmt: skip


def made(tree, n):
    return pytree.tree_map(lambda make: make(n) if callable(make) else make, tree)


def dynamic_sizes(tree):
    """Returns the dynamic shapes: every size that another batch changes is Dim.AUTO."""

    def sizes(make):
        if not callable(make):
            return None
        one, other = make(BATCH), make(OTHER_BATCH)
        return {d: Dim.AUTO for d in range(one.dim()) if one.size(d) != other.size(d)}

    # torch.export expects the dynamic shapes of a dataclass as a list with one entry for each field that is not None.
    def of(tree):
        if isinstance(tree, Box):
            return [of(tree.low), of(tree.high)]
        if isinstance(tree, dict):
            return {key: of(each) for key, each in tree.items()}
        if isinstance(tree, Pair):
            return Pair(*map(of, tree))
        return type(tree)(map(of, tree)) if isinstance(tree, (list, tuple)) else sizes(tree)

    return of(tree)


def save(cls, args, kwargs, is_strict, path):
    torch.manual_seed(0)
    one = (made(args, BATCH), made(kwargs, BATCH))
    other = (made(args, OTHER_BATCH), made(kwargs, OTHER_BATCH))
    shapes = (dynamic_sizes(args), dynamic_sizes(kwargs))
    # The parameters after self: *xs takes all positional inputs, **kw all keyword inputs, other parameters one each.
    dynamic = {}
    positions = iter(shapes[0])
    for parameter in list(inspect.signature(cls.forward).parameters.values())[1:]:
        if parameter.kind is parameter.VAR_POSITIONAL:
            dynamic[parameter.name] = tuple(positions)
        elif parameter.kind is parameter.VAR_KEYWORD:
            dynamic[parameter.name] = shapes[1]
        elif parameter.kind is not parameter.KEYWORD_ONLY:
            dynamic[parameter.name] = next(positions)
        elif parameter.name in shapes[1]:
            dynamic[parameter.name] = shapes[1][parameter.name]
    original = cls()
    exported = torch.export.export(original, *one, dynamic_shapes=dynamic, strict=is_strict)
    buffer = io.BytesIO()
    torch.export.save(exported, buffer)
    buffer.seek(0)
    path.write_bytes(buffer.getvalue())
    tensors = {}
    case = {"source": "loaded"}
    try:
        module = torch.export.load(buffer).module()
        module(*copy.deepcopy(one[0]), **copy.deepcopy(one[1]))
    except NameError as error:
        print(f"{path.stem}: PyTorch cannot run it itself: {error}")
        module = original
        case = {"source": "module"}
    calls = [record(module, *each, k, tensors) for k, each in enumerate((one, other))]
    save_file(tensors, path.with_suffix(".safetensors"), {"calls": json.dumps(calls), "case": json.dumps(case)})


def main():
    warnings.filterwarnings("ignore")
    register_classes()
    # The example inputs name their classes by module. Under run_recorded.py these classes are in the main module.
    Box.__module__ = Pair.__module__ = "__main__"
    folder = Path(sys.argv[1]) / torch.__version__.split("+")[0]
    folder.mkdir(parents=True, exist_ok=True)
    for cls, args, kwargs in PROGRAMS:
        for is_strict in (True, False):
            name = cls.__name__ + ("_strict" if is_strict else "")
            try:
                save(cls, args, kwargs, is_strict, folder / f"{name}.pt2")
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}"[:200].replace("\n", " "))


if __name__ == "__main__":
    main()
