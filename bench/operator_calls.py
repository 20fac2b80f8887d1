"""Calls of single operators at sizes that models have, for operators_bench.py."""
import torch
import torch.nn.functional as F
from torch import nn

FLOAT64, FLOAT32, BFLOAT16, FLOAT16, COMPLEX64 = (torch.float64, torch.float32, torch.bfloat16, torch.float16,
                                                  torch.complex64)
HALVES = BFLOAT16, FLOAT16


def name_of(dtype):
    return str(dtype)[6:]


def random(*sizes, dtype=FLOAT32):
    return torch.randn(*sizes).to(dtype) if dtype in HALVES else torch.randn(*sizes, dtype=dtype)


def symmetric(size, dtype):
    a = torch.randn(size, size, dtype=dtype)
    return a + a.T


def grid(*sizes):
    return torch.rand(1, *sizes, len(sizes)) * 2.2 - 1.1


def indices(high, *sizes):
    return torch.randint(0, high, sizes)


def layer(module, *sizes, dtype=FLOAT32):
    return module.to(dtype), random(*sizes, dtype=dtype)


def resize(mode, size, antialias=False):
    return lambda x: F.interpolate(x, size=(size, size), mode=mode, antialias=antialias)


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


def images():
    image = random(1, 32, 64, 64)
    photo = torch.rand(1, 3, 480, 640)
    yield "grid_sample bilinear", F.grid_sample, image, grid(64, 64)
    yield "grid_sample nearest", lambda x, g: F.grid_sample(x, g, mode="nearest"), image, grid(64, 64)
    yield "grid_sample bicubic", lambda x, g: F.grid_sample(x, g, mode="bicubic"), image, grid(64, 64)
    yield "grid_sample border", lambda x, g: F.grid_sample(x, g, padding_mode="border"), photo, grid(224, 224)
    yield "grid_sample volume", F.grid_sample, random(1, 8, 16, 32, 32), grid(16, 32, 32)
    yield "affine_grid", lambda m: F.affine_grid(m, (4, 3, 64, 64)), random(4, 2, 3)
    yield "interpolate nearest", resize("nearest", 128), image
    yield "interpolate bilinear", resize("bilinear", 128), image
    yield "interpolate bicubic", resize("bicubic", 128), image
    yield "interpolate photo", resize("bilinear", 224), photo
    yield "interpolate antialias", resize("bilinear", 224, True), photo
    yield "interpolate bicubic antialias", resize("bicubic", 224, True), photo
    yield "interpolate linear", lambda x: F.interpolate(x, scale_factor=2, mode="linear"), random(1, 64, 1000)
    yield "interpolate trilinear", lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), random(1, 8, 16, 32, 32)
    yield "interpolate bilinear bfloat16", resize("bilinear", 128), image.bfloat16()
    yield "interpolate nearest bfloat16", resize("nearest", 128), image.bfloat16()
    yield "max_pool2d", nn.MaxPool2d(3, 2, 1), random(1, 64, 112, 112)
    yield "max_pool2d of 2", nn.MaxPool2d(2), random(1, 64, 112, 112)
    yield "max_pool2d bfloat16", nn.MaxPool2d(3, 2, 1), random(1, 64, 112, 112, dtype=BFLOAT16)
    yield "max_pool2d with indices", lambda x: F.max_pool2d(x, 2, return_indices=True), random(1, 64, 112, 112)
    yield "avg_pool2d", nn.AvgPool2d(2), random(1, 64, 112, 112)
    yield "avg_pool2d bfloat16", nn.AvgPool2d(2), random(1, 64, 112, 112, dtype=BFLOAT16)
    yield "adaptive_avg_pool2d", nn.AdaptiveAvgPool2d(1), random(1, 512, 7, 7)
    yield "adaptive_avg_pool2d of 7", nn.AdaptiveAvgPool2d(7), random(1, 256, 30, 30)
    yield "adaptive_max_pool2d", nn.AdaptiveMaxPool2d(7), random(1, 256, 28, 28)
    yield "max_pool1d", nn.MaxPool1d(2), random(8, 64, 1000)
    yield "max_pool3d", nn.MaxPool3d(2), random(1, 16, 32, 32, 32)
    yield "avg_pool3d", nn.AvgPool3d(2), random(1, 16, 32, 32, 32)
    yield "pixel_shuffle", nn.PixelShuffle(2), random(1, 64, 64, 64)
    yield "pad reflect", lambda x: F.pad(x, (3, 3, 3, 3), mode="reflect"), random(1, 3, 224, 224)
    yield "pad constant", lambda x: F.pad(x, (1, 1, 1, 1)), image
    yield "unfold 3x3", nn.Unfold(3, padding=1), image
    yield "fold 3x3", nn.Fold((64, 64), 3, padding=1), random(1, 288, 4096)
    yield "flip", lambda x: x.flip(-1), photo
    yield "roll", lambda x: x.roll((3, 3), (1, 2)), random(1, 56, 56, 96)


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


