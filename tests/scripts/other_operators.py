#!/usr/bin/env python3
"""Records calls of operators that op_db does not call. With --more, records calls of other operators that op_db does not
make. A sparse tensor is recorded as the dense tensor that it represents.

    other_operators.py OUT_DIR [--more | --unusual | --arguments | --limits | --conversions | --rows]

--rows: operators that were added to the table later. --unusual, --arguments: layouts, dtypes, sizes and numbers whose
importance random calls showed. --limits: infinite and very large numbers, and dtypes that PyTorch takes or refuses only
for some sizes. --conversions: operands of different dtypes.
"""
import pathlib, sys, warnings

import torch

from record_op_calls import File, bind, find_overload

aten = torch.ops.aten
FILES = {}


def file_of(func):
    return FILES.setdefault(func, File(f"{func._schema.name.replace('::', '.')}.{func._overloadname}"))


def record(func, *args, **kwargs):
    file_of(func).record(func, args, kwargs)


def record_sparse(func, *args, sparse=(), **kwargs):
    """Records a call for which the arguments at the positions `sparse` are made sparse."""
    given = [value.to_sparse() if i in sparse else value for i, value in enumerate(args)]
    result = func(*given, **kwargs)
    file_of(func).add(func, bind(func._schema, args, kwargs), result.to_dense() if result.is_sparse else result,
                      origin="listed")


def memory(x):
    for dtype in (torch.float32, torch.int16):
        y = x.to(dtype)
        record(aten.set_.source_Tensor, y.clone(), torch.arange(4, dtype=dtype)[1:])
        record(aten.set.source_Tensor, y, torch.arange(4, dtype=dtype)[1:])
        record(aten.resize.default, y.t(), [2, 2])
        record(aten.resize.default, y, [2, 3])
        record(aten.resize_as.default, y, torch.zeros(1, 2))
        record(aten.resize_as.default, y, y)
        record(aten.resize_as_.default, y.t().contiguous().t(), torch.zeros(1, 2))
        record(aten._lazy_clone.default, y.t())
        record(aten.flatten_dense_tensors.default, [y, y[0]])
        record(aten.unflatten_dense_tensors.default, y.reshape(-1), [y[0], y[:1].t()])
        image = torch.arange(16, dtype=dtype)
        record(aten.resize_as_.default, image, torch.zeros(1, 2, 2, 2).to(memory_format=torch.channels_last),
               memory_format=torch.preserve_format)
    record(aten._has_compatible_shallow_copy_type.default, x, x[0])
    record(aten._has_same_storage_numel.default, x, x.clone()[:1])
    record(aten._has_same_storage_numel.default, x, torch.zeros(1))


def pointwise(x):
    index = [torch.tensor([1, 0, 1])]
    for accumulate in (False, True):
        record(aten._index_put_impl.default, x, index, x[[0, 0, 1]] + 10 if accumulate else x[0], accumulate)
    record(aten.polygamma_.default, x + 0.5, 1)
    record(aten.polygamma_.default, x.double() + 0.5, 0)
    record(aten.polygamma_.default, x.long(), 2)
    for func in (aten._cummax_helper.default, aten._cummin_helper.default):
        for y in (x.sin(), x.to(torch.int32).t()):
            record(func, y, torch.zeros_like(y), torch.zeros_like(y, dtype=torch.int64), 0)
    record(aten.ldexp_.default, x.clone(), torch.tensor([1, 2, -1]))
    record(aten.true_divide_.Scalar, x.clone(), 4)


def sparse(x):
    indices, values = torch.tensor([[0, 1, 0], [2, 0, 2]]), torch.tensor([1.5, -2, 4])
    for dtype in (torch.float32, torch.int64, torch.complex64):
        some, more = values.to(dtype), torch.stack([values, values * 2], 1).to(dtype)
        record_sparse(aten.sparse_coo_tensor.indices_size, indices, some, [2, 3])
        record_sparse(aten.sparse_coo_tensor.indices_size, indices, more, [2, 3, 2], is_coalesced=False)
        record_sparse(aten._sparse_coo_tensor_unsafe.default, indices, some, [2, 4])
        record_sparse(aten._sparse_coo_tensor_with_dims_and_tensors.default, 2, 0, [2, 3], indices, some, dtype=dtype,
                      layout=torch.sparse_coo, device=torch.device("cpu"), pin_memory=False)
        y = x.to(dtype)
        for func in (aten.to_sparse, aten._to_sparse):
            record_sparse(func.default, y)
            record_sparse(func.sparse_dim, y, 1)
        record_sparse(aten._to_dense.default, y, sparse=[0])
        record_sparse(aten.coalesce.default, y, sparse=[0])
        file_of(aten._coalesce.default).add(aten._coalesce.default, {"self": y}, aten._coalesce(
            y.to_sparse()._coalesced_(False)).to_dense(), origin="listed")
        record_sparse(aten._sparse_sum.default, y, sparse=[0])
        record_sparse(aten._sparse_sum.dim, y, [1], sparse=[0])
        record_sparse(aten._sparse_sum.dtype, y, dtype=torch.complex64, sparse=[0])
        record_sparse(aten._sparse_sum.dim_dtype, y, [0], dtype=torch.complex64, sparse=[0])
    dense = torch.tensor([[1., -2], [3, 4], [5, 6]])
    record_sparse(aten._sparse_mm.default, x, dense, sparse=[0])
    record_sparse(aten._sparse_addmm.default, torch.ones(2, 2), x, dense, beta=2, alpha=0.5, sparse=[1])


