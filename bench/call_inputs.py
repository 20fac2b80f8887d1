"""What the calls of operators_bench.py are made of: dtypes, and inputs of random elements."""
import torch

FLOAT64, FLOAT32, BFLOAT16, FLOAT16, COMPLEX64 = (torch.float64, torch.float32, torch.bfloat16, torch.float16,
                                                  torch.complex64)
HALVES = BFLOAT16, FLOAT16


def name_of(dtype):
    return str(dtype)[6:]


def random(*sizes, dtype=FLOAT32):
    return torch.randn(*sizes).to(dtype) if dtype in HALVES else torch.randn(*sizes, dtype=dtype)


def grid(*sizes):
    return torch.rand(1, *sizes, len(sizes)) * 2.2 - 1.1


def indices(high, *sizes):
    return torch.randint(0, high, sizes)


def layer(module, *sizes, dtype=FLOAT32):
    return module.to(dtype), random(*sizes, dtype=dtype)