def convolutions():
    yield "conv2d 3x3", *layer(nn.Conv2d(64, 64, 3, padding=1), 1, 64, 56, 56)
    yield "conv2d 3x3 stride 2", *layer(nn.Conv2d(64, 128, 3, 2, 1), 1, 64, 56, 56)
    yield "conv2d 1x1", *layer(nn.Conv2d(256, 64, 1), 1, 256, 56, 56)
    yield "conv2d 7x7 stem", *layer(nn.Conv2d(3, 64, 7, 2, 3), 1, 3, 224, 224)
    yield "conv2d patches", *layer(nn.Conv2d(3, 768, 16, 16), 1, 3, 224, 224)
    yield "conv2d depthwise", *layer(nn.Conv2d(128, 128, 3, padding=1, groups=128), 1, 128, 28, 28)
    yield "conv2d depthwise 7x7", *layer(nn.Conv2d(96, 96, 7, padding=3, groups=96), 1, 96, 56, 56)
    yield "conv2d grouped", *layer(nn.Conv2d(128, 128, 3, padding=1, groups=32), 1, 128, 56, 56)
    yield "conv2d dilated", *layer(nn.Conv2d(64, 64, 3, padding=4, dilation=4), 1, 64, 56, 56)
    yield "conv2d few channels", *layer(nn.Conv2d(8, 8, 3, padding=1), 1, 8, 64, 64)
    yield "conv2d one result", *layer(nn.Conv2d(64, 1, 3, padding=1), 1, 64, 56, 56)
    yield "conv2d batch 8", *layer(nn.Conv2d(64, 64, 3, padding=1), 8, 64, 28, 28)
    yield "conv2d of weights computed", lambda x, w: F.conv2d(x, w, padding=1), random(1, 64, 28, 28), random(64, 64, 3, 3)
    yield "conv2d reflect", *layer(nn.Conv2d(32, 32, 3, padding=1, padding_mode="reflect"), 1, 32, 64, 64)
    yield "conv_transpose2d", *layer(nn.ConvTranspose2d(128, 64, 4, 2, 1), 1, 128, 28, 28)
    yield "conv_transpose2d of 2", *layer(nn.ConvTranspose2d(128, 64, 2, 2), 1, 128, 28, 28)
    yield "conv_transpose2d depthwise", *layer(nn.ConvTranspose2d(64, 64, 4, 2, 1, groups=64), 1, 64, 28, 28)
    yield "conv_transpose1d", *layer(nn.ConvTranspose1d(128, 64, 16, 8, 4), 1, 128, 200)
    yield "conv_transpose3d", *layer(nn.ConvTranspose3d(32, 16, 2, 2), 1, 32, 8, 16, 16)
    yield "conv1d", *layer(nn.Conv1d(128, 128, 3, padding=1), 1, 128, 500)
    yield "conv1d stem", *layer(nn.Conv1d(1, 64, 10, 5), 1, 1, 16000)
    yield "conv1d dilated", *layer(nn.Conv1d(64, 64, 3, padding=8, dilation=8), 1, 64, 1000)
    yield "conv1d depthwise", *layer(nn.Conv1d(256, 256, 31, padding=15, groups=256), 1, 256, 200)
    yield "conv1d causal depthwise", *layer(nn.Conv1d(1024, 1024, 4, padding=3, groups=1024), 1, 1024, 128)
    yield "conv3d", *layer(nn.Conv3d(16, 32, 3, padding=1), 1, 16, 16, 28, 28)
    yield "conv3d depthwise", *layer(nn.Conv3d(32, 32, 3, padding=1, groups=32), 1, 32, 8, 28, 28)
    yield "conv3d stem", *layer(nn.Conv3d(3, 32, 3, (1, 2, 2), 1), 1, 3, 8, 112, 112)
    for dtype in HALVES:
        name = name_of(dtype)
        yield f"conv2d 3x3 {name}", *layer(nn.Conv2d(64, 64, 3, padding=1), 1, 64, 56, 56, dtype=dtype)
        yield f"conv2d 1x1 {name}", *layer(nn.Conv2d(256, 64, 1), 1, 256, 56, 56, dtype=dtype)
        yield f"conv2d depthwise {name}", *layer(nn.Conv2d(128, 128, 3, padding=1, groups=128), 1, 128, 28, 28, dtype=dtype)
        yield f"conv1d {name}", *layer(nn.Conv1d(128, 128, 3, padding=1), 1, 128, 500, dtype=dtype)
        yield f"conv_transpose2d {name}", *layer(nn.ConvTranspose2d(128, 64, 4, 2, 1), 1, 128, 28, 28, dtype=dtype)
    yield "conv2d 3x3 float64", *layer(nn.Conv2d(32, 32, 3, padding=1), 1, 32, 28, 28, dtype=FLOAT64)


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


KINDS = (pointwise, reductions, normalization, images, moves, products, convolutions, sequences, quantized, algebra)


def calls():
    """A kind and a name, what computes, then its inputs."""
    for kind in KINDS:
        for call in kind():
            yield kind.__name__, *call
