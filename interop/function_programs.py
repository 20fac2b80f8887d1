"""Exports small programs, one for each of many functions of PyTorch, for decompose.py.

    python interop/function_programs.py FOLDER [NAME ...]

Each function is exported twice, with fixed sizes and with a dynamic batch. FOLDER gets NAME.pt2 and NAME_dynamic.pt2, and
beside them recorded calls (docs/recorded-calls.md) of the function itself: with the sizes of the export, and with another
batch if it is dynamic. Functions that torch.export refuses are printed.
"""

import json
import sys
import warnings
from pathlib import Path

import torch
import torch.nn.functional as F
from record_calls import record
from safetensors.torch import save_file
from torch import nn

BATCH, OTHER_BATCH = 4, 6


def floats(*sizes):
    """Returns a function that makes floats from the batch size, which replaces None among the sizes."""
    return lambda n: torch.randn([n if size is None else size for size in sizes])


def positive(*sizes):
    return lambda n: floats(*sizes)(n).abs() + 0.1


def within_one(*sizes):
    return lambda n: floats(*sizes)(n).tanh() * 0.9


def whole(high, *sizes):
    return lambda n: torch.randint(0, high, [n if size is None else size for size in sizes])


def signs(*sizes):
    return lambda n: floats(*sizes)(n).sign()


def squares(size):
    return lambda n: torch.randn(n, size, size) + size * torch.eye(size)


def symmetric(size):
    def make(n):
        a = squares(size)(n)
        return a @ a.mT + torch.eye(size)

    return make


X = floats(None, 6)
Y = floats(None, 6)
IMAGE = floats(None, 4, 8, 10)
LINE = floats(None, 4, 12)
VOLUME = floats(None, 2, 6, 6, 6)
CLASS = whole(6, None)

LOSSES = {
    "l1_loss": (F.l1_loss, X, Y),
    "mse_loss": (F.mse_loss, X, Y),
    "smooth_l1_loss": (lambda x, y: F.smooth_l1_loss(x, y, beta=0.5), X, Y),
    "huber_loss": (lambda x, y: F.huber_loss(x, y, delta=0.7), X, Y),
    "cross_entropy": (lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), X, CLASS),
    "cross_entropy_weighted": (lambda x, t, w: F.cross_entropy(x, t, w, ignore_index=2), X, CLASS, positive(6)),
    "cross_entropy_probabilities": (lambda x, y: F.cross_entropy(x, y.softmax(1), reduction="none"), X, Y),
    "cross_entropy_pixels": (F.cross_entropy, floats(None, 5, 3, 3), whole(5, None, 3, 3)),
    "nll_loss": (lambda x, t: F.nll_loss(x.log_softmax(1), t), X, CLASS),
    "binary_cross_entropy": (lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.sigmoid()), X, Y),
    "binary_cross_entropy_with_logits": (
        lambda x, y, w: F.binary_cross_entropy_with_logits(x, y.sigmoid(), pos_weight=w), X, Y, positive(6)),
    "kl_div": (lambda x, y: F.kl_div(x.log_softmax(1), y.softmax(1), reduction="batchmean"), X, Y),
    "kl_div_log_target": (lambda x, y: F.kl_div(x.log_softmax(1), y.log_softmax(1), log_target=True), X, Y),
    "poisson_nll_loss": (lambda x, y: F.poisson_nll_loss(x, y.abs(), full=True), X, Y),
    "gaussian_nll_loss": (lambda x, y, v: F.gaussian_nll_loss(x, y, v), X, Y, positive(None, 6)),
    "hinge_embedding_loss": (F.hinge_embedding_loss, X, signs(None, 6)),
    "margin_ranking_loss": (lambda x, y, s: F.margin_ranking_loss(x, y, s, margin=0.2), X, Y, signs(None, 6)),
    "cosine_embedding_loss": (lambda x, y, s: F.cosine_embedding_loss(x, y, s, margin=0.1), X, Y, signs(None)),
    "triplet_margin_loss": (F.triplet_margin_loss, X, Y, floats(None, 6)),
    "triplet_margin_loss_swap": (lambda a, b, c: F.triplet_margin_loss(a, b, c, p=3, swap=True), X, Y, floats(None, 6)),
    "triplet_margin_with_distance_loss": (F.triplet_margin_with_distance_loss, X, Y, floats(None, 6)),
    "multi_margin_loss": (F.multi_margin_loss, X, CLASS),
    "multilabel_margin_loss": (F.multilabel_margin_loss, X, whole(6, None, 6)),
    "multilabel_soft_margin_loss": (lambda x, y: F.multilabel_soft_margin_loss(x, (y > 0).float()), X, Y),
    "soft_margin_loss": (F.soft_margin_loss, X, signs(None, 6)),
    "ctc_loss": (
        lambda x, t: F.ctc_loss(x.log_softmax(2), t, torch.full((4,), 9), torch.full((4,), 3)),
        floats(9, 4, 5), lambda n: torch.randint(1, 5, (4, 3))),
}  # fmt: skip