def products():
    a, b = torch.randn(3, 16).to(torch.float8_e4m3fn), torch.randn(16, 16).to(torch.float8_e4m3fn).t()[:, :4]
    one, each = ([torch.tensor(0.5)], [0], [0]), ([torch.rand(3, 1)], [1], [0])
    record(aten._scaled_mm_v2.default, a, b, *one, [torch.tensor(2.0)], [0], [0], None, torch.bfloat16)
    record(aten._scaled_mm_v2.default, a, b, *one, [torch.tensor(2.0)], [0], [0], torch.ones(4), torch.float32)
    record(aten._scaled_mm_v2.default, a, b, *each, [torch.rand(1, 4)], [1], [0], None, torch.float32)
    record(aten._scaled_mm_v2.default, a, b, *one, [torch.rand(1, 4)], [1], [0], None, torch.float32)


def gradients():
    log_probs = torch.randn(5, 2, 4).log_softmax(-1)
    for targets, lengths in ((torch.tensor([[1, 1, 2], [3, 0, 0]]), [3, 1]), (torch.tensor([2, 1, 1]), [3, 0]),
                             (torch.tensor([1, 1, 1, 2]), [3, 1])):
        given = [5, 3] if lengths[1] else [4, 5]
        for dtype in (torch.float32, torch.float64):
            probs, grad = log_probs.to(dtype), torch.tensor([1.5, -0.5], dtype=dtype)
            loss, alpha = aten._ctc_loss(probs, targets, given, lengths)
            record(aten._ctc_loss_backward.default, grad, probs, targets, given, lengths, loss, alpha, 0)
            record(aten._ctc_loss_backward.Tensor, grad, probs, targets, torch.tensor(given), torch.tensor(lengths),
                   loss, alpha, 0)
    # More labels than time steps: no alignment exists.
    targets, given, lengths = torch.tensor([[1, 1, 2], [3, 0, 0]]), [2, 3], [3, 1]
    loss, alpha = aten._ctc_loss(log_probs, targets, given, lengths)
    record(aten._ctc_loss_backward.default, torch.ones(2), log_probs, targets, given, lengths, loss, alpha, 0, True)

    grad, x = torch.randn(2, 3), torch.randn(2, 3) * 2
    scale, zero = torch.tensor([0.3, 0.2, 1.5]), torch.tensor([1.4, -2, 0.5])
    record(aten._fake_quantize_learnable_per_tensor_affine_backward.default, grad, x, scale[:1], zero[:1], -4, 3, 0.5)
    record(aten._fake_quantize_learnable_per_channel_affine_backward.default, grad, x, scale, zero, 1, -4, 3, 0.5)
    mask = torch.tensor([[True, False, False], [False, True, True]])
    record(aten._masked_softmax_backward.default, grad, x.softmax(-1), mask, None)
    record(aten._masked_softmax_backward.default, grad.double(), x.double().softmax(0), mask, 0)
    image, weight = torch.randn(1, 2, 4, 3), torch.randn(2, 2, 2, 2)
    out = torch.randn(1, 2, 2, 4)
    for needs in ([True, True, True], [False, True, False]):
        record(aten._slow_conv2d_backward.output_mask, out, image, weight, [2, 2], [2, 1], [0, 1], needs)
    record(aten._grid_sampler_2d_cpu_fallback_backward.default, torch.randn(1, 2, 2, 2), image,
           torch.rand(1, 2, 2, 2) * 3 - 1.5, 0, 1, False)
    record(aten._upsample_lanczos2d_aa_backward.default, torch.randn(1, 1, 3, 2), [3, 2], [1, 1, 5, 4], False)
    record(aten._upsample_lanczos2d_aa_backward.default, torch.randn(1, 1, 3, 5).double(), [3, 5], [1, 1, 2, 3], True)


