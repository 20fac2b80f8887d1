#!/usr/bin/env python3
"""Records calls of operators on symmetric indefinite matrices, for which op_db has only definite matrices, and of
special_spherical_bessel_j0.

    symmetric_matrices.py OUT_DIR
"""
import pathlib, sys

import torch

from record_op_calls import File, Recorder, find_overload

OVERLOADS = ["aten.linalg_ldl_factor.default", "aten.linalg_ldl_factor_ex.default", "aten.linalg_ldl_solve.default",
             "aten.linalg_matrix_sqrth.default", "aten.special_spherical_bessel_j0.default"]


def matrices(dtype, *sizes):
    a = torch.randn(*sizes, sizes[-1], dtype=dtype)
    # A small diagonal gives 2 x 2 blocks.
    return a * (1 - 0.95 * torch.eye(sizes[-1], dtype=a.real.dtype))


def main():
    files = {find_overload(name): File(name) for name in OVERLOADS}
    torch.manual_seed(0)
    torch.set_num_threads(1)
    aten = torch.ops.aten
    roots = []
    with torch.inference_mode(), Recorder(files, 14):
        for dtype in (torch.float64, torch.float32, torch.complex64):
            for sizes in ((6,), (2, 4), (1,), (0,)):
                a = matrices(dtype, *sizes)
                for hermitian, whole in ((False, a + a.mT), (True, a + a.mH)):
                    ld, pivots, info = aten.linalg_ldl_factor_ex(whole, hermitian=hermitian)
                    aten.linalg_ldl_factor(whole, hermitian=hermitian)
                    b = torch.randn(sizes[-1], 3, dtype=dtype)
                    aten.linalg_ldl_solve(ld, pivots, b, hermitian=hermitian)
                roots.append(a + a.mH)
        aten.linalg_ldl_factor_ex(torch.tensor([[0., 0., 1.], [0., 0., 0.], [1., 0., 0.]]))
        for x in (torch.linspace(-9, 9, 19), torch.arange(5), torch.tensor([0., 1e-8, 0.49, 0.51, torch.inf, torch.nan]),
                  torch.linspace(-2, 2, 9, dtype=torch.float64)):
            aten.special_spherical_bessel_j0(x)
    # Under a dispatch mode torch 2.15 loses the imaginary parts of these results.
    for matrix in roots:
        func = aten.linalg_matrix_sqrth.default
        files[func].add(func, {"self": matrix}, func(matrix))
    for func, file in files.items():
        file.write(pathlib.Path(sys.argv[1]), str(func._schema))


if __name__ == "__main__":
    main()