DISTANCES = {
    "pairwise_distance": (F.pairwise_distance, X, Y),
    "pairwise_distance_inf": (lambda x, y: F.pairwise_distance(x, y, p=float("inf"), keepdim=True), X, Y),
    "cosine_similarity": (F.cosine_similarity, X, Y),
    "pdist": (F.pdist, X),
    "cdist": (torch.cdist, X, floats(5, 6)),
    "cdist_one": (lambda x, y: torch.cdist(x, y, p=1.0), floats(None, 5, 6), floats(None, 3, 6)),
    "dist": (lambda x, y: torch.dist(x, y, 3), X, Y),
    "norm": (lambda x: (torch.norm(x), torch.norm(x, p=1, dim=1), torch.norm(x, "fro", dim=(0, 1))), X),
    "norm_dtype": (lambda x: torch.norm(x, p=3, dim=1, dtype=torch.float64), X),
    "normalize": (lambda x: F.normalize(x, p=2.0, dim=1), X),
    "renorm": (lambda x: torch.renorm(x, 2, 0, 1.5), X),
}

ACTIVATIONS = {
    "activations": (
        lambda x: [f(x) for f in (F.relu, F.relu6, F.elu, F.selu, F.celu, F.gelu, F.silu, F.mish, F.softplus, F.softsign,
                                  F.hardtanh, F.hardswish, F.hardsigmoid, F.leaky_relu, F.logsigmoid, F.tanhshrink,
                                  F.softshrink, F.hardshrink)], X),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), X),
    "threshold": (lambda x: F.threshold(x, 0.1, 20.0), X),
    "glu": (lambda x: F.glu(x, dim=1), X),
    "prelu": (F.prelu, IMAGE, positive(4)),
    "rrelu": (lambda x: F.rrelu(x, training=False), X),
    "softmin": (lambda x: F.softmin(x, dim=1), X),
    "log_softmax": (lambda x: F.log_softmax(x, dim=1, dtype=torch.float64), X),
    "gumbel_like": (lambda x: F.one_hot(x.argmax(1), 6).to(x.dtype) - x.softmax(1), X),
    "in_place": (lambda x: F.relu(F.elu(x.clone(), inplace=True) - 0.1, inplace=True).mul_(2).clamp_(max=3), X),
}  # fmt: skip

POOLING = {
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 3, 2, padding=1), LINE),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, (2, 3), ceil_mode=True, count_include_pad=False), IMAGE),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2), VOLUME),
    "max_pool1d": (lambda x: F.max_pool1d(x, 3, 2, dilation=2), LINE),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), IMAGE),
    "max_pool2d_indices": (lambda x: F.max_pool2d(x, 2, return_indices=True), IMAGE),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2), VOLUME),
    "max_unpool2d": (lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), IMAGE),
    "lp_pool1d": (lambda x: F.lp_pool1d(x, 2.0, 3), LINE),
    "lp_pool2d": (lambda x: F.lp_pool2d(x, 1.5, 2), lambda n: IMAGE(n).abs()),
    "adaptive_avg_pool": (
        lambda x: (F.adaptive_avg_pool2d(x, (3, 4)), F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (None, 5))),
        IMAGE),
    "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 5), LINE),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, (3, 2, 1)), VOLUME),
    "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 5), LINE),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (3, 4), return_indices=True), IMAGE),
    "fractional_max_pool2d": (
        lambda x, r: F.fractional_max_pool2d(x, 2, output_size=(3, 4), _random_samples=r), IMAGE,
        lambda n: torch.rand(n, 4, 2)),
}  # fmt: skip

