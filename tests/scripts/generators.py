#!/usr/bin/env python3
"""Exports a program that draws from two generators of its own, by every overload that torch.export writes. Records three
consecutive calls, in which the generators advance.

    generators.py OUT_DIR
"""
import pathlib
import sys

import torch

from vmap_forms import save


class Generators(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.used = torch.Generator().manual_seed(7)
        torch.randn(3, generator=self.used)  # keeps the second number of a pair for later
        self.fresh = torch.Generator().manual_seed(2**40 + 3)

    def forward(self, x):
        g = self.used
        p = x.sigmoid()
        return (
            torch.randn(3, generator=g),
            torch.rand(2, 3, generator=self.fresh),
            torch.randn(20, generator=self.fresh),
            torch.randint(10, (4,), generator=g),
            torch.randint(-5, 10, (4,), generator=g),
            torch.randperm(7, generator=g),
            torch.rand_like(x, generator=g),
            torch.randn_like(x, generator=g),
            torch.randint_like(x, 6, generator=g),
            torch.randint_like(x, -3, 6, generator=g),
            torch.bernoulli(p, generator=g),
            torch.bernoulli(p, 0.25, generator=g),
            torch.empty_like(x).bernoulli_(0.5, generator=g),
            torch.empty_like(x).normal_(generator=g),
            torch.normal(x, p, generator=g),
            torch.normal(x, 2.0, generator=g),
            torch.normal(1.0, p, generator=g),
            torch.multinomial(p, 2, generator=g),
            torch.rand(700, generator=g)[::100],
        )


torch.manual_seed(0)
x = torch.tensor([-1.0, 0.5, 0.0, 2.0, 1.5])
save(pathlib.Path(sys.argv[1]), "generators", Generators(), [(x,), (x * 2,), (x,)])