def more(x):
    for n in (0, 3):
        record(aten.matrix_power.default, torch.tensor([[1, 2], [3, -1]], dtype=torch.int32), n)
    record(aten.matrix_power.default, x[:, :2].bfloat16(), 2)
    record(aten.nuclear_norm.default, torch.randn(2, 3, 2))
    record(aten.pad_sequence.default, [x.short(), x[:1] + 0.5], True, 1.5)
    for reduce in ("amax", "amin"):
        record(aten.segment_reduce.default, x, reduce, lengths=torch.tensor([1, 1]))
    record(aten.margin_ranking_loss.default, x, x.flip(0), torch.tensor([1., -1, 1]))
    record(aten.triplet_margin_loss.default, x, x.flip(0), x.flip(1), 0.0)
    record(aten.multilabel_margin_loss_forward.default, torch.tensor([0.5, torch.nan, 0.1]), torch.tensor([2, -1, 0]), 1)
    record(aten.range.default, 1.5, 2, dtype=torch.int32)
    record(aten.logspace.default, -0.5, 1.9, 3, dtype=torch.int64)
    record(aten.rsub.Tensor, x.t(), x.reshape(3, 2))
    record(aten.put.default, x.t(), torch.tensor([1, 4]), torch.tensor([-1., -2]))
    record(aten.renorm.default, torch.arange(12.).reshape(3, 2, 2).permute(1, 2, 0), 2, 1, 3)
    record(aten.histogram.bins_tensor, x, torch.tensor([0., 9, 2, 9, 4, 9])[::2])
    record(aten.fake_quantize_per_channel_affine_cachemask.default, x - 2.2, torch.tensor([0.3, 0.7]),
           torch.tensor([0.4, -200.5]), 0, -4, 3)
    record(aten.native_channel_shuffle.default, torch.arange(24.).reshape(1, 2, 3, 4).permute(0, 2, 3, 1), 3)
    record(aten._addmm_activation.default, -x[:, :2], x[:, :2], x[:, 1:], use_gelu=True)
    number, index = torch.ones(3, dtype=torch.complex64), torch.tensor([0, 0, 2])
    for include in (True, False):
        record(aten.scatter_reduce.two, number, 0, index, torch.tensor([1 + 2j, 3 - 1j, 2j]), "mean", include_self=include)
    # The source has as many dims as self.
    record(aten.index_add.default, torch.tensor(1.), 0, index[:1], torch.tensor([2.]))
    record(aten.index_add.default, x[0], 0, index[:1], torch.tensor(2.))
    record(aten.index_add.default, torch.tensor(1.), 0, index[:1], torch.tensor(2.))