IMAGES = {
    "pad_constant": (lambda x: F.pad(x, (1, 2, 0, 3), value=1.5), IMAGE),
    "pad_negative": (lambda x: F.pad(x, (-1, 2, 3, -2)), IMAGE),
    "pad_reflect": (lambda x: F.pad(x, (1, 2, 3, 0), mode="reflect"), IMAGE),
    "pad_replicate": (lambda x: F.pad(x, (1, 2, 3, 0), mode="replicate"), IMAGE),
    "pad_circular": (lambda x: F.pad(x, (1, 2, 3, 0), mode="circular"), IMAGE),
    "pad_circular_line": (lambda x: F.pad(x, (3, 2), mode="circular"), LINE),
    "interpolate_nearest": (lambda x: F.interpolate(x, scale_factor=2), IMAGE),
    "interpolate_nearest_exact": (lambda x: F.interpolate(x, size=(5, 7), mode="nearest-exact"), IMAGE),
    "interpolate_bilinear": (lambda x: F.interpolate(x, size=(12, 7), mode="bilinear", align_corners=True), IMAGE),
    "interpolate_antialias": (lambda x: F.interpolate(x, size=(4, 5), mode="bilinear", antialias=True), IMAGE),
    "interpolate_bicubic": (lambda x: F.interpolate(x, scale_factor=1.5, mode="bicubic"), IMAGE),
    "interpolate_linear": (lambda x: F.interpolate(x, scale_factor=2, mode="linear"), LINE),
    "interpolate_trilinear": (lambda x: F.interpolate(x, size=(4, 5, 7), mode="trilinear"), VOLUME),
    "interpolate_area": (lambda x: F.interpolate(x, size=(4, 5), mode="area"), IMAGE),
    "grid_sample": (
        lambda x, g: F.grid_sample(x, g, align_corners=False, padding_mode="reflection"), IMAGE,
        within_one(None, 5, 6, 2)),
    "affine_grid": (lambda t: F.affine_grid(t, (4, 3, 5, 6), align_corners=False), lambda n: torch.randn(4, 2, 3)),
    "pixel_shuffle": (lambda x: F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2), IMAGE),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), IMAGE),
    "unfold": (lambda x: F.unfold(x, (2, 3), padding=1, stride=2), IMAGE),
    "fold": (lambda x: F.fold(x, (4, 5), (2, 2)), floats(None, 8, 12)),
    "local_response_norm": (lambda x: F.local_response_norm(x, 3), IMAGE),
}  # fmt: skip

CONVOLUTIONS = {
    "conv1d": (lambda x, w: F.conv1d(x, w, padding="same"), LINE, floats(5, 4, 4)),
    "conv2d": (lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1, groups=2), IMAGE, floats(6, 2, 3, 3), floats(6)),
    "conv2d_same": (lambda x, w: F.conv2d(x, w, padding="same", dilation=2), IMAGE, floats(6, 4, 2, 3)),
    "conv2d_valid": (lambda x, w: F.conv2d(x, w, padding="valid"), IMAGE, floats(6, 4, 2, 3)),
    "conv3d": (F.conv3d, VOLUME, floats(3, 2, 2, 2, 2)),
    "conv_transpose1d": (lambda x, w: F.conv_transpose1d(x, w, stride=2), LINE, floats(4, 3, 3)),
    "conv_transpose2d": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1, groups=2), IMAGE,
        floats(4, 3, 3, 3)),
    "conv_transpose3d": (F.conv_transpose3d, VOLUME, floats(2, 3, 2, 2, 2)),
    "conv_tbc": (torch.conv_tbc, floats(7, None, 3), floats(2, 3, 4), floats(4)),
    "linear": (F.linear, floats(None, 3, 6), floats(5, 6), floats(5)),
    "bilinear": (F.bilinear, X, Y, floats(3, 6, 6), floats(3)),
    "lazy_norms": (
        lambda x, w, b: (F.layer_norm(x, (10,)), F.group_norm(x, 2, w, b), F.instance_norm(x),
                         F.rms_norm(x, (8, 10)), F.batch_norm(x, w, w.abs(), w, b)), IMAGE, floats(4), floats(4)),
    "batch_norm_train": (lambda x: F.batch_norm(x, None, None, training=True), IMAGE),
    "dropout_eval": (lambda x: F.dropout(F.alpha_dropout(F.dropout2d(x, training=False), training=False), 0.0), IMAGE),
}  # fmt: skip

