#!/usr/bin/env python3
"""Records calls of the operators that multiply with weights of 4 bits, which op_db does not have.

    dynamic_products.py OUT_DIR
"""
import pathlib, sys

import torch

from record_op_calls import File, Recorder, find_overload

OVERLOADS = ["aten._dyn_quant_pack_4bit_weight.default", "aten._dyn_quant_matmul_4bit.default"]


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
    for func, file in files.items():
        file.write(pathlib.Path(sys.argv[1]), str(func._schema))


if __name__ == "__main__":
    main()
