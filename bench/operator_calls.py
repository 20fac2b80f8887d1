"""Calls of single operators at sizes that models have, for operators_bench.py."""
import torch
import torch.nn.functional as F
from torch import nn

import image_calls
from call_inputs import BFLOAT16, COMPLEX64, FLOAT32, FLOAT64, HALVES, grid, indices, layer, name_of, random


def symmetric(size, dtype):
    a = torch.randn(size, size, dtype=dtype)
    return a + a.T


def spectra(size):
    return lambda x: torch.stft(x, size, 160, window=torch.hann_window(size), return_complex=True)


def summed(op):
    return lambda x, i, y: getattr(torch, op)(x, 0, i, y)


def mlp(width):
    return nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))


class Recurrent(nn.Module):
    def __init__(self, kind, *sizes):
        super().__init__()
        self.cells = getattr(nn, kind)(*sizes, batch_first=True)

    def forward(self, x):
        return self.cells(x)[0]


def pointwise():
    functions = {"relu": torch.relu, "gelu": F.gelu, "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
                 "silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "exp": torch.exp, "log": torch.log,
                 "erf": torch.erf, "softplus": F.softplus, "mish": F.mish, "elu": F.elu, "leaky_relu": F.leaky_relu,
                 "hardswish": F.hardswish, "sin": torch.sin, "rsqrt": torch.rsqrt, "abs": torch.abs,
                 "pow 2": lambda x: x ** 2, "clamp": lambda x: x.clamp(-1, 1), "log_sigmoid": F.logsigmoid,
                 "atan": torch.atan, "round": torch.round, "sign": torch.sign, "expm1": torch.expm1,
                 "log1p": torch.log1p, "pow 1.5": lambda x: x ** 1.5, "isnan": torch.isnan}
    for name, function in functions.items():
        yield name, function, torch.rand(512, 768) * 4 + 0.1 if name in ("log", "pow 1.5") else random(512, 768)
    for dtype in HALVES:
        for name in ("relu", "gelu", "gelu tanh", "silu", "sigmoid", "tanh", "exp", "softplus", "erf"):
            yield f"{name} {name_of(dtype)}", functions[name], random(512, 768, dtype=dtype)
    yield "silu float64", F.silu, random(512, 768, dtype=FLOAT64)
    yield "exp float64", torch.exp, random(512, 768, dtype=FLOAT64)
    wide = random(512, 768)
    yield "add", torch.add, wide, random(512, 768)
    yield "add row", torch.add, wide, random(768)
    yield "mul column", torch.mul, wide, random(512, 1)
    yield "add of channels", torch.add, random(1, 64, 56, 56), random(64, 1, 1)
    yield "div", torch.div, wide, random(512, 768)
    yield "maximum", torch.maximum, wide, random(512, 768)
    yield "pow", torch.pow, torch.rand(512, 768) + 0.1, random(512, 768)
    yield "atan2", torch.atan2, wide, random(512, 768)
    yield "remainder", torch.remainder, wide, random(512, 768)
    yield "add of transposed", lambda x: x + x.T, random(768, 768)
    yield "greater", torch.gt, wide, random(512, 768)
    yield "lerp", lambda x, y: torch.lerp(x, y, 0.3), wide, random(512, 768)
    yield "addcmul", torch.addcmul, wide, random(512, 768), random(512, 768)
    yield "where", torch.where, wide > 0, wide, random(512, 768)
    yield "masked_fill", lambda x, m: x.masked_fill(m, -1e9), random(12, 128, 128), torch.rand(128, 128) > 0.5
    yield "tril", torch.tril, random(512, 512)
    yield "logical_and", torch.logical_and, wide > 0, wide < 1
    for dtype in HALVES:
        name = name_of(dtype)
        x = random(512, 768, dtype=dtype)
        yield f"add {name}", torch.add, x, random(512, 768, dtype=dtype)
        yield f"mul row {name}", torch.mul, x, random(768, dtype=dtype)
        yield f"add of transposed {name}", lambda x: x + x.T, random(768, 768, dtype=dtype)
        yield f"where {name}", torch.where, x > 0, x, random(512, 768, dtype=dtype)
        yield f"masked_fill {name}", lambda x, m: x.masked_fill(m, -1e4), random(12, 128, 128, dtype=dtype), (
            torch.rand(128, 128) > 0.5)
        yield f"to float32 of {name}", lambda x: x.float(), x
        yield f"to {name}", lambda x, dtype=dtype: x.to(dtype), wide
    whole = indices(1000, 512, 768)
    yield "add int64", torch.add, whole, indices(1000, 512, 768)
    yield "mul int64", torch.mul, whole, indices(1000, 512, 768)
    yield "add int32", torch.add, whole.int(), indices(1000, 512, 768).int()
    yield "equal int64", torch.eq, whole, indices(1000, 512, 768)
    yield "floor_divide int64", lambda x: x // 7, whole
    yield "where int64", torch.where, wide > 0, whole, indices(1000, 512, 768)
    yield "to float32 of int64", lambda x: x.float(), whole
    yield "to int64", lambda x: x.long(), wide
    yield "to float32 of bool", lambda x: x.float(), wide > 0
    yield "to float32 of uint8", lambda x: x.float() / 255, whole.to(torch.uint8)
    yield "bitwise_and int64", torch.bitwise_and, whole, indices(1000, 512, 768)