Q = floats(None, 2, 7, 8)
ATTENTION = {
    "attention": (F.scaled_dot_product_attention, Q, Q, Q),
    "attention_causal": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3), Q, Q, Q),
    "attention_mask": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m > -1), Q, Q, Q, floats(7, 7)),
    "attention_bias": (F.scaled_dot_product_attention, Q, Q, Q, floats(None, 1, 7, 7)),
    "attention_grouped": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), floats(None, 4, 7, 8), Q, Q),
    "attention_double": (lambda q: F.scaled_dot_product_attention(q.double(), q.double(), q.double()), Q),
    "multihead_attention": (lambda m: lambda x: m(x, x, x), nn.MultiheadAttention(8, 2, batch_first=True),
                            floats(None, 5, 8)),
    "multihead_attention_key_mask": (
        lambda m: lambda x, y, p: m(x, y, y, key_padding_mask=p > 1, need_weights=False)[0],
        nn.MultiheadAttention(8, 2, batch_first=True, add_bias_kv=True, kdim=6, vdim=6), floats(None, 5, 8),
        floats(None, 3, 6), floats(None, 3)),
    "transformer_encoder": (
        lambda m: lambda x: m(x), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True).eval(),
        floats(None, 5, 8)),
    "transformer_decoder": (
        lambda m: lambda x, y: m(x, y, tgt_mask=nn.Transformer.generate_square_subsequent_mask(5)),
        nn.TransformerDecoderLayer(8, 2, 16, batch_first=True).eval(), floats(None, 5, 8), floats(None, 3, 8)),
}  # fmt: skip

RECURRENT = {
    "lstm": (lambda m: lambda x: m(x), nn.LSTM(5, 7, 2, batch_first=True), floats(None, 4, 5)),
    "lstm_both_ways": (
        lambda m: lambda x: m(x)[0], nn.LSTM(5, 7, bidirectional=True, batch_first=True, proj_size=3),
        floats(None, 4, 5)),
    "gru": (lambda m: lambda x, h: m(x, h), nn.GRU(5, 7, 2), floats(4, None, 5), floats(2, None, 7)),
    "rnn_relu": (lambda m: lambda x: m(x), nn.RNN(5, 7, nonlinearity="relu", bias=False), floats(4, None, 5)),
    "rnn_tanh": (lambda m: lambda x: m(x), nn.RNN(5, 7, bidirectional=True), floats(4, None, 5)),
    "lstm_cell": (lambda m: lambda x: m(x), nn.LSTMCell(6, 4), X),
    "gru_cell": (lambda m: lambda x, h: m(x, h), nn.GRUCell(6, 4), X, floats(None, 4)),
    "rnn_cell": (lambda m: lambda x: m(x), nn.RNNCell(6, 4), X),
    "embedding": (lambda m: lambda i: m(i), nn.Embedding(9, 4, padding_idx=0), whole(9, None, 5)),
    "embedding_bag": (lambda m: lambda i: m(i), nn.EmbeddingBag(9, 4, mode="sum"), whole(9, None, 5)),
    "embedding_bag_mean": (lambda m: lambda i: m(i), nn.EmbeddingBag(9, 4, padding_idx=1), whole(9, None, 5)),
    "embedding_bag_max": (
        lambda i, w: F.embedding_bag(i, w, mode="max", offsets=torch.tensor([0, 2, 2])), whole(9, 5), floats(9, 4)),
    "embedding_bag_weighted": (
        lambda m: lambda i, w: m(i, per_sample_weights=w), nn.EmbeddingBag(9, 4, mode="sum"), whole(9, None, 5),
        floats(None, 5)),
    "weight_norm": (lambda m: lambda x: m(x), nn.utils.parametrizations.weight_norm(nn.Linear(6, 4)), X),
    "spectral_norm": (
        lambda m: lambda x: m(x), nn.utils.parametrizations.spectral_norm(nn.Linear(6, 4)).eval(), X),
    "orthogonal": (lambda m: lambda x: m(x), nn.utils.parametrizations.orthogonal(nn.Linear(6, 6)), X),
}  # fmt: skip

