"""Records calls of quantized::linear_dynamic and related operators, with the tensors that their
packed parameters unpack to: python3 quantized_linear.py FILE.safetensors"""

import json
import sys
import warnings

import torch
from safetensors.torch import save_file

warnings.filterwarnings("ignore")
ops = torch.ops.quantized


def inputs():
    """Returns inputs whose range has both signs, one sign, only 0, or is too small for a scale of its own."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, 7, generator=generator)
    return [x, x.abs() + 1, -x.abs() - 0.5, torch.zeros(2, 7), x * 1e-5, x * 1e4, x[None, :, None, :].contiguous()]


def weight_cases():
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(4, 7, generator=generator)
    bias = torch.randn(4, generator=generator)
    per_tensor = torch.quantize_per_tensor(weight, 0.021, 3, torch.qint8)
    scales = weight.abs().amax(1).double() / 127
    per_channel = torch.quantize_per_channel(weight, scales, torch.tensor([0, 1, -2, 5]), 0, torch.qint8)
    return [(per_tensor, bias), (per_tensor, None), (per_channel, bias)]


def main(path):
    tensors, cases = {}, []

    def keep(name, tensor):
        tensors[name] = tensor.contiguous().clone()
        return name

    def record(op, number, packed, reduce_range):
        for i, x in enumerate(inputs()):
            arguments = [] if reduce_range is None else [reduce_range]
            case = dict(number, op=op, reduce_range=bool(reduce_range))
            case["x"] = keep(f"x{i}", x)
            case["y"] = keep(f"y{len(cases)}", getattr(ops, op)(x, packed, *arguments))
            cases.append(case)

    for i, (weight, bias) in enumerate(weight_cases()):
        number = {"weight": keep(f"weight{i}", weight.int_repr())}
        if bias is not None:
            number["bias"] = keep(f"bias{i}", bias)
        if weight.qscheme() == torch.per_tensor_affine:
            number |= {"scale": weight.q_scale(), "zero_point": weight.q_zero_point()}
        else:
            number["scales"] = keep(f"scales{i}", weight.q_per_channel_scales())
            number["zero_points"] = keep(f"zero_points{i}", weight.q_per_channel_zero_points())
        packed = ops.linear_prepack(weight, bias)
        for reduce_range in (False, True):
            record("linear_dynamic", number, packed, reduce_range)
        record("linear_relu_dynamic", number, packed, False)
    weight = torch.randn(4, 7, generator=torch.Generator().manual_seed(2)) * torch.tensor([1.0, 1e-3, 1e5, 1.0])[:, None]
    bias = torch.randn(4, generator=torch.Generator().manual_seed(3))
    number = {"weight": keep("weight_fp16", weight), "bias": keep("bias_fp16", bias)}
    packed = ops.linear_prepack_fp16(weight, bias)
    record("linear_dynamic_fp16", number, packed, None)
    record("linear_relu_dynamic_fp16", number, packed, None)
    save_file(tensors, path, metadata={"torch": torch.__version__, "cases": json.dumps(cases)})
    print(len(cases), "calls")


main(sys.argv[1])