def reductions():
    image = random(8, 64, 28, 28)
    wide = random(256, 1024)
    deep = random(32, 64, 128)
    for dim in range(3):
        yield f"sum dim {dim} of 3", lambda x, dim=dim: x.sum(dim), deep
    yield "sum", torch.sum, wide
    yield "sum dim 0", lambda x: x.sum(0), wide
    yield "mean dim (2, 3)", lambda x: x.mean((2, 3)), image
    yield "mean dim 1", lambda x: x.mean(1), random(8, 197, 768)
    yield "mean dim (0, 2)", lambda x: x.mean((0, 2)), deep
    yield "amax dim 0", lambda x: x.amax(0), wide
    yield "amax dim -1", lambda x: x.amax(-1), wide
    yield "max dim 0", lambda x: x.max(0)[0], wide
    yield "max dim 1", lambda x: x.max(1)[0], wide
    yield "argmax dim -1", lambda x: x.argmax(-1), wide
    yield "argmax dim 0", lambda x: x.argmax(0), wide
    yield "argmax vocabulary", lambda x: x.argmax(-1), random(1, 50257)
    yield "var dim 0", lambda x: x.var(0), wide
    yield "var dim -1", lambda x: x.var(-1), wide
    yield "std", torch.std, wide
    yield "norm dim -1", lambda x: torch.linalg.vector_norm(x, dim=-1), wide
    yield "normalize", F.normalize, wide
    yield "prod dim -1", lambda x: x.prod(-1), wide
    yield "logsumexp", lambda x: x.logsumexp(-1), wide
    yield "logsumexp dim 0", lambda x: x.logsumexp(0), wide
    yield "all dim -1", lambda x: x.all(-1), wide > -3
    yield "any", torch.any, wide > 10
    yield "sum bool", lambda x: x.sum(-1), wide > 0
    yield "sum int64", lambda x: x.sum(-1), indices(100, 256, 1024)
    yield "max int64", lambda x: x.max(-1)[0], indices(100, 256, 1024)
    yield "cumsum", lambda x: x.cumsum(-1), wide
    yield "cumsum dim 0", lambda x: x.cumsum(0), wide
    yield "cumsum int64", lambda x: x.cumsum(-1), indices(100, 256, 1024)
    yield "cumprod", lambda x: x.cumprod(-1), wide
    yield "cumsum of mask", lambda x: x.cumsum(-1), (wide > 0)
    yield "cosine_similarity", F.cosine_similarity, wide, random(256, 1024)
    yield "mse_loss", F.mse_loss, wide, random(256, 1024)
    yield "cross_entropy", F.cross_entropy, wide, indices(1024, 256)
    yield "median", lambda x: x.median(-1)[0], wide
    for dtype in HALVES:
        name = name_of(dtype)
        x = wide.to(dtype)
        yield f"sum dim -1 {name}", lambda x: x.sum(-1), x
        yield f"sum dim 0 {name}", lambda x: x.sum(0), x
        yield f"mean dim 1 {name}", lambda x: x.mean(1), random(8, 197, 768, dtype=dtype)
        yield f"amax dim -1 {name}", lambda x: x.amax(-1), x
        yield f"argmax dim -1 {name}", lambda x: x.argmax(-1), x
        yield f"cumsum {name}", lambda x: x.cumsum(-1), x


def normalization():
    for dtype in (FLOAT32, *HALVES):
        name = "" if dtype == FLOAT32 else f" {name_of(dtype)}"
        yield f"softmax{name}", *layer(nn.Softmax(-1), 512, 768, dtype=dtype)
        yield f"softmax of scores{name}", *layer(nn.Softmax(-1), 1, 12, 128, 128, dtype=dtype)
        yield f"log_softmax{name}", *layer(nn.LogSoftmax(-1), 128, 1000, dtype=dtype)
        yield f"softmax dim 1{name}", *layer(nn.Softmax(1), 8, 64, 784, dtype=dtype)
        yield f"LayerNorm{name}", *layer(nn.LayerNorm(768), 512, 768, dtype=dtype)
        yield f"RMSNorm{name}", *layer(nn.RMSNorm(768), 512, 768, dtype=dtype)
        yield f"GroupNorm{name}", *layer(nn.GroupNorm(8, 32), 1, 32, 64, 64, dtype=dtype)
        yield f"InstanceNorm{name}", *layer(nn.InstanceNorm2d(32), 1, 32, 64, 64, dtype=dtype)
        yield f"BatchNorm2d{name}", *layer(nn.BatchNorm2d(64), 1, 64, 56, 56, dtype=dtype)
    yield "BatchNorm1d", *layer(nn.BatchNorm1d(256), 128, 256)
    yield "local_response_norm", lambda x: F.local_response_norm(x, 5), random(1, 64, 28, 28)