def unusual(x):
    inf, nan, half, brain = torch.inf, torch.nan, torch.float16, torch.bfloat16
    extremes = [inf, -inf, 0., -0., 1.5, nan]
    for func in (aten.special_bessel_j0, aten.special_bessel_j1, aten.special_bessel_y0, aten.special_bessel_y1):
        record(func.default, torch.tensor(extremes, dtype=torch.float64))
    record(aten.digamma.default, torch.tensor([-1e-30, -0.5, -1e-8], dtype=torch.float64))
    record(aten.sigmoid_backward.default, torch.zeros(2, dtype=torch.float64), torch.tensor([1e200, 0.5], dtype=torch.float64))
    for dtype in (half, brain):
        record(aten.nextafter.default, torch.tensor([1, -1, 0, inf, 2], dtype=dtype), torch.tensor([2, 2, -2, 2, 2], dtype=dtype))
    record(aten._add_relu.Tensor, torch.tensor(extremes).double(), torch.ones(6).double())
    record(aten._add_relu.Scalar, torch.tensor(extremes).double(), 1)
    record(aten.logspace.default, -0.7, 3, 1, dtype=torch.int8)
    record(aten.logspace.Tensor_Scalar, torch.tensor(1.5), 3, 1, dtype=torch.int64)
    # Halves whose variances overflow.
    wide = torch.tensor([[300, -300], [-200, 200]], dtype=half)
    for arguments in ((aten.std.dim, wide, [1]), (aten.std.default, wide), (aten.std_mean.default, wide),
                      (aten.std_mean.dim, wide, [0])):
        record(*arguments)
    for numbers in ([1, inf], [inf, 1], [-inf, 1, 2]):
        record(aten.std_mean.default, torch.tensor(numbers, dtype=torch.float64))
    record(aten.var.correction, torch.zeros(0), [0], correction=-1)
    integers = torch.tensor([1, 2], dtype=torch.int16)
    record(aten.hinge_embedding_loss.default, integers, torch.tensor([1, -1]), 1.5, 0)
    complexes = torch.tensor([1 + 1j, -0.5j])
    record(aten.soft_margin_loss.default, complexes, torch.tensor([1 + 2j, -1]))
    record(aten.soft_margin_loss.default, x[0].to(brain), torch.tensor([1, -1, 1], dtype=half))
    record(aten.soft_margin_loss_backward.default, torch.tensor(1 + 1j), complexes, torch.tensor([1 + 2j, -1]), 1)
    record(aten.soft_margin_loss_backward.default, torch.tensor(1.), x.t(), torch.tensor([1., -1]), 2)
    record(aten.mse_loss_backward.default, torch.tensor(1., dtype=torch.float64), x.double().t(), x.double().reshape(3, 2), 1)
    record(aten.smooth_l1_loss_backward.default, torch.tensor(1., dtype=torch.float64), x.double().t(),
           x.double().t() + 0.5, 1, 1.0)
    record(aten.binary_cross_entropy_backward.default, torch.tensor(1., dtype=torch.float64), x.double().t() / 7,
           x.double().reshape(3, 2) / 7)
    record(aten.binary_cross_entropy.default, torch.tensor([0.5]), torch.tensor([2.]))
    for dtype, weight in ((brain, torch.float32), (half, brain)):
        record(aten.rms_norm.default, x.to(dtype), [3], torch.tensor([0.5, 1, 2], dtype=weight), 1e-5)
        record(aten._fused_rms_norm.default, x.to(dtype), [3], torch.tensor([0.5, 1, 2], dtype=weight), 1e-5)
    # Beyond the largest number of an 8-bit dtype.
    for name, given in (("e4m3fn", torch.float32), ("e4m3fnuz", brain), ("e5m2", torch.float64), ("e5m2fnuz", half)):
        record(aten._to_copy.default, torch.tensor([*extremes, 464, -480, 65504, 1e-9], dtype=given),
               dtype=getattr(torch, f"float8_{name}"))
    record(aten.max_pool1d_with_indices.default, torch.arange(6).reshape(1, 6), [2])
    # Matrices.
    broken = torch.tensor([[1, 2], [nan, 1]], dtype=torch.float64)
    record(aten.linalg_slogdet.default, broken)
    record(aten._linalg_slogdet.default, torch.tensor([[1, -inf], [2, 1]]))
    record(aten.linalg_matrix_exp.default, torch.tensor([[[1, inf], [2, 1]], [[1, 2], [3, 4]]], dtype=torch.float64))
    record(aten.linalg_matrix_exp.default, torch.tensor([[inf]]))
    record(aten.linalg_matrix_power.default, x[:, :2].double().t(), 1)
    lower = torch.tensor([[2., 9], [1, 3]], dtype=torch.float64)
    record(aten.linalg_pinv.default, lower, 1e-15, True)
    record(aten.linalg_pinv.rcond_tensor, lower, torch.tensor(1e-15, dtype=torch.float64), True)
    record(aten.svd.default, torch.tensor([[[1., 2], [3, 4], [5, 7]]], dtype=torch.float64), True, False)
    square = torch.tensor([[[2., 1], [1, 3]], [[1, 0], [2, 1]]], dtype=torch.float64).expand(3, 2, 2, 2)
    for func in (aten.linalg_solve.default, aten.linalg_solve_ex.default):
        record(func, square, torch.tensor([1., 2], dtype=torch.float64))
    record(aten._grouped_mm.default, torch.ones(3, 4), torch.arange(32.).reshape(2, 4, 4)[..., :3],
           torch.tensor([1, 3], dtype=torch.int32))
    record(aten.einsum.default, "i,j->ij", [torch.tensor([1, -2], dtype=torch.int8), torch.tensor([3, 4], dtype=torch.uint8)])
    # Layouts.
    last = torch.arange(24.).reshape(2, 2, 2, 3).to(memory_format=torch.channels_last)
    record(aten.roll.default, last.double(), [1], [3])
    record(aten.fft_fftshift.default, last.double(), [2])
    record(aten.native_channel_shuffle.default, torch.arange(12.).double().reshape(2, 2, 3).permute(2, 1, 0), 1)
    record(aten.constant_pad_nd.default, last.double().permute(3, 0, 2, 1), [0, -1])
    record(aten.index_add.default, x.double().t(), 0, torch.tensor([0, 2]), torch.ones(2, 2, dtype=torch.float64))
    record(aten.index_copy.default, x.double().t(), 0, torch.tensor([0, 2]), torch.ones(2, 2, dtype=torch.float64))
    record(aten.take_along_dim.default, torch.arange(4), torch.tensor([-1]))
    record(aten.take_along_dim.default, torch.arange(4).int(), torch.tensor([-1]), 0)
    record(aten.bucketize.Scalar, 1, torch.tensor([False, True]))
    record(aten.searchsorted.Tensor, torch.tensor([False, True]), torch.tensor([1]))
    record(aten.repeat_interleave.self_Tensor, torch.arange(2), torch.tensor([2, 1], dtype=torch.uint8))
    record(aten.repeat_interleave.Tensor, torch.tensor([2, 1], dtype=torch.int8))