A, S = squares(4), symmetric(4)
LINALG = {
    "det": (lambda a: (torch.linalg.det(a), torch.linalg.slogdet(a), torch.logdet(a)), A),
    "logdet": (torch.logdet, S),
    "inv": (lambda a: (torch.linalg.inv(a), torch.linalg.inv_ex(a).inverse), A),
    "solve": (lambda a, b: torch.linalg.solve(a, b), A, floats(None, 4, 3)),
    "solve_right": (lambda a, b: torch.linalg.solve(a, b, left=False), A, floats(None, 3, 4)),
    "solve_triangular": (lambda a, b: torch.linalg.solve_triangular(a.tril(), b, upper=False), A, floats(None, 4, 3)),
    "cholesky": (lambda a: (torch.linalg.cholesky(a), torch.cholesky_solve(a, torch.linalg.cholesky(a))), S),
    "lu": (lambda a: torch.linalg.lu(a), A),
    "lu_factor": (lambda a, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), b), A, floats(None, 4, 3)),
    "qr": (lambda a: torch.linalg.qr(a)[1].abs(), floats(None, 5, 4)),
    "svd": (lambda a: torch.linalg.svd(a, full_matrices=False).S, floats(None, 5, 4)),
    "svdvals": (torch.linalg.svdvals, floats(None, 5, 4)),
    "svdvals_weight": (lambda m: lambda x: torch.linalg.svdvals(m.weight) + x, nn.Linear(6, 6), X),
    "eigh": (lambda a: torch.linalg.eigh(a).eigenvalues, S),
    "eigvalsh": (torch.linalg.eigvalsh, S),
    "eigvals": (lambda a: torch.linalg.eigvals(a).abs().sort()[0], A),
    "pinv": (torch.linalg.pinv, floats(None, 5, 4)),
    "pinv_hermitian": (lambda a: torch.linalg.pinv(a, hermitian=True, rtol=1e-4), S),
    "matrix_rank": (torch.linalg.matrix_rank, A),
    "matrix_norm": (
        lambda a: [torch.linalg.matrix_norm(a, order) for order in ("fro", "nuc", 1, -1, 2, -2, float("inf"))], A),
    "vector_norm": (lambda a: [torch.linalg.vector_norm(a, order, dim=1) for order in (0, 1, 2, 3.5)], A),
    "linalg_norm": (lambda a: (torch.linalg.norm(a), torch.linalg.norm(a, 2, dim=(1, 2), keepdim=True)), A),
    "cond": (lambda a: (torch.linalg.cond(a), torch.linalg.cond(a, 1), torch.linalg.cond(a, "fro")), A),
    "matrix_power": (lambda a: (torch.linalg.matrix_power(a, 5), torch.linalg.matrix_power(a, -2)), A),
    "matrix_exp": (lambda a: torch.linalg.matrix_exp(a * 0.1), A),
    "multi_dot": (lambda a, b, c: torch.linalg.multi_dot([a, b, c]), X, floats(6, 3), floats(3, 5)),
    "cross": (torch.linalg.cross, floats(None, 3), floats(None, 3)),
    "vecdot": (torch.linalg.vecdot, X, Y),
    "vander": (lambda x: (torch.linalg.vander(x), torch.vander(x[0], 4, increasing=True)), X),
    "tensorinv": (lambda a: torch.linalg.tensorinv(a.reshape(2, 2, 4), ind=2), lambda n: squares(4)(1)),
    "tensorsolve": (lambda a, b: torch.linalg.tensorsolve(a.reshape(2, 2, 4), b), lambda n: squares(4)(1), floats(2, 2)),
    "householder_product": (torch.linalg.householder_product, floats(None, 5, 3), floats(None, 3)),
    "diagonal": (lambda a: (torch.linalg.diagonal(a, offset=1), torch.diag_embed(a[:, 0]), torch.trace(a[0])), A),
}  # fmt: skip

PRODUCTS = {
    "einsum": (lambda x, y: torch.einsum("bi,bj->bij", x, y), X, Y),
    "einsum_heads": (lambda q, k: torch.einsum("bhid,bhjd->bhij", q, k), Q, Q),
    "einsum_three": (lambda x, w, y: torch.einsum("bi,io,bo->b", x, w, y), X, floats(6, 5), floats(None, 5)),
    "einsum_trace": (lambda a: (torch.einsum("bii->b", a), torch.einsum("...ij->...ji", a)), A),
    "einsum_ellipsis": (lambda x, w: torch.einsum("...c,cd->...d", x, w), floats(None, 3, 6), floats(6, 2)),
    "matmul": (
        lambda x, w, v: (x @ w, x @ v, v @ w, x[0] @ w, torch.matmul(x, w.expand(3, 6, 5))), floats(None, 3, 2, 6),
        floats(6, 5), floats(6)),
    "matmul_vector": (lambda x, v: (x @ v, v @ v), X, floats(6)),
    "tensordot": (lambda x, y: torch.tensordot(x, y, dims=([1, 2], [1, 0])), floats(None, 3, 6), floats(6, 3, 2)),
    "inner_outer": (lambda x, y, v: (torch.inner(x, v), torch.outer(x[:, 0], v), torch.kron(x, y[:2])), X, Y, floats(6)),
    "baddbmm": (lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=2), A, A, A),
    "addbmm_addr": (lambda c, a, b: (torch.addbmm(c[0], a, b), torch.addmv(c[0, 0], a[0], b[0, 0])), A, A, A),
    "chain_matmul": (lambda a, b, c: torch.chain_matmul(a, b, c), X, floats(6, 3), floats(3, 2)),
    "block_diag": (lambda a, b: torch.block_diag(a, b), floats(2, 3), floats(3, 2)),
    "cartesian_prod": (lambda a, b: (torch.cartesian_prod(a, b), torch.combinations(a, 2)), floats(3), floats(4)),
}  # fmt: skip