def moves():
    wide = random(256, 1024)
    table = random(10000, 128)
    yield "cat dim 0", lambda a, b: torch.cat((a, b)), wide, random(256, 1024)
    yield "cat dim -1", lambda a, b: torch.cat((a, b), -1), wide, random(256, 1024)
    yield "cat of channels", lambda a, b: torch.cat((a, b), 1), random(1, 64, 56, 56), random(1, 32, 56, 56)
    yield "cat bfloat16", lambda a, b: torch.cat((a, b), -1), wide.bfloat16(), wide.bfloat16()
    yield "cat int64", lambda a, b: torch.cat((a, b), -1), indices(9, 256, 256), indices(9, 256, 256)
    yield "stack", lambda a, b: torch.stack((a, b), -1), wide, random(256, 1024)
    yield "permute", lambda x: x.permute(0, 2, 1, 3).contiguous(), random(1, 128, 12, 64)
    yield "transpose", lambda x: x.T.contiguous(), wide
    yield "permute of an image", lambda x: x.permute(0, 2, 3, 1).contiguous(), random(1, 64, 56, 56)
    yield "transpose bfloat16", lambda x: x.T.contiguous(), wide.bfloat16()
    yield "transpose int64", lambda x: x.T.contiguous(), indices(9, 256, 1024)
    yield "repeat", lambda x: x.repeat(4, 2), random(128, 256)
    yield "repeat_interleave", lambda x: x.repeat_interleave(2, 1), random(8, 8, 128, 64)
    yield "expand", lambda x: x.expand(64, 128, 64).contiguous(), random(1, 128, 64)
    yield "slice", lambda x: x[:, ::2].contiguous(), wide
    yield "clone", torch.clone, wide
    yield "zeros", lambda x: torch.zeros_like(x), wide
    yield "embedding", nn.Embedding(30000, 768), indices(30000, 1, 128)
    yield "embedding bfloat16", nn.Embedding(30000, 768).bfloat16(), indices(30000, 1, 128)
    yield "one_hot", lambda i: F.one_hot(i, 100), indices(100, 512)
    yield "EmbeddingBag sum", nn.EmbeddingBag(10000, 128, mode="sum"), indices(10000, 512, 32)
    yield "EmbeddingBag mean", nn.EmbeddingBag(10000, 128, mode="mean"), indices(10000, 512, 32)
    yield "index rows", lambda x, i: x[i], table, indices(10000, 4096)
    yield "index of two", lambda x, i, j: x[i, j], wide, indices(256, 4096), indices(1024, 4096)
    yield "index_select dim 1", lambda x, i: x.index_select(1, i), wide, indices(1024, 512)
    yield "index_select bfloat16", lambda x, i: x.index_select(0, i), table.bfloat16(), indices(10000, 4096)
    yield "gather", lambda x, i: x.gather(1, i), wide, indices(1024, 256, 512)
    yield "gather dim 0", lambda x, i: x.gather(0, i), wide, indices(256, 128, 1024)
    yield "gather rows", lambda x, i: x.gather(1, i), random(4, 1024, 64), indices(1024, 4, 256, 1).expand(4, 256, 64)
    yield "gather int64", lambda x, i: x.gather(1, i), indices(9, 256, 1024), indices(1024, 256, 512)
    yield "gather bfloat16", lambda x, i: x.gather(1, i), wide.bfloat16(), indices(1024, 256, 512)
    yield "take_along_dim", lambda x, i: torch.take_along_dim(x, i, 1), wide, indices(1024, 256, 1)
    yield "scatter", lambda x, i, y: x.scatter(1, i, y), wide, torch.rand(256, 1024).argsort(-1)[:, :512], random(256, 512)
    yield "scatter value", lambda x, i: x.scatter(1, i, 1.0), wide, indices(1024, 256, 8)
    places = indices(10000, 4096, 1).expand(4096, 128).contiguous()
    yield "scatter_add", summed("scatter_add"), table, places, random(4096, 128)
    yield "scatter_add of edges", summed("scatter_add"), random(2000, 64), indices(2000, 8000, 1).expand(8000, 64), random(8000, 64)
    yield "scatter_reduce amax", lambda x, i, y: x.scatter_reduce(0, i, y, "amax"), table, places, random(4096, 128)
    yield "index_add", summed("index_add"), table, indices(10000, 4096), random(4096, 128)
    yield "index_copy", summed("index_copy"), table, torch.randperm(10000)[:4096], random(4096, 128)
    yield "index_put", lambda x, i, y: x.index_put((i,), y), table, torch.randperm(10000)[:4096], random(4096, 128)
    yield "index_put add", lambda x, i, y: x.index_put((i,), y, True), table, indices(10000, 4096), random(4096, 128)
    yield "nonzero", torch.nonzero, torch.rand(256, 1024) > 0.5
    yield "masked_select", torch.masked_select, wide, wide > 0.3
    yield "boolean index rows", lambda x, m: x[m], random(4096, 64), torch.rand(4096) > 0.5
    yield "masked_scatter", torch.masked_scatter, wide, wide > 0, random(256, 1024)
    yield "sort", lambda x: x.sort(-1), wide
    yield "sort one", lambda x: x.sort(-1), random(1, 100000)
    yield "argsort descending", lambda x: x.argsort(-1, descending=True), wide
    yield "sort int64", lambda x: x.sort(-1), indices(1 << 40, 256, 1024)
    yield "topk", lambda x: x.topk(10, -1), wide
    yield "topk vocabulary", lambda x: x.topk(50, -1), random(1, 50257)
    yield "topk of experts", lambda x: x.topk(2, -1), random(512, 8)
    yield "searchsorted", torch.searchsorted, torch.rand(1000).sort()[0], torch.rand(256, 256)
    yield "bucketize", torch.bucketize, wide, torch.linspace(-3, 3, 20)
    yield "unique", lambda x: torch.unique(x), indices(1000, 10000)
    yield "histc", lambda x: torch.histc(x, 64, -3, 3), wide
    yield "bincount", lambda x: torch.bincount(x, minlength=1000), indices(1000, 100000)
    yield "arange", lambda x: torch.arange(x.shape[0] * 100), random(1024)
    yield "meshgrid", lambda a, b: torch.stack(torch.meshgrid(a, b, indexing="ij"), -1), random(256), random(256)


def products():
    for name, rows, columns, depth in (("square", 512, 512, 512), ("row", 1, 2048, 2048), ("tall", 2048, 64, 64),
                                       ("thin", 64, 64, 4096), ("outer", 512, 512, 4)):
        yield f"matmul {name}", torch.matmul, random(rows, depth), random(depth, columns)
    yield "matmul transposed", lambda a, b: a @ b.T, random(256, 256), random(256, 256)
    yield "matmul vector", torch.matmul, random(1024, 1024), random(1024)
    yield "bmm", torch.bmm, random(12, 128, 64), random(12, 64, 128)
    yield "bmm of few", torch.bmm, random(256, 16, 16), random(256, 16, 16)
    yield "bmm of many 4x4", torch.bmm, random(4096, 4, 4), random(4096, 4, 4)
    yield "matmul broadcast", torch.matmul, random(8, 12, 64, 64), random(64, 64)
    yield "einsum", lambda a, b: torch.einsum("bhid,bhjd->bhij", a, b), random(2, 8, 128, 64), random(2, 8, 128, 64)
    yield "outer", torch.outer, random(1024), random(1024)
    yield "dot", torch.dot, random(100000), random(100000)
    yield "baddbmm", torch.baddbmm, random(12, 128, 128), random(12, 128, 64), random(12, 64, 128)
    yield "bilinear", nn.Bilinear(64, 64, 32), random(64, 64), random(64, 64)
    yield "Linear", *layer(nn.Linear(768, 3072), 128, 768)
    yield "Linear of one row", *layer(nn.Linear(2048, 2048), 1, 2048)
    yield "Linear of 8 rows", *layer(nn.Linear(1024, 1024), 8, 1024)
    for dtype in HALVES:
        name = name_of(dtype)
        yield f"MLP {name}", *layer(mlp(512), 128, 512, dtype=dtype)
        yield f"Linear of one row {name}", *layer(nn.Linear(2048, 2048), 1, 2048, dtype=dtype)
        yield f"Linear of 8 rows {name}", *layer(nn.Linear(1024, 1024), 8, 1024, dtype=dtype)
        yield f"matmul {name}", torch.matmul, random(256, 256, dtype=dtype), random(256, 256, dtype=dtype)
        yield f"bmm {name}", torch.bmm, random(12, 128, 64, dtype=dtype), random(12, 64, 128, dtype=dtype)
        yield f"attention {name}", *[F.scaled_dot_product_attention] + [random(1, 12, 128, 64, dtype=dtype)] * 3
    yield "attention", *[F.scaled_dot_product_attention] + [random(1, 12, 128, 64)] * 3
    yield "attention causal", lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), random(1, 12, 256, 64)
    yield "attention of one query", F.scaled_dot_product_attention, random(1, 16, 1, 64), random(1, 16, 512, 64), (
        random(1, 16, 512, 64))
    yield "MLP float64", *layer(mlp(512), 128, 512, dtype=FLOAT64)
    yield "matmul float64", torch.matmul, random(512, 512, dtype=FLOAT64), random(512, 512, dtype=FLOAT64)
    yield "matmul complex64", torch.matmul, random(256, 256, dtype=COMPLEX64), random(256, 256, dtype=COMPLEX64)
    yield "matmul complex128", *[torch.matmul] + [random(256, 256, dtype=torch.complex128)] * 2
    yield "matmul int64", torch.matmul, indices(9, 128, 128), indices(9, 128, 128)
    yield "_int_mm", torch._int_mm, indices(99, 256, 512).to(torch.int8), indices(99, 512, 256).to(torch.int8)
    yield "cdist 512x512x64", torch.cdist, random(512, 64), random(512, 64)
    yield "cdist p=1", lambda a, b: torch.cdist(a, b, p=1.0), random(256, 64), random(256, 64)
    yield "cdist 16x16x64", torch.cdist, random(16, 64), random(16, 64)