def rows(x):
    half, wide = torch.float16, torch.float64
    # Sequences of different lengths.
    values, padded, offsets = torch.arange(10.).reshape(5, 2), torch.arange(18.).reshape(3, 3, 2), torch.tensor([0, 2, 2, 5])
    for dtype, most, padding in ((half, 3, -1.0), (torch.int16, 2, 7.0), (torch.bool, 4, 0.0)):
        record(aten._jagged_to_padded_dense_forward.default, values.to(dtype), [offsets], [most], padding)
        record(aten._padded_dense_to_jagged_forward.default, padded.to(dtype), [offsets.int()], None if most == 3 else 5)
    record(aten._jagged_to_padded_dense_forward.default, values.double()[:, 0], [offsets[:1]], [3], 1.0)
    record(aten._padded_dense_to_jagged_forward.default, padded.double()[:, :2], [offsets])
    # Rows of sparse matrices.
    for dtype in (torch.int64, torch.int32):
        record(aten._convert_indices_from_coo_to_csr.default, torch.tensor([0, 0, 1, 3], dtype=dtype), 5, out_int32=dtype == torch.int32)
        starts, columns = torch.tensor([[0, 2, 3], [0, 1, 3]], dtype=dtype), torch.tensor([[0, 2, 1], [0, 2, 1]], dtype=dtype)
        if dtype == torch.int64:
            starts, columns = starts.reshape(2, 1, 3), columns.reshape(2, 1, 3)
        record(aten._convert_indices_from_csr_to_coo.default, starts, columns, transpose=dtype == torch.int32)
    record(aten._convert_indices_from_coo_to_csr.default, x, 5)
    for dtype in (torch.float32, torch.int32):
        diagonals = torch.arange(8).reshape(2, 4).to(dtype)
        for wanted in ((diagonals, torch.tensor([1, -2]), [3, 5]), (diagonals[0], torch.tensor(-1), [4, 3])):
            file_of(aten._spdiags.default).add(
                aten._spdiags.default, {"diagonals": wanted[0], "offsets": wanted[1], "shape": wanted[2], "layout": None},
                aten._spdiags.default(*wanted).to_dense(), origin="listed")
            diagonals = diagonals.double()
    record_sparse(aten.native_norm.default, x, 3, sparse=[0])
    record_sparse(aten.native_norm.default, x.double(), torch.inf, sparse=[0])
    record_sparse(aten.native_norm.ScalarOpt_dim_dtype, x, None, [0, 1], False, None, sparse=[0])
    for func, places in ((aten.hspmm, [0]), (aten.smm, [0]), (aten._sparse_sparse_matmul, [0, 1])):
        record_sparse(func.default, x, x.t() - 1, sparse=places)
    record_sparse(aten.sspaddmm.default, torch.eye(2), x, x.t() - 1, beta=2, alpha=0.5, sparse=[0, 1])
    record_sparse(aten.sparse_coo_tensor.size, [2, 3], dtype=wide, layout=torch.sparse_coo, device=torch.device("cpu"))
    # Scaled losses.
    tensors = [x.clone(), torch.tensor([torch.inf, 1])]
    for dtype, flag, scale in ((torch.float32, [0.0], 1 / 3), (half, 0.0, 0.5), (wide, [1.0], 2.0)):
        given = [y.to(dtype) for y in tensors[:1 if dtype == half else 2]], torch.tensor(flag), torch.tensor([scale])
        record(aten._amp_foreach_non_finite_check_and_unscale.default, *given)
        record(aten._amp_foreach_non_finite_check_and_unscale_.default, *given)
    for scale, count, found in ((4.0, 1, 0.0), ([3e38], [1], [0.0])):
        given = torch.tensor(scale), torch.tensor(count, dtype=torch.int32), torch.tensor(found), 2.0, 0.5, 2
        record(aten._amp_update_scale.default, *given)
        record(aten._amp_update_scale_.default, *(y.clone() if isinstance(y, torch.Tensor) else y for y in given))
    # The derivative of a backward operator.
    y = torch.randn(2, 4)
    for dtype in (torch.float32, wide):
        gate, glu_grad = y.to(dtype), y[:, 1:3].to(dtype) * 2
        grad = aten.glu_backward(glu_grad, gate, 1)
        record(aten.glu_backward_jvp.default, grad, glu_grad, gate, glu_grad.flip(0), gate.cos(), -1)
    prims = torch.ops.prims
    record(prims.maximum_value.default, half)
    record(prims.minimum_value.default, torch.int16)
    record(prims._make_token.default)
    record(prims._sink_tokens.default, [torch.empty(0)])
    record(aten.is_contiguous.memory_format, torch.zeros(1, 2, 3, 2).to(memory_format=torch.channels_last), torch.channels_last)