SPECIAL = {
    "special_one": (
        lambda x: [f(x) for f in (torch.special.expit, torch.special.erf, torch.special.erfc, torch.special.erfinv,
                                  torch.special.expm1, torch.special.exp2, torch.special.i0, torch.special.i0e,
                                  torch.special.i1, torch.special.i1e, torch.special.ndtr, torch.special.log_ndtr,
                                  torch.special.sinc, torch.special.erfcx, torch.special.bessel_j0)], within_one(None, 6)),
    "special_positive": (
        lambda x: [f(x) for f in (torch.special.digamma, torch.special.gammaln, torch.special.psi, torch.special.log1p,
                                  torch.special.entr, torch.special.logit, torch.special.ndtri,
                                  torch.special.bessel_y0)], lambda n: torch.rand(n, 6) * 0.8 + 0.1),
    "special_two": (
        lambda x, y: [f(x, y) for f in (torch.special.xlogy, torch.special.xlog1py, torch.special.zeta,
                                        torch.special.gammainc, torch.special.gammaincc)], positive(None, 6),
        lambda n: positive(None, 6)(n) + 1),
    "special_reductions": (
        lambda x: (torch.special.logsumexp(x, 1), torch.special.softmax(x, 1), torch.special.log_softmax(x, 1)), X),
    "special_orders": (
        lambda x: (torch.special.polygamma(2, x), torch.special.multigammaln(x + 3, 2), torch.special.round(x)),
        positive(None, 6)),
    "float_power": (lambda x: (torch.float_power(x, 2), torch.ldexp(x, torch.tensor(3)), torch.hypot(x, x)), X),
    "remainders": (
        lambda x, y: (x % y, torch.fmod(x, y), torch.floor_divide(x, y), torch.true_divide(x, y),
                      torch.div(x, y, rounding_mode="trunc")), X, positive(None, 6)),
    "clip": (lambda x, y: (torch.clip(x, -0.5, 0.5), torch.clip(x, min=y), torch.fmax(x, y), torch.fmin(x, y)), X, Y),
    "complex_numbers": (
        lambda x: (torch.view_as_real(torch.complex(x, x + 1)), torch.angle(torch.polar(x.abs(), x)),
                   torch.complex(x, x).conj().imag, torch.complex(x, x).abs()), X),
    "fft": (
        lambda x: (torch.fft.rfft(x).abs(), torch.fft.irfft(torch.fft.rfft(x)), torch.fft.fft2(x).real,
                   torch.fft.fftshift(x, dim=1), torch.fft.hfft(x), torch.fft.fftn(x).imag), X),
    "stft": (
        lambda x, w: torch.view_as_real(torch.stft(x, 8, 4, window=w, return_complex=True)), floats(None, 32),
        positive(8)),
}  # fmt: skip