def sequences():
    for dtype in (FLOAT32, *HALVES):
        name = "" if dtype == FLOAT32 else f" {name_of(dtype)}"
        for kind in ("LSTM", "GRU", "RNN"):
            yield f"{kind}{name}", *layer(Recurrent(kind, 40, 128, 2), 1, 50, 40, dtype=dtype)
        yield f"LSTM of 8 rows{name}", *layer(Recurrent("LSTM", 256, 256), 8, 50, 256, dtype=dtype)
        yield f"GRU of 8 rows{name}", *layer(Recurrent("GRU", 256, 256), 8, 50, 256, dtype=dtype)
        yield f"LSTMCell{name}", lambda x, h, c, cell=nn.LSTMCell(256, 256).to(dtype): cell(x, (h, c)), *(
            random(4, 256, dtype=dtype) for _ in range(3))
    yield "fft 64x1024", torch.fft.fft, random(64, 1024, dtype=COMPLEX64)
    yield "fft 64x1000", torch.fft.fft, random(64, 1000, dtype=COMPLEX64)
    yield "fft 2^20", torch.fft.fft, random(1 << 20, dtype=COMPLEX64)
    yield "fft 2^20 float64", torch.fft.fft, random(1 << 20, dtype=torch.complex128)
    yield "fft2 16x128x128", torch.fft.fft2, random(16, 128, 128, dtype=COMPLEX64)
    yield "rfft 64x1024", torch.fft.rfft, random(64, 1024)
    yield "rfft2 16x128x128", torch.fft.rfft2, random(16, 128, 128)
    yield "irfft 64x1024", torch.fft.irfft, random(64, 513, dtype=COMPLEX64)
    yield "stft 400", spectra(400), random(1, 160000)
    yield "stft 512", spectra(512), random(1, 160000)


def quantized():
    from torch.ao.quantization.fx import _decomposed  # registers the operators

    ops = torch.ops.quantized_decomposed

    def levels(x):
        return ops.quantize_per_tensor(x, 0.02, 3, -128, 127, torch.int8)

    def numbers(x):
        return ops.dequantize_per_tensor(x, 0.02, 3, -128, 127, torch.int8)

    whole = indices(99, 512, 768).to(torch.int8)
    yield "quantize", levels, random(512, 768)
    yield "dequantize", numbers, whole
    yield "quantize and dequantize", lambda x: numbers(levels(x)), random(512, 768)
    yield "fake_quantize", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.02, 3, -128, 127), random(512, 768)
    yield "add int8", torch.add, whole, whole
    yield "cat int8", lambda a, b: torch.cat((a, b), -1), whole, whole
    yield "transpose int8", lambda x: x.T.contiguous(), whole
    yield "relu int8", torch.relu, whole
    weight = levels(random(768, 768))
    yield "Linear of int8 weights", lambda x, w: F.linear(x, numbers(w)), random(128, 768), weight


def algebra():
    for dtype in (FLOAT32, FLOAT64):
        name = name_of(dtype)
        yield f"svd {name}", torch.linalg.svd, torch.rand(300, 300, dtype=dtype) - 0.5
        yield f"eigh {name}", torch.linalg.eigh, symmetric(300, dtype)
        yield f"solve {name}", lambda a: torch.linalg.solve(a, a), torch.rand(500, 500, dtype=dtype) - 0.5


def specials():
    """Pointwise functions of one operand that are rare in models."""
    unit, positive, wide = torch.rand(256, 512) * 1.8 - 0.9, torch.rand(256, 512) * 4 + 0.1, random(256, 512)
    inputs = {"unit": unit, "positive": positive, "wide": wide}
    functions = {"unit": "erfinv asin acos atanh special.ndtri", "positive": (
        "lgamma digamma sqrt log2 log10 acosh special.i0e special.entr special.zeta1 polygamma logit mvlgamma"),
        "wide": ("erfc exp2 cos tan sinh cosh asinh tanh sinc ceil floor trunc frac sgn signbit reciprocal square neg "
                 "angle rad2deg positive isinf isfinite nan_to_num special.ndtr special.log_ndtr special.i0 special.i1 "
                 "special.expit special.erfcx special.bessel_j0 frexp deg2rad hardtanh relu6 celu selu hardsigmoid "
                 "softsign tanhshrink softshrink hardshrink threshold rrelu glu prelu")}
    own = {"special.zeta1": lambda x: torch.special.zeta(x + 1, 2.0), "polygamma": lambda x: torch.polygamma(2, x),
           "logit": lambda x: torch.logit(x / 5), "mvlgamma": lambda x: torch.mvlgamma(x + 1, 2),
           "threshold": lambda x: F.threshold(x, 0.1, 20.0), "prelu": nn.PReLU(512)}
    for kind, names in functions.items():
        for name in names.split():
            place = torch.special if name.startswith("special.") else F if hasattr(F, name) else torch
            yield name, own.get(name) or getattr(place, name.removeprefix("special.")), inputs[kind]
    for dtype in (FLOAT64, BFLOAT16):
        for name in ("sqrt", "tanh", "sigmoid", "sin", "log", "erf", "abs", "rsqrt", "gelu", "floor", "reciprocal"):
            yield f"{name} {name_of(dtype)}", getattr(torch, name, None) or getattr(F, name), positive.to(dtype)


