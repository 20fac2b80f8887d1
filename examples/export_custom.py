"""Exports a program that calls custom operators: custom.pt2."""

import torch

library = torch.library.Library("mylib", "DEF")
library.define("scale(Tensor x, float factor=2.0) -> Tensor")
library.define("split_sign(Tensor x) -> (Tensor positive, Tensor negative)")
library.define("add_into(Tensor(a!) out, Tensor x, *, Scalar alpha=1) -> ()")


def add_into(out, x, *, alpha=1):
    out.add_(x, alpha=alpha)


for key in ("CPU", "Meta"):
    library.impl("scale", lambda x, factor=2.0: x * factor, key)
    library.impl("split_sign", lambda x: (x.clamp(min=0), x.clamp(max=0)), key)
    library.impl("add_into", add_into, key)


class Custom(torch.nn.Module):
    def forward(self, x):
        positive, negative = torch.ops.mylib.split_sign(torch.ops.mylib.scale(x))
        out = torch.ops.mylib.scale(positive, 0.5)
        torch.ops.mylib.add_into(out, negative, alpha=10)
        return out


batch = torch.export.Dim("batch", min=1, max=1024)
program = torch.export.export(Custom(), (torch.tensor([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]]),), dynamic_shapes=({0: batch},))
torch.export.save(program, "custom.pt2")