REDUCTIONS = {
    "var_std": (
        lambda x: (x.var(), x.std(1), torch.var_mean(x, 1), torch.std_mean(x), x.std(1, unbiased=False)), X),
    "means": (lambda x: (x.mean(), x.nanmean(1), x.nansum(1), x.sum((0, 1)), x.prod(1), x.logsumexp((0, 1))), X),
    "extremes": (
        lambda x: (x.max(), x.min(1), x.amax(1), x.aminmax(dim=1), x.argmin(1), x.median(1).values, x.mode(1)), X),
    "quantile": (
        lambda x: (x.quantile(0.3, dim=1), x.nanquantile(torch.tensor([0.2, 0.7]), 1, interpolation="nearest")), X),
    "cumulative": (lambda x: (x.cumsum(1), x.cumprod(1), x.cummax(1), x.logcumsumexp(1), x.diff(dim=0)), X),
    "trapezoid": (
        lambda x, y: (torch.trapezoid(y, x), torch.cumulative_trapezoid(y, dx=0.5), torch.trapz(y)), X, Y),
    "gradient": (lambda x: torch.gradient(x, dim=1), X),
    "logic": (lambda x: (x.all(), (x > 0).any(1), x.count_nonzero(1), x.isclose(x + 1e-9), x.isfinite().all()), X),
    "histogram": (lambda x: (torch.histc(x, 4, -2, 2), torch.bincount(x.argmax(1), minlength=6)), X),
    "bucketize": (lambda x: (torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0])), torch.searchsorted(x.sort(1)[0], x)), X),
    "sorting": (lambda x: (x.sort(1, descending=True), x.argsort(0), x.topk(3, 1), x.kthvalue(2, 1), x.msort()), X),
}  # fmt: skip

SHAPES = {
    "repeat_interleave": (lambda x: (x.repeat_interleave(3, 0), x.repeat_interleave(2)), X),
    "repeat_tile": (lambda x: (x.repeat(2, 3), x.tile(3), torch.tile(x, (2, 1, 2))), X),
    "stacking": (
        lambda x, y: (torch.hstack([x, y]), torch.vstack([x, y]), torch.dstack([x, y]), torch.column_stack([x, y]),
                      torch.concat([x, y], 1)), X, Y),
    "splitting": (
        lambda x: (x.chunk(4, 1), x.tensor_split(4, 1), x.split([1, 5], 1), torch.hsplit(x, 3), x.unbind(1),
                   x.unsafe_chunk(2, 1)), X),
    "views": (
        lambda x: (x.reshape(-1), x.flatten(1), x.unflatten(1, (2, 3)), x.movedim(0, 1), x.swapaxes(0, 1), x.T,
                   x.view_as(x), x.narrow(1, 1, 3), x.ravel(), x.squeeze(), x.expand_as(x)), X),
    "views_image": (
        lambda x: (x.flatten(2), x.mT, x.adjoint(), x.transpose(1, 3).contiguous(), x.unfold(2, 3, 2),
                   x.as_strided((4, 2), (2, 1)), x.diagonal(0, 2, 3), x.movedim((0, 1), (2, 0))), IMAGE),
    "rotations": (lambda x: (x.flip(1), torch.fliplr(x), torch.flipud(x), x.roll((1, 2), (0, 1)), torch.rot90(x)), X),
    "triangles": (
        lambda a: (a.tril(), a.triu(1), torch.tril_indices(4, 4), torch.block_diag(a[0], a[1]), a.diag_embed()), A),
    "indexing": (
        lambda x, i: (x[i], x[:, [0, 2]], x[:, 1:5:2], x[..., None], x[i, i % 6], x[-1], x.take_along_dim(i[:, None], 1)),
        X, whole(4, None)),
    "masked": (
        lambda x, y: (x.masked_fill(y > 0, 2.0), torch.where(x > 0, y, 0.5), torch.where(x > 0, x, y),
                      x.masked_scatter(y > 0, y)), X, Y),
    "masked_select": (lambda x: (x.masked_select(x > 0).sum(), x[x > 0].mean()), X),
    "nonzero": (lambda x: (torch.nonzero(x > 0).sum(), torch.argwhere(x > 0).sum(), torch.where(x > 0)[0].sum()), X),
    "index_writes": (
        lambda x, y: (x.index_fill(1, torch.tensor([0, 2]), 3.0), x.index_add(1, torch.tensor([1]), y[:, :1]),
                      x.index_copy(1, torch.tensor([1, 3]), y[:, :2]),
                      x.index_put((torch.tensor([0, 1]),), y[:2], accumulate=True)), X, Y),
    "scatter": (
        lambda x, i: (x.scatter(1, i, 2.0), x.scatter_add(1, i, x), x.gather(1, i),
                      x.scatter_reduce(1, i, x, "amax"), x.scatter(1, i, x, reduce="multiply")), X, whole(6, None, 6)),
    "slice_writes": (
        lambda x, y: (x.select_scatter(y[:, 0], 1, 2), x.slice_scatter(y[:, :2], 1, 0, 4, 2),
                      x.diagonal_scatter(torch.ones(4)) if x.size(0) == 4 else x), lambda n: torch.randn(4, 6), Y),
    "assignment": (lambda x, y: writes(x.clone(), y), X, Y),
    "take_put": (
        lambda x: (x.take(torch.tensor([0, 5, 7])), x.put(torch.tensor([1, 2]), torch.tensor([9.0, 8.0]))), X),
    "meshgrid": (lambda x, y: torch.meshgrid(x, y, indexing="xy"), floats(None), floats(3)),
    "broadcasts": (lambda x, v: torch.broadcast_tensors(x, v) + (torch.broadcast_to(v, (4, 6)),), X, floats(6)),
    "one_hot": (lambda i: F.one_hot(i, 6), CLASS),
    "conversions": (
        lambda x: (x.to(torch.float64), x.type_as(x.long()), x.int().float(), x.bool(), x.to(torch.bfloat16).float()), X),
    "creation": (
        lambda x: (torch.zeros_like(x), x.new_ones(3), torch.full_like(x, 2), torch.arange(x.size(1)),
                   torch.linspace(0, 1, 5), torch.eye(3), torch.hann_window(8), torch.logspace(0, 1, 4)), X),
    "gathers_of_rows": (lambda x, i: (x.index_select(0, i), F.embedding(i, x), x[i].unique_consecutive().sum()), X,
                        whole(4, 5)),
    "cond_region": (
        lambda x: torch.cond(x.sum() > 0, lambda y: F.pairwise_distance(y, y + 1), lambda y: y.norm(dim=1), (x,)), X),
    "no_grad_region": (lambda x, y: no_grad(x, y), X, Y),
    "autocast_region": (lambda x, w: autocast(x, w), X, floats(5, 6)),
}  # fmt: skip


