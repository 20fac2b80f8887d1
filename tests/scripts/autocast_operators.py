"""Prints the overloads of aten for which AutocastCPU has its own kernel, one per line. tests/ops/facts_test.cpp compares
the table's `autocast` with this list.

    python tests/scripts/autocast_operators.py > tests/data/ops/autocast_cpu.txt
"""

import torch

for name in sorted(torch._C._dispatch_get_all_op_names()):
    if not name.startswith("aten::"):
        continue
    if torch._C._dispatch_has_kernel_for_dispatch_key(name, "AutocastCPU"):
        print(name)