def pairs():
    """Pointwise functions of two operands, with other dtypes, strides and broadcasts."""
    wide, other = random(512, 512), random(512, 512)
    for name in ("sub", "minimum", "fmod", "hypot", "ldexp", "copysign", "fmax", "logaddexp", "xlogy", "heaviside", "nextafter",
                 "floor_divide", "true_divide", "dist", "special.xlog1py", "isclose", "float_power"):
        place = torch.special if name.startswith("special.") else torch
        yield name, getattr(place, name.removeprefix("special.")), wide, (other.abs() if name == "special.xlog1py" else other)
    for name in ("add", "mul", "div", "maximum", "gt", "atan2", "pow", "where", "clamp"):
        function = {"where": lambda x, y: torch.where(x > 0, x, y), "clamp": lambda x, y: x.clamp(-1, 1)}.get(name)
        yield f"{name} float64", function or getattr(torch, name), wide.double().abs(), other.double()
    for name in ("add", "mul", "div", "abs", "exp", "conj", "sum", "sigmoid", "angle", "sqrt", "real"):
        function = {"sum": lambda x, y: x.sum(-1), "conj": lambda x, y: x.conj().resolve_conj(),
                    "real": lambda x, y: x.real.contiguous()}.get(name)
        if function is None and name not in ("add", "mul", "div"):
            function = lambda x, y, name=name: getattr(torch, name)(x)
        yield f"{name} complex64", function or getattr(torch, name), *(random(256, 512, dtype=COMPLEX64) for _ in range(2))
    yield "view_as_complex times", lambda x, y: torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(y)), (
        random(128, 12, 32, 2)), random(128, 1, 32, 2)
    yield "polar", torch.polar, wide.abs(), other
    for dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8):
        a, b = indices(100, 512, 512).to(dtype), (indices(100, 512, 512) + 1).to(dtype)
        for name in ("add", "mul", "sub", "maximum", "gt", "eq", "floor_divide", "remainder", "div", "bitwise_xor", "clamp",
                     "abs", "neg", "where", "shift", "to float", "sum", "max", "cumsum", "argmax", "to int32", "mean0", "pow2"):
            function = {"clamp": lambda x, y: x.clamp(10, 90), "abs": lambda x, y: x.abs(), "neg": lambda x, y: -x,
                        "where": lambda x, y: torch.where(x > y, x, y), "shift": lambda x, y: x >> 2,
                        "to float": lambda x, y: x.float(), "sum": lambda x, y: x.sum(-1), "max": lambda x, y: x.amax(0),
                        "cumsum": lambda x, y: x.cumsum(-1), "argmax": lambda x, y: x.argmax(-1),
                        "to int32": lambda x, y: x.int(), "mean0": lambda x, y: x.float().mean(0),
                        "pow2": lambda x, y: x ** 2}.get(name)
            yield f"{name} {name_of(dtype)}", function or getattr(torch, name), a, b
    mask = wide > 0
    for name in ("logical_or", "logical_xor", "bitwise_and", "eq"):
        yield f"{name} bool", getattr(torch, name), mask, other > 0
    yield "logical_not", torch.logical_not, mask
    yield "add of steps", lambda x, y: x[:, ::2] + y[:, ::2], wide, other
    yield "relu of transposed", lambda x: x.T.relu(), wide
    yield "exp of a slice", lambda x: x[:, 100:400].exp(), wide
    yield "mul of two axes", torch.mul, random(512, 1), random(1, 512)
    yield "sub of middle axis", torch.sub, random(32, 64, 128), random(32, 1, 128)
    yield "differences of all", lambda x: x[:, None] - x[None], random(256, 64)
    yield "addcdiv", torch.addcdiv, wide, other, other.abs() + 1
    yield "lerp of tensors", torch.lerp, wide, other, other.abs()
    yield "add of a copy float16", lambda x, y: x + y.T, wide.half(), other.half()
    yield "clamp of tensors", torch.clamp, wide, other - 1, other + 1
    yield "where of numbers", lambda x: torch.where(x > 0, 1.0, 0.0), wide
    yield "triu", lambda x: x.triu(1), wide
    yield "causal mask", lambda x: torch.full((512, 512), float("-inf")).triu(1) + x, wide
    yield "fill diagonal", lambda x: x.diagonal_scatter(x[0]), wide
    yield "addr", torch.addr, random(512, 512), random(512), random(512)
    yield "kron", torch.kron, random(16, 16), random(32, 32)
    yield "cross", torch.cross, random(10000, 3), random(10000, 3)
    yield "vander", lambda x: torch.vander(x, 16), random(2000)
    yield "trapezoid", torch.trapezoid, wide
    yield "diff", torch.diff, wide
    yield "gradient", lambda x: torch.gradient(x)[0], wide


def statistics():
    """Rarer reductions, scans, norms and softmax, in float64 and bfloat16."""
    wide, deep = random(256, 1024), random(32, 64, 128)
    for dtype in (FLOAT64, BFLOAT16):
        name = name_of(dtype)
        x = wide.to(dtype)
        for kind in ("sum", "mean", "amax", "argmax", "var", "logsumexp", "prod", "softmax", "log_softmax", "cumsum", "norm"):
            for dim in (0, -1):
                function = torch.linalg.vector_norm if kind == "norm" else getattr(torch, kind)
                yield f"{kind} dim {dim} of {name}", lambda x, f=function, dim=dim: f(x, dim=dim), x
        yield f"layer_norm {name}", lambda x: F.layer_norm(x, (1024,)), x
        yield f"group_norm {name}", lambda x: F.group_norm(x, 8), random(1, 32, 64, 64).to(dtype)
    yield ("batch_norm float64", lambda x, m, v: F.batch_norm(x, m, v),
           *(t.double() for t in (random(1, 64, 56, 56), random(64), torch.rand(64))))
    yield "aminmax", lambda x: torch.stack(torch.aminmax(x, dim=-1)), wide
    yield "max of all", torch.max, wide
    yield "argmin dim 1 of 3", lambda x: x.argmin(1), deep
    yield "amax dim 1 of 3", lambda x: x.amax(1), deep
    yield "var_mean dim 1 of 3", lambda x: torch.var_mean(x, 1), deep
    yield "prod dim 1 of 3", lambda x: x.prod(1), deep
    yield "norm p=1", lambda x: x.norm(1, -1), wide
    yield "norm p=3", lambda x: x.norm(3, -1), wide
    yield "norm inf", lambda x: x.norm(float("inf"), -1), wide
    yield "norm of all", torch.norm, wide
    yield "renorm", lambda x: x.renorm(2, 0, 1.0), wide
    yield "nansum", lambda x: x.nansum(-1), wide
    yield "nanmean", lambda x: x.nanmean(-1), wide
    yield "count_nonzero", lambda x: x.count_nonzero(-1), wide
    yield "mode", lambda x: x.mode(-1)[0], indices(50, 64, 512)
    yield "kthvalue", lambda x: x.kthvalue(100, -1)[0], wide
    yield "quantile", lambda x: x.quantile(0.3, -1), wide
    yield "nanmedian", lambda x: x.nanmedian(-1)[0], wide
    yield "cummax", lambda x: x.cummax(-1)[0], wide
    yield "cummin dim 0", lambda x: x.cummin(0)[0], wide
    yield "logcumsumexp", lambda x: x.logcumsumexp(-1), wide
    yield "cumprod dim 0", lambda x: x.cumprod(0), wide
    yield "any dim 0", lambda x: x.any(0), wide > 1
    yield "all of floats", lambda x: x.all(-1), wide
    yield "sum of transposed", lambda x: x.T.sum(-1), wide
    yield "sum of a slice", lambda x: x[:, :500].sum(-1), wide
    yield "softmax of a middle axis float64", lambda x: x.softmax(1), deep.double()
    yield "softmin", lambda x: F.softmin(x, -1), wide
    yield "trace", torch.trace, random(512, 512)
    yield "histogram", lambda x: torch.histogram(x, 64, range=(-3.0, 3.0))[0], wide
    yield "glu", F.glu, wide
    yield "cdist p=2 batch", torch.cdist, random(4, 128, 16), random(4, 128, 16)
    yield "pdist", F.pdist, random(256, 64)
    yield "pairwise_distance", F.pairwise_distance, wide, random(256, 1024)
    yield "addmv", torch.addmv, random(256), wide, random(1024)