def arguments(x):
    half, brain, wide = torch.float16, torch.bfloat16, torch.float64
    # The dtype, layout and sizes of losses are those of the target.
    for given, wanted in ((torch.float32, brain), (half, torch.float32), (wide, torch.float32)):
        record(aten.binary_cross_entropy_with_logits.default, x.to(given), (x / 5).to(wanted), None,
               torch.tensor([2., 1, 0.5], dtype=given), 0)
    record(aten.binary_cross_entropy_with_logits.default, x.to(brain), x[:1].to(brain) / 5)
    number, one = torch.tensor(0), torch.tensor([0])
    record(aten.multi_margin_loss.default, x[:1], number, 1, 1, None, 0)
    record(aten.multi_margin_loss.default, torch.tensor(2, dtype=wide), one, 1, 1, torch.tensor(3, dtype=wide), 0)
    record(aten.multilabel_margin_loss_forward.default, torch.tensor(2, dtype=wide), one, 0)
    record(aten.multilabel_margin_loss_backward.default, torch.tensor(1, dtype=wide), torch.tensor(2, dtype=wide), one, 1,
           torch.ones(1, dtype=wide))
    # No elements.
    record(aten.native_layer_norm.default, torch.zeros(2, 0, dtype=half), [0], None, None, 1e-5)
    for func, size in ((aten.adaptive_avg_pool1d, [2]), (aten._adaptive_avg_pool2d, [2, 1])):
        record(func.default, torch.zeros(2, 0, *([4] * len(size)), dtype=wide), size)
    # Numbers.
    for dtype in (half, brain):
        y = torch.tensor([-7.9375, 5], dtype=dtype)
        record(aten.div.Tensor_mode, y, 1.135, rounding_mode="floor")
        record(aten.div.Scalar_mode, y, 1.135, rounding_mode="trunc")
        record(aten.floor_divide.default, y, torch.tensor(1.135))
    record(aten.hardtanh.default, x.to(torch.int8), 3, 2)
    record(aten.clamp.default, x.to(torch.uint8), -1, 300)
    record(aten.clamp.default, x.to(torch.int8), None, -300)
    record(aten.huber_loss.default, x.to(half), x + 0.5, 1)
    record(aten.huber_loss.default, x, x.double() + 0.5, 0)
    record(aten.soft_margin_loss.default, x.double(), x.double().reshape(3, 2).t(), 0)
    record(aten.cross_entropy_loss.default, x.double(), x.double() / 5, None, 1, 0)
    record(aten.index_add.default, torch.tensor([False, False]), 0, one, torch.tensor([True]), alpha=0.5)
    record(aten.nanmean.default, x, [0], dtype=torch.int32)
    record(aten.positive.default, torch.tensor([True]))
    record(aten.avg_pool3d.default, torch.zeros(1, 1, 2, 2, 2, dtype=wide), [3, 2, 2], [1, 1, 1], [1, 0, 0])
    # Layouts.
    last = torch.arange(48.).reshape(2, 3, 2, 2, 2).to(memory_format=torch.channels_last_3d)
    record(aten.adaptive_avg_pool3d.default, last.double(), [2, 1, 2])
    record(aten.avg_pool3d.default, last, [1, 2, 2])
    record(aten.avg_pool3d_backward.default, torch.ones(2, 3, 2, 1, 1).double(), last.double(), [1, 2, 2], [], [0, 0, 0], False,
           True, None)
    record(aten._adaptive_avg_pool3d_backward.default, torch.ones(2, 3, 2, 1, 1).double(), last.double())
    record(aten.conv3d.default, last[:1].double(), torch.ones(2, 3, 1, 1, 1).double())
    record(aten.conv_transpose3d.input, last[:1].double(), torch.ones(3, 2, 1, 1, 1).double())
    record(aten.adaptive_max_pool3d.default, last.double(), [1, 2, 1])
    record(aten.adaptive_avg_pool1d.default, torch.arange(12.).reshape(2, 2, 3).transpose(1, 2), [1])
    image = torch.arange(24.).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)
    for func in (aten.upsample_bicubic2d_backward, aten._upsample_bicubic2d_aa_backward):
        record(func.default, image.double(), [3, 4], [1, 2, 2, 2], False)
    record(aten.rms_norm.default, image.double(), [4], None, 1e-5)
    record(aten._fused_rms_norm.default, image.double(), [4], None, 1e-5)
    cube = torch.arange(24).reshape(2, 3, 4).permute(2, 1, 0)
    for dtype, indices in ((torch.int16, [None, None, number]), (torch.int32, [torch.tensor([2, 0])]),
                           (wide, [None, torch.tensor([[2, 0]])]), (half, [None, torch.tensor([True, False, True])])):
        record(aten.index.Tensor, cube.to(dtype), indices)
    for func, more in ((aten.bernoulli.default, ()), (aten.bernoulli.p, (0.5,))):
        record(func, x.t().double() / 5, *more)
        file_of(func).samples[-1]["check"] = "shape_dtype"
    thin = torch.arange(4.).reshape(1, 2, 2, 1, 1).as_strided([1, 2, 2, 1, 1], [1, 1, 2, 2, 2])
    for func in (aten._native_batch_norm_legit_no_training, aten._batch_norm_no_update):
        record(func.default, thin.double(), None, None, torch.ones(2, dtype=wide), torch.ones(2, dtype=wide), 0.1, 1e-5)
    # Running statistics of single instances. The schema does not say that they are written.
    image = torch.arange(12.).reshape(2, 2, 3).sin()
    statistics = {"running_mean": torch.tensor([0.5, -1]), "running_var": torch.tensor([2., 3])}
    given = bind(aten.instance_norm.default._schema, [image, None, None, *(y.clone() for y in statistics.values()), True, 0.3,
                                                      1e-3, True], {})
    result = aten.instance_norm(image, None, None, *statistics.values(), True, 0.3, 1e-3, True)
    file_of(aten.instance_norm.default).add(aten.instance_norm.default, given, result, statistics, "listed")
    update = aten.batch_norm_update_stats.default
    for dtype, kept in ((torch.float32, torch.float32), (half, torch.float32), (torch.bfloat16, torch.bfloat16), (wide, wide)):
        statistics = {"running_mean": torch.tensor([0.5, -1], dtype=kept), "running_var": torch.tensor([2., 3], dtype=kept)}
        given = bind(update._schema, [image.to(dtype), *(y.clone() for y in statistics.values()), 0.3], {})
        result = update(image.to(dtype), *statistics.values(), 0.3)
        file_of(update).add(update, given, result, statistics, "listed")
    record(update, image.transpose(0, 1), None, None, 0.3)
    record(update, image[:0], None, None, 0.3)
    # Matrices.
    square = torch.tensor([[2., 1], [1, 3]], dtype=wide)
    record(aten.linalg_pinv.rcond_tensor, square, torch.tensor([0.5, 1e-9], dtype=wide))
    record(aten.linalg_pinv.atol_rtol_float, torch.tensor([[1 + 2j, 3], [4j, 5 - 1j]]), hermitian=True)
    record(aten.linalg_pinv.atol_rtol_tensor, square[None], atol=torch.tensor([[2.], [0]], dtype=wide))
    broken = torch.tensor([[1, torch.nan], [2, 1]])
    for func in (aten.linalg_polar, aten.linalg_svdvals, aten._linalg_svd):
        record(func.default, broken)
    # Queries, keys and values that differ.
    query, key, value = torch.randn(3, 1, 2, 4).double()
    weights = (torch.randn(12, 4), torch.randn(12), torch.randn(4, 4), torch.randn(4))
    for average in (True, False):
        dtype = torch.float32 if average else wide
        parts = (value, value, key) if average else (query, key, key)
        record(aten._native_multi_head_attention.default, *(y.to(dtype) for y in parts), 4, 2,
               *(y.to(dtype) for y in weights), None, True, average)


