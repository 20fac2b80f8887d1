"""Which operators and arguments each PyTorch release has: makes src/convert/operator_history.def and
src/ops/argument_names.def.

    python operator_history.py dump OUT.json        under the Python of one release
    python operator_history.py table DUMP.json ...  prints the first: the releases of each operator and argument
    python operator_history.py names DUMP.json ...  prints the second: arguments that other releases name differently

The dumps name every overload with its signature, every higher-order operator, and the Python functions on symbolic
numbers that torch/_export/serde/serialize.py takes as nodes. Rows come from the dumps alone.
"""

import importlib
import json
import pkgutil
import re
import sys

# quantized_decomposed and inductor are left out: in every release, they exist only after an
# import.
NAMESPACES = ("aten", "prims", "quantized", "_quantized", "export", "_c10d_functional")
HEAD = """\
// Operators that not every release of releases.def has, and arguments that came or went. Made by
// interop/operator_history.py from the releases themselves; not edited by hand.
//
//   PT2_OPERATOR_SPAN(first, last, target)             last 0: still there
//   PT2_ARGUMENT_SPAN(first, last, target, argument)   an argument of an operator that was there before or is afterwards
// clang-format off
#ifndef PT2_OPERATOR_SPAN
#define PT2_OPERATOR_SPAN(...)
#endif
#ifndef PT2_ARGUMENT_SPAN
#define PT2_ARGUMENT_SPAN(...)
#endif
"""
TAIL = """\
// clang-format on
#undef PT2_OPERATOR_SPAN
#undef PT2_ARGUMENT_SPAN"""
NAMES_HEAD = """\
// Arguments that releases of PyTorch call by other names. Made by interop/operator_history.py from the releases
// themselves; not edited by hand.
//
//   PT2_ARGUMENT_NAME(last, target, old, new)   called `old` up to that release, and `new` later
// clang-format off
"""
NAMES_TAIL = """\
// clang-format on
#undef PT2_ARGUMENT_NAME"""


def dump(out):
    import torch
    import torch._higher_order_ops
    import torch._prims
    from torch._export.serde import serialize

    overloads = {}
    for schema in torch._C._jit_get_all_schemas():
        namespace, _, name = schema.name.partition("::")
        if namespace in NAMESPACES:
            overloads[f"torch.ops.{namespace}.{name}.{schema.overload_name or 'default'}"] = str(schema)
    for module in pkgutil.iter_modules(torch._higher_order_ops.__path__):
        try:
            importlib.import_module("torch._higher_order_ops." + module.name)
        except Exception as e:
            print(f"{module.name}: {e}", file=sys.stderr)
    higher = getattr(torch._ops, "_higher_order_ops", None)
    if higher is None:
        higher = [name for name in dir(torch.ops.higher_order) if not name.startswith("__")]
    functions = set()
    for table in ("_SYM_INT_OPS", "_SYM_BOOL_OPS", "_SYM_FLOAT_OPS", "_SYM_OPS"):
        functions |= {f"{each.__module__}.{each.__name__}" for each in getattr(serialize, table, ())}
    json.dump(
        {"version": torch.__version__, "ops": overloads, "hops": sorted(higher), "sym": sorted(functions)},
        open(out, "w"),
    )


def number(version):
    major, minor = version.split(".")[:2]
    return 100 * int(major) + int(minor)


def arguments(signature):
    """Returns [(name, type)] of "aten::f(Tensor a, int b=1, *, bool c) -> Tensor"."""
    inner = signature[signature.index("(") + 1 : signature.rindex(") ->")]
    parts = re.split(r",\s*(?![^\[(]*[\])])", inner)
    found = []
    for part in parts:
        part = part.split("=")[0].strip()
        if part not in ("", "*", "..."):
            kind, name = part.rsplit(" ", 1)
            found.append((name, kind))
    return found


def spans(present, order):
    """Returns the (first, last) release that has an operator or argument; last is 0 if the newest release has it."""
    return min(present), 0 if max(present) == order[-1] else max(present)


def renames(releases, order, target):
    """Returns [(last, old, new)]: arguments with the same place and type but another name."""
    found = []
    having = [n for n in order if target in releases[n]["ops"]]
    for before, after in zip(having, having[1:]):
        left, right = (arguments(releases[n]["ops"][target]) for n in (before, after))
        if len(left) != len(right) or any(a[1] != b[1] for a, b in zip(left, right)):
            continue
        found += [(before, a[0], b[0]) for a, b in zip(left, right) if a[0] != b[0]]
    return found


def read(paths):
    """Returns (dumps by release, the releases in order)."""
    releases = {}
    for path in paths:
        with open(path) as file:
            data = json.load(file)
        data["ops"] = {name: text for name, text in data["ops"].items() if name.split(".")[2] in NAMESPACES}
        data["names"] = {*data["ops"], *data["sym"], *("torch.ops.higher_order." + name for name in data["hops"])}
        releases[number(data["version"])] = data
    return releases, sorted(releases)


def names(paths):
    releases, order = read(paths)
    print(NAMES_HEAD, end="")
    for target in sorted(set().union(*(data["ops"] for data in releases.values()))):
        for last, old, new in renames(releases, order, target):
            print(f'PT2_ARGUMENT_NAME({last}, "{target}", "{old}", "{new}")')
    print(NAMES_TAIL)


def table(paths):
    releases, order = read(paths)
    print(HEAD, end="")
    for target in sorted(set().union(*(data["names"] for data in releases.values()))):
        present = [n for n in order if target in releases[n]["names"]]
        first, last = spans(present, order)
        if first != order[0] or last:
            print(f'PT2_OPERATOR_SPAN({first}, {last:3}, "{target}")')
        having = [n for n in present if target in releases[n]["ops"]]
        if not having:
            continue
        skipped = {name for _, old, new in renames(releases, order, target) for name in (old, new)}
        every = {name for n in having for name, _ in arguments(releases[n]["ops"][target])} - skipped
        for argument in sorted(every):
            with_it = [n for n in having if argument in dict(arguments(releases[n]["ops"][target]))]
            if with_it == having:
                continue
            last = 0 if with_it[-1] == having[-1] else with_it[-1]
            print(f'PT2_ARGUMENT_SPAN({with_it[0]}, {last:3}, "{target}", "{argument}")')
    print(TAIL)


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "dump":
        dump(sys.argv[2])
    elif len(sys.argv) > 2 and sys.argv[1] in ("table", "names"):
        (table if sys.argv[1] == "table" else names)(sys.argv[2:])
    else:
        sys.exit(__doc__.strip())


if __name__ == "__main__":
    main()