def losses():
    x, y = random(256, 512), random(256, 512)
    positive = torch.rand(256, 512) * 0.8 + 0.1
    for name in ("l1_loss", "smooth_l1_loss", "huber_loss", "soft_margin_loss", "poisson_nll_loss"):
        yield name, getattr(F, name), x, y
    for reduction in ("none", "sum"):
        yield f"mse_loss {reduction}", lambda x, y, r=reduction: F.mse_loss(x, y, reduction=r), x, y
    yield "binary_cross_entropy", F.binary_cross_entropy, positive, positive.round()
    yield "binary_cross_entropy_with_logits", F.binary_cross_entropy_with_logits, x, positive.round()
    yield "kl_div", lambda x, y: F.kl_div(x, y, reduction="batchmean"), x, positive
    yield "nll_loss", F.nll_loss, x, indices(512, 256)
    yield "nll_loss2d", F.nll_loss, random(4, 21, 64, 64), indices(21, 4, 64, 64)
    yield "cross_entropy2d", F.cross_entropy, random(4, 21, 64, 64), indices(21, 4, 64, 64)
    yield "cross_entropy smoothed", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), x, indices(512, 256)
    yield "multi_margin_loss", F.multi_margin_loss, x, indices(512, 256)
    yield "multilabel_margin_loss", F.multilabel_margin_loss, x, torch.stack([torch.randperm(512) for _ in range(256)])
    yield "multilabel_soft_margin_loss", F.multilabel_soft_margin_loss, x, positive.round()
    yield "margin_ranking_loss", F.margin_ranking_loss, random(10000), random(10000), random(10000).sign()
    yield "hinge_embedding_loss", F.hinge_embedding_loss, x, y.sign()
    yield "cosine_embedding_loss", F.cosine_embedding_loss, x, y, random(256).sign()
    yield "triplet_margin_loss", F.triplet_margin_loss, x, y, random(256, 512)


def gradients():
    """Backward operators, as joint graphs have them."""
    ops = torch.ops.aten
    x, g = random(512, 512), random(512, 512)
    for name in ("tanh_backward", "sigmoid_backward"):
        yield name, getattr(ops, name), g, x
    yield "gelu_backward", lambda g, x: ops.gelu_backward(g, x), g, x
    yield "silu_backward", ops.silu_backward, g, x
    yield "threshold_backward", lambda g, x: ops.threshold_backward(g, x, 0), g, x
    yield "hardswish_backward", ops.hardswish_backward, g, x
    yield "leaky_relu_backward", lambda g, x: ops.leaky_relu_backward(g, x, 0.1, False), g, x
    yield "elu_backward", lambda g, x: ops.elu_backward(g, 1.0, 1, 1, False, x), g, x
    yield "softplus_backward", lambda g, x: ops.softplus_backward(g, x, 1, 20), g, x
    yield "mse_loss_backward", lambda g, x: ops.mse_loss_backward(g.sum(), g, x, 1), g, x
    yield "_softmax_backward_data", lambda g, x: ops._softmax_backward_data(g, x, -1, FLOAT32), g, x.softmax(-1)
    yield "_log_softmax_backward_data", lambda g, x: ops._log_softmax_backward_data(g, x, -1, FLOAT32), g, x.log_softmax(-1)
    yield "native_layer_norm_backward", lambda g, x, w: ops.native_layer_norm_backward(
        g, x, [512], x.mean(-1, True), x.var(-1, keepdim=True).rsqrt(), w, w, [True, True, True])[0], g, x, random(512)
    image = random(4, 32, 56, 56)
    pooled, places = F.max_pool2d(image, 2, return_indices=True)
    yield "max_pool2d_with_indices_backward", lambda g, x, i: ops.max_pool2d_with_indices_backward(
        g, x, [2, 2], [2, 2], [0, 0], [1, 1], False, i), pooled, image, places
    yield ("avg_pool2d_backward", lambda g, x: ops.avg_pool2d_backward(g, x, [2, 2], [2, 2], [0, 0], False, True, None),
           pooled, image)
    yield "_adaptive_avg_pool2d_backward", lambda g, x: ops._adaptive_avg_pool2d_backward(g, x), random(4, 32, 7, 7), image
    yield "upsample_nearest2d_backward", lambda g: ops.upsample_nearest2d_backward(g, [56, 56], [4, 32, 28, 28]), image
    yield "upsample_bilinear2d_backward", lambda g: ops.upsample_bilinear2d_backward(g, [56, 56], [4, 32, 28, 28], False), image
    yield "reflection_pad2d_backward", lambda g, x: ops.reflection_pad2d_backward(g, x, [1, 1, 1, 1]), random(4, 32, 58, 58), image
    yield ("embedding_dense_backward", lambda g, i: ops.embedding_dense_backward(g, i, 10000, -1, False), random(512, 128),
           indices(10000, 512))
    yield "grid_sampler_2d_backward", lambda g, x, p: ops.grid_sampler_2d_backward(
        g, x, p, 0, 0, False, [True, True])[0], random(1, 32, 32, 32), random(1, 32, 64, 64), grid(32, 32)
    yield "convolution_backward", lambda g, x, w: ops.convolution_backward(
        g, x, w, [64], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, True])[1], (
            random(2, 64, 28, 28)), random(2, 32, 28, 28), random(64, 32, 3, 3)
    yield "native_batch_norm_backward", lambda g, x, w, m, v: ops.native_batch_norm_backward(
        g, x, w, m, v, m, v, True, 1e-5, [True, True, True])[0], image, image, random(32), random(32), torch.rand(32) + 1
    yield "native_group_norm_backward", lambda g, x, w, m: ops.native_group_norm_backward(
        g, x, m, m + 1, w, 4, 32, 3136, 8, [True, True, True])[0], image, image, random(32), torch.rand(4, 8)
    yield "native_dropout_backward", lambda g, m: ops.native_dropout_backward(g, m, 2.0), g, x > 0
    yield "unfold_backward", lambda g: ops.unfold_backward(g, [64, 1000], 1, 8, 4), random(64, 249, 8)
    yield "select_backward", lambda g: ops.select_backward(g, [64, 16, 512], 1, 3), random(64, 512)
    yield "slice_backward", lambda g: ops.slice_backward(g, [512, 1024], 1, 0, 512, 1), g
    yield ("nll_loss_backward", lambda x, t: ops.nll_loss_backward(x.sum(), x, t, None, 1, -100, torch.tensor(256.0)),
           random(256, 512), indices(512, 256))