def writes(x, y):
    x[:, 0] = y[:, 1]
    x[1:3] += 2
    x.T[2].zero_()
    x[:, 3:].copy_(y[:, 3:]).sub_(1)
    return x


def no_grad(x, y):
    with torch.no_grad():
        z = F.cosine_similarity(x, y)
    return z + F.mse_loss(x, y)


def autocast(x, w):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = F.linear(x, w)
        z = F.cross_entropy(y, y.softmax(1).to(torch.float32))
    return y, z


PROGRAMS = {
    **LOSSES, **DISTANCES, **ACTIVATIONS, **POOLING, **IMAGES, **CONVOLUTIONS, **ATTENTION, **RECURRENT, **LINALG,
    **PRODUCTS, **SPECIAL, **REDUCTIONS, **SHAPES,
}  # fmt: skip


class Program(nn.Module):
    def __init__(self, function, inner):
        super().__init__()
        self.inner = inner
        self.function = function if inner is None else function(inner)

    def forward(self, *inputs):
        return self.function(*inputs)


def takes(exported, inputs):
    """True if the program takes the inputs. torch.export may find that a function takes only one size, and guard it."""
    try:
        exported.module()(*inputs)
        return True
    except (AssertionError, RuntimeError):
        return False


def save(name, function, folder, is_dynamic):
    first, *rest = function
    inner = rest.pop(0) if isinstance(rest[0], nn.Module) else None
    module = Program(first, inner)

    def inputs(n):
        torch.manual_seed(n)
        return tuple(make(n) for make in rest)

    one, other = inputs(BATCH), inputs(OTHER_BATCH)
    changing = [{d: torch.export.Dim.AUTO for d in range(a.dim()) if a.size(d) != b.size(d)} for a, b in zip(one, other)]
    if is_dynamic and not any(changing):
        return
    exported = torch.export.export(module, one, dynamic_shapes=(tuple(changing),) if is_dynamic else None)
    batch_may_change = is_dynamic and takes(exported, other)
    torch.export.save(exported, folder / f"{name}.pt2")
    tensors = {}
    calls = [record(module, each, {}, k, tensors) for k, each in enumerate([one, other] if batch_may_change else [one])]
    save_file(tensors, folder / f"{name}.safetensors", {"calls": json.dumps(calls)})


def main():
    warnings.filterwarnings("ignore")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    for name in sys.argv[2:] or PROGRAMS:
        for is_dynamic in (False, True):
            try:
                save(name + "_dynamic" * is_dynamic, PROGRAMS[name], folder, is_dynamic)
            except Exception as error:
                print(f"{name}{'_dynamic' * is_dynamic}: {type(error).__name__}: {error}"[:160].replace("\n", " "))


if __name__ == "__main__":
    main()
