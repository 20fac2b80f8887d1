#!/usr/bin/env python3
"""Records calls of the operators that multiply with 4-bit weights, which op_db does not have.

    dynamic_products.py OUT_DIR
"""
import pathlib, sys

import torch

from record_op_calls import File, Recorder, find_overload

OVERLOADS = ["aten._dyn_quant_pack_4bit_weight.default", "aten._dyn_quant_matmul_4bit.default"]
CONVERT = "aten._convert_weight_to_int4pack_for_cpu.default"


def converted():
    """Up to 48 rows. With more rows, the order of elements depends on the processor (packed_products.cpp), here AVX2."""
    func, file = find_overload(CONVERT), File(CONVERT)
    for rows, columns in ((16, 6), (32, 4), (48, 2), (0, 2), (16, 0)):
        file.record(func, (torch.randint(0, 16, (rows, columns), dtype=torch.int32), 2), {})
    file.record(func, (torch.randint(-40, 40, (4, 16), dtype=torch.int32).t(), 0), {})
    for rows, columns, dtype in ((8, 4, torch.int32), (16, 3, torch.int32), (16, 2, torch.int64)):
        file.record(func, (torch.ones(rows, columns, dtype=dtype), 2), {})
    return func, file


def main():
    files = {find_overload(name): File(name) for name in OVERLOADS}
    torch.manual_seed(0)
    torch.set_num_threads(1)
    aten = torch.ops.aten
    with torch.inference_mode(), Recorder(files, 20):
        for block, columns, rows, has_bias in ((32, 32, 8, False), (32, 32, 5, True), (32, 64, 4, False),
                                               (32, 64, 3, True)):
            weights = torch.randint(0, 256, (rows, columns // 2), dtype=torch.uint8)
            scales = torch.rand(rows, columns // block)
            scales = scales if block == columns else scales.bfloat16()
            bias = torch.randn(rows) if has_bias else None
            packed = aten._dyn_quant_pack_4bit_weight(weights, scales, bias, block, columns, rows)
            for x in (torch.randn(3, columns), torch.rand(2, columns) + 1, torch.zeros(1, columns)):
                aten._dyn_quant_matmul_4bit(x, packed, block, columns, rows)
    func, file = converted()
    files[func] = file
    for func, file in files.items():
        file.write(pathlib.Path(sys.argv[1]), str(func._schema))


if __name__ == "__main__":
    main()