def places():
    """Rarer copies, indexing and sorting."""
    wide, square = random(256, 1024), random(512, 512)
    for k in (1, 2, 3):
        yield f"rot90 {k}", lambda x, k=k: torch.rot90(x, k, (0, 1)), square
    yield "unfold and sum", lambda x: x.unfold(-1, 8, 4).sum(-1), wide
    yield "unfold copy", lambda x: x.unfold(-1, 16, 8).contiguous(), wide
    yield "put", lambda x, i, y: x.put(i, y), wide, torch.randperm(256 * 1024)[:4096], random(4096)
    yield "take", torch.take, wide, indices(256 * 1024, 64, 256)
    yield "index_fill", lambda x, i: x.index_fill(0, i, 1.0), wide, indices(256, 64)
    yield "index_reduce mean", lambda x, i, y: x.index_reduce(0, i, y, "mean"), wide, indices(256, 512), random(512, 1024)
    for kind in ("mean", "sum", "prod", "amin"):
        yield (f"scatter_reduce {kind}", lambda x, i, y, k=kind: x.scatter_reduce(0, i, y, k), random(2000, 64),
               indices(2000, 8000, 1).expand(8000, 64), random(8000, 64))
    yield "scatter_add of one axis", lambda x, i, y: x.scatter_add(0, i, y), random(2000), indices(2000, 50000), random(50000)
    yield ("index_add of bfloat16", lambda x, i, y: x.index_add(0, i, y), random(2000, 64, dtype=BFLOAT16),
           indices(2000, 8000), random(8000, 64, dtype=BFLOAT16))
    yield "index of a column", lambda x, i: x[:, i], wide, indices(1024, 512)
    yield "index_put of a mask", lambda x, m: x.index_put((m,), torch.tensor(0.0)), wide, wide > 0
    yield "select_scatter", lambda x, y: x.select_scatter(y, 1, 5), wide, random(256)
    yield "slice_scatter", lambda x, y: x.slice_scatter(y, 1, 10, 500), wide, random(256, 490)
    yield "tile", lambda x: x.tile(2, 3), random(128, 128)
    yield "chunk and cat", lambda x: torch.cat(x.chunk(4, -1)[::-1], -1), wide
    yield "rotate half", lambda x: torch.cat((-x[..., 32:], x[..., :32]), -1), random(1, 12, 128, 64)
    yield "flip of two", lambda x: x.flip(0, 1), wide
    yield "flip int64", lambda x: x.flip(-1), indices(99, 256, 1024)
    yield "fliplr uint8", torch.fliplr, indices(99, 512, 512).to(torch.uint8)
    yield "roll of one", lambda x: x.roll(1), wide
    yield "permute of five", lambda x: x.permute(0, 4, 1, 3, 2).contiguous(), random(2, 16, 16, 16, 16)
    yield "windows", lambda x: x.view(1, 8, 7, 8, 7, 96).permute(0, 1, 3, 2, 4, 5).contiguous(), random(1, 56, 56, 96)
    yield "channel_shuffle", lambda x: F.channel_shuffle(x, 4), random(1, 64, 56, 56)
    yield "pixel_unshuffle", nn.PixelUnshuffle(2), random(1, 16, 128, 128)
    yield "cat of ten", lambda x: torch.cat([x[:, i * 3:i * 3 + 90] for i in range(10)], -1), wide
    yield "stack dim 0", lambda x, y: torch.stack((x, y)), wide, random(256, 1024)
    yield "block_diag", torch.block_diag, random(64, 64), random(64, 64), random(64, 64)
    yield "diag_embed", torch.diag_embed, random(32, 64)
    yield "diagonal", lambda x: x.diagonal().clone(), random(1024, 1024)
    yield "tril_indices", lambda x: torch.tril_indices(512, 512) + x.shape[0], random(4)
    yield "combinations", lambda x: torch.cartesian_prod(x, x), random(200)
    yield "linspace", lambda x: torch.linspace(0, 1, 100000) + x, random(1)
    yield "full", lambda x: torch.full((512, 512), 3.0) * x, random(1)
    yield "eye", lambda x: torch.eye(512) * x, random(1)
    yield "sort bfloat16", lambda x: x.sort(-1), wide.bfloat16()
    yield "sort float64", lambda x: x.sort(-1), wide.double()
    yield "sort dim 0", lambda x: x.sort(0), wide
    yield "sort stable int32", lambda x: torch.sort(x, dim=-1, stable=True), indices(99, 256, 1024).int()
    yield "topk smallest", lambda x: x.topk(50, -1, largest=False), random(64, 5000)
    yield "topk dim 0", lambda x: x.topk(5, 0), wide
    yield "topk of half", lambda x: x.topk(512, -1), wide
    yield "topk bfloat16", lambda x: x.topk(50, -1), random(1, 50257, dtype=BFLOAT16)
    yield "msort", torch.msort, wide
    yield "unique_consecutive", torch.unique_consecutive, indices(3, 10000)
    yield "unique of counts", lambda x: torch.unique(x, return_inverse=True, return_counts=True), indices(1000, 10000)
    yield "isin", torch.isin, indices(1000, 10000), indices(1000, 100)
    yield "searchsorted of rows", torch.searchsorted, torch.rand(256, 100).sort(-1)[0], torch.rand(256, 256)
    yield "argwhere", torch.argwhere, torch.rand(256, 1024) > 0.9
    yield "pad replicate", lambda x: F.pad(x, (3, 3, 3, 3), mode="replicate"), random(1, 16, 112, 112)
    yield "pad circular", lambda x: F.pad(x, (3, 3, 3, 3), mode="circular"), random(1, 16, 112, 112)
    yield "pad constant int64", lambda x: F.pad(x, (1, 1)), indices(99, 256, 1024)
    yield "pad reflect 1d", lambda x: F.pad(x, (200, 200), mode="reflect"), random(1, 16000)
    yield "EmbeddingBag max", nn.EmbeddingBag(10000, 128, mode="max"), indices(10000, 512, 32)


