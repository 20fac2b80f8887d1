"""Export the programs that the benchmarks need, with random weights. Needs torch 2.9 or newer, nothing else.

    python make_models.py OUTDIR

    mlp_tiny.pt2, mlp_tiny.npy   a small network and one input for it, to measure the cost of a fresh process
    transformer24.pt2            24 layers in training IR: some thousand nodes, megabytes of program JSON
    transformer24.core.pt2       the same after run_decompositions(): the largest JSON
    big500.pt2                   500 MB of weights under a small program
"""

import argparse
import pathlib
import sys

import numpy
import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim


class Block(nn.Module):
    """One pre-norm decoder layer: attention, then a gated feed-forward network."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.attention_norm, self.feed_norm = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        split = lambda t: t.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
        q, k, v = (split(t) for t in self.qkv(self.attention_norm(x)).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        h = self.feed_norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Transformer(nn.Module):
    def __init__(self, layers=24, width=256, heads=8, vocabulary=8192):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def transformer24():
    dims = {0: Dim("batch", min=2, max=32), 1: Dim("length", min=2, max=512)}
    return torch.export.export(Transformer().eval(), (torch.randint(8192, (2, 64)),), dynamic_shapes=(dims,))


def stack(widths):
    layers = [layer for pair in zip(widths, widths[1:]) for layer in (nn.Linear(*pair), nn.ReLU())]
    return torch.export.export(nn.Sequential(*layers[:-1]).eval(), (torch.randn(2, widths[0]),),
                               dynamic_shapes=({0: Dim("batch", min=1, max=64)},))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    with torch.no_grad():
        numpy.save(out / "mlp_tiny.npy", torch.randn(1, 16).numpy())
        torch.export.save(stack([16, 64, 64, 64, 4]), out / "mlp_tiny.pt2")
        program = transformer24()
        torch.export.save(program, out / "transformer24.pt2")
        torch.export.save(program.run_decompositions(), out / "transformer24.core.pt2")
        torch.export.save(stack([5000] * 6), out / "big500.pt2")
    return 0


if __name__ == "__main__":
    sys.exit(main())