def limits(x):
    inf, half, wide = torch.inf, torch.float16, torch.float64
    # Infinite complex numbers.
    parts = [0., -1.5, inf]
    numbers = torch.tensor([complex(a, b) for a in parts for b in parts])
    record(aten.div.Tensor, numbers[:, None], numbers)
    record(aten.addcdiv.default, torch.ones(1, dtype=torch.complex64), numbers[:, None], numbers)
    record(aten._foreach_pow.ScalarList, [numbers] * 4, [-2., -1., -0.5, 3.])
    record(aten.log1p.default, torch.tensor([complex(-2.5, -0.0), -2.5 + 0j, complex(-inf, -0.0)]))
    record(aten.expm1.default, torch.tensor([100 + 0j, 1 + 2j]))
    record(aten.sinc.default, numbers)
    # Numbers whose squares overflow.
    record(aten.linalg_vector_norm.default, torch.tensor([[1e200], [-2e200]], dtype=wide), 2, [1])
    record(aten.linalg_vector_norm.default, torch.tensor([3e38]), 3)
    record(aten.norm.Scalar, torch.tensor([1e300], dtype=wide), 2)
    # Nothing to compare.
    number = torch.tensor(1 + 2j)
    for func in (aten.cummax, aten.cummin, aten.mode):
        record(func.default, number, 0)
    record(aten.kthvalue.default, number, 1)
    for func in (aten.median, aten.nanmedian):
        for dtype in (torch.complex64, torch.bool):
            record(func.default, torch.zeros(0, dtype=dtype))
    # Gradients that broadcast.
    record(aten.select_backward.default, torch.ones(1), [3, 4], 0, 1)
    record(aten.select_backward.default, torch.ones(3), [3, 4], 0, 1)
    record(aten.slice_backward.default, torch.ones(1, 1), [3, 4], 0, 0, 2, 1)
    record(aten.slice_backward.default, torch.ones(1, 2, 4), [3, 4], 0, 0, 2, 1)
    record(aten.diagonal_backward.default, torch.tensor(2.), [3, 3], 0, 0, 1)
    # Zero points beyond the levels, which only the operator that takes numbers refuses.
    levels, scale = torch.tensor([-3., 0., 3.]), torch.tensor(0.5)
    for zero_point in (torch.tensor(300, dtype=torch.int32), torch.tensor(-4), torch.tensor(3.7)):
        record(aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default, levels, scale, zero_point,
               torch.tensor([1]), 0, 255)
    # Dtypes.
    record(aten.kl_div.default, x, x.long())
    for func in (aten.cdist, aten._cdist_forward):
        record(func.default, torch.arange(26, dtype=half)[:, None], torch.zeros(1, 1, dtype=half), 2, None)
        record(func.default, x.to(half), x.to(half), 2, None)
    ones = torch.ones(2, 2, dtype=half)
    record(aten._cdist_backward.default, ones, x.to(half), x.to(half), 1, ones)
    for func in (aten.pdist, aten._pdist_forward):
        record(func.default, x[:1].to(half))
        record(func.default, x.to(half))
    record(aten.range.default, 0.5, 0.2, dtype=torch.int32)
    record(aten.range.step, 0, 1, 1, dtype=torch.bool)
    record(aten.range.step, 5.7, 0.2, -1.5, dtype=torch.int32)
    for func in (aten.rms_norm, aten._fused_rms_norm):
        record(func.default, torch.tensor([[1 + 2j, 3 - 1j], [0.5, 2j]]), [2], torch.tensor([1 - 1j, 2]), 1e-5)