def small_matrices():
    """Matrix decompositions, attention with options, Fourier transforms of rarer sizes."""
    a = torch.rand(128, 128) + torch.eye(128) * 4
    yield "qr", torch.linalg.qr, random(128, 64)
    yield "cholesky", torch.linalg.cholesky, a @ a.T
    yield "inv", torch.linalg.inv, a
    yield "det", torch.linalg.det, random(64, 8, 8)
    yield "inv of many", torch.linalg.inv, random(256, 4, 4) + torch.eye(4) * 4
    yield "solve of many", torch.linalg.solve, random(256, 6, 6) + torch.eye(6) * 4, random(256, 6, 1)
    yield "solve_triangular", lambda a, b: torch.linalg.solve_triangular(a, b, upper=False), a.tril(), random(128, 64)
    yield "matrix_exp", torch.linalg.matrix_exp, random(64, 64) / 8
    yield "matrix_power", lambda a: torch.linalg.matrix_power(a, 5), random(64, 64)
    yield "svdvals", torch.linalg.svdvals, random(64, 64)
    yield "pinv", torch.linalg.pinv, random(64, 32)
    yield "eigvalsh", torch.linalg.eigvalsh, a + a.T
    yield "lu_factor", torch.linalg.lu_factor, a
    yield "cholesky_solve", torch.cholesky_solve, random(128, 8), torch.linalg.cholesky(a @ a.T)
    yield "tensordot", lambda a, b: torch.tensordot(a, b, 2), random(32, 16, 16), random(16, 16, 64)
    yield "chain_matmul", lambda a, b, c: torch.linalg.multi_dot((a, b, c)), random(64, 256), random(256, 64), random(64, 128)
    yield "addbmm", torch.addbmm, random(64, 64), random(16, 64, 32), random(16, 32, 64)
    yield "einsum of a diagonal", lambda a: torch.einsum("bii->bi", a), random(64, 64, 64)
    yield "einsum of three", lambda a, b, c: torch.einsum("bi,ij,bj->b", a, b, c), random(128, 64), random(64, 64), random(128, 64)
    yield "matmul of a mask", lambda a, b: a @ b.float(), random(128, 256), random(256, 128) > 0
    yield "matmul int32", torch.matmul, indices(9, 128, 128).int(), indices(9, 128, 128).int()
    yield "bmm float64", torch.bmm, random(12, 64, 64, dtype=FLOAT64), random(12, 64, 64, dtype=FLOAT64)
    yield ("attention of a mask", lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m), random(1, 12, 128, 64),
           torch.rand(128, 128) > 0.3)
    yield ("attention of groups", lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True),
           random(1, 12, 128, 64), random(1, 4, 128, 64))
    yield "attention float64", lambda q: F.scaled_dot_product_attention(q, q, q), random(1, 4, 128, 64, dtype=FLOAT64)
    heads = nn.MultiheadAttention(256, 8, batch_first=True).eval()
    yield "MultiheadAttention", lambda x, heads=heads: heads(x, x, x, need_weights=False)[0], random(1, 128, 256)
    for name in ("ifft", "hfft", "rfftn", "fftshift", "ihfft"):
        complex_input = name in ("ifft", "hfft", "fftshift")
        yield name, getattr(torch.fft, name), random(64, 512, dtype=COMPLEX64 if complex_input else FLOAT32)
    yield "rfft float64", torch.fft.rfft, random(64, 1024, dtype=FLOAT64)
    yield "irfft2", torch.fft.irfft2, random(16, 64, 33, dtype=COMPLEX64)
    yield "fft dim 0", lambda x: torch.fft.fft(x, dim=0), random(512, 64, dtype=COMPLEX64)
    yield "fft 17", torch.fft.fft, random(512, 17, dtype=COMPLEX64)
    yield "fft prime", torch.fft.fft, random(16, 1009, dtype=COMPLEX64)
    window = torch.hann_window(400)
    yield "istft", lambda x: torch.istft(x, 400, 100, window=torch.hann_window(400)), (
        torch.stft(random(1, 16000), 400, 100, window=window, return_complex=True))


def complex_numbers():
    z, w, weights = random(256, 512, dtype=COMPLEX64), random(512, dtype=COMPLEX64), random(32, 32, 12, 12, dtype=COMPLEX64)
    yield "complex mean 0", lambda z: z.mean(0), z
    yield "complex chain", lambda z, w: ((z.conj() * w + 2 * z) / 3).abs(), z, w
    yield "complex bmm", torch.bmm, *(random(32, 32, 32, dtype=COMPLEX64) for _ in range(2))
    yield "complex mv", torch.mv, z, w
    yield "spectral convolution", lambda x: torch.fft.irfft2(F.pad(torch.einsum(  # of a Fourier neural operator
        "bixy,ioxy->boxy", torch.fft.rfft2(x)[:, :, :12, :12], weights), (0, 21, 0, 52))), random(1, 32, 64, 64)


KINDS = (pointwise, reductions, normalization, moves, products, sequences, quantized, algebra, specials, pairs, statistics,
         losses, gradients, places, small_matrices, complex_numbers, *image_calls.KINDS)


def calls():
    """Yields (kind, name, function, inputs...) for each call."""
    for kind in KINDS:
        for call in kind():
            yield kind.__name__, *call
