"""Makes the programs of tests/data/bindings with real torch: binding_models.py FOLDER."""

import pathlib
import sys

import torch

NAMES = """uint8 int8 int16 int32 int64 float16 float32 float64 complex32 complex64 complex128 bool bfloat16 uint16
    float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu uint32 uint64""".split()


def transposing():
    """Returns a module whose forward transposes one input of each dtype. The inputs have the names of their dtypes."""
    results = ", ".join(f"{name}.t()" for name in NAMES)
    scope = {"torch": torch}
    forward = f"  def forward(self, {', '.join(NAMES)}):\n    return [{results}]\n"
    exec(f"class Transpose(torch.nn.Module):\n{forward}", scope)
    return scope["Transpose"]()


def zeros(name):
    dtype = getattr(torch, name)
    return torch.zeros(6 * dtype.itemsize, dtype=torch.uint8).view(dtype).reshape(2, 3)


class Values(torch.nn.Module):
    """Takes and returns values that are not tensors. The first result has an unknown size."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x, n, flag, name="\u00e9", rest=None):
        self.total.add_(x)
        many = self.total * n
        return {"found": x.nonzero(), "next": n + 1, "half": 0.5, "flag": flag, "rest": rest, "many": many}


class Many(torch.nn.Module):
    """Takes and returns more tensors than a small fixed array holds, and tensors without elements or dimensions."""

    def forward(self, x, *rest):
        return (x > 0, *rest)


folder = pathlib.Path(sys.argv[1])
torch.export.save(torch.export.export(transposing(), tuple(map(zeros, NAMES))), folder / "dtypes.pt2")
shapes = {"x": None, "n": torch.export.Dim.DYNAMIC, "flag": None, "name": None}
values = torch.export.export(Values(), (torch.ones(3), 4, True), {"name": "\u00e9"}, dynamic_shapes=shapes)
torch.export.save(values, folder / "values.pt2")
numbers = tuple(torch.tensor(float(i)) for i in range(70))
shapes = ({0: torch.export.Dim("n", min=0, max=9)}, tuple({} for _ in numbers))
many = torch.export.export(Many(), (torch.ones(3), *numbers), dynamic_shapes=shapes)
torch.export.save(many, folder / "many.pt2")
