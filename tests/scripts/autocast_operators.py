"""Prints the overloads of aten that AutocastCPU has a kernel of its own for, one a line: what tests/ops/facts_test.cpp
compares the table's `autocast` with.

    python tests/scripts/autocast_operators.py > tests/data/ops/autocast_cpu.txt
"""

import torch

for name in sorted(torch._C._dispatch_get_all_op_names()):
    if not name.startswith("aten::"):
        continue
    if torch._C._dispatch_has_kernel_for_dispatch_key(name, "AutocastCPU"):
        print(name)