def conversions():
    half, wide = torch.float16, torch.float64
    # A number among elements of another precision, and elements that are rounded before they are compared.
    for tensor in (torch.tensor([0.1, 0.5], dtype=wide), torch.tensor(0.1, dtype=half), torch.tensor([300., 0.1])):
        record(aten.isin.Tensor_Scalar, tensor, 0.1)
        record(aten.isin.Scalar_Tensor, 0.1, tensor)
    record(aten.isin.Tensor_Scalar, torch.tensor([2, 44], dtype=torch.int8), 300)
    record(aten.isin.Tensor_Scalar, torch.tensor([1, 44]), True)
    record(aten.bucketize.Tensor, torch.tensor([2048.], dtype=half), torch.tensor([2049]), right=True)
    record(aten.bucketize.Tensor, torch.tensor(300), torch.tensor([1, 44, 100], dtype=torch.int8))
    record(aten.searchsorted.Tensor, torch.tensor([2049]), torch.tensor([2048.], dtype=half), right=True)
    # A 0-dim block does not decide the dtype.
    record(aten.block_diag.default, [torch.ones(1, 2, dtype=torch.uint8), torch.tensor(3)])
    # Products and quotients of halves: the first operand is rounded, a second one of one element is not.
    large, number = torch.tensor([65535, 3]), torch.tensor(0.5, dtype=half)
    halves, one = torch.tensor([0.5, 0.25], dtype=half), torch.tensor([65535])
    for func in (aten.mul.Tensor, aten.div.Tensor, aten.floor_divide.default):
        record(func, large, number)
        record(func, halves, one)
    whole = torch.tensor([144.], dtype=half).expand(2)  # 130.96 of these is 131 in half
    for mode in ("trunc", "floor"):
        record(aten.div.Tensor_mode, large, number, rounding_mode=mode)
        record(aten.div.Tensor_mode, whole, torch.tensor([1.1], dtype=half), rounding_mode=mode)
        record(aten.div.Tensor_mode, whole, torch.tensor([1.1, 1.1], dtype=half), rounding_mode=mode)


def main():
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    x = torch.arange(6.).reshape(2, 3)
    if "--more" in sys.argv:
        more(x)
    elif "--unusual" in sys.argv:
        unusual(x)
    elif "--rows" in sys.argv:
        rows(x)
    elif "--limits" in sys.argv:
        limits(x)
    elif "--conversions" in sys.argv:
        conversions()
    elif "--arguments" in sys.argv:
        arguments(x)
    else:
        memory(x)
        pointwise(x)
        sparse(x)
        products()
        gradients()
    for func, file in FILES.items():
        file.write(pathlib.Path(sys.argv[1]), str(func._schema))


if __name__ == "__main__":
    main()
