"""Records how sympy and PyTorch's functions print random expressions, and the values that they compute.

python tests/scripts/symbol_values.py tests/data/symbols/values.tsv [EXPRESSIONS [SEED]]

The first line names the symbols, the second holds the assignments. Every further line is an expression: srepr, str, and
its value under each assignment: a number, True, False, '!' where sympy raises, '?' where it leaves int64 or the reals
(not compared). str is as PyTorch 2.1 to 2.5 printed it, whose FloorDiv binds like a product.
"""

import random
import re
import sys

import sympy
import torch.utils._sympy.functions as fns
from sympy import Float, Integer, Rational, Symbol, srepr
from sympy.printing.precedence import PRECEDENCE

INT_SYMBOLS = [Symbol("s0", positive=True, integer=True), Symbol("s1", positive=True, integer=True),
               Symbol("s77", positive=True, integer=True), Symbol("u0", integer=True), Symbol("u1", integer=True)]
FLOAT_SYMBOLS = [Symbol("zf0", real=True), Symbol("zuf1")]
SYMBOLS = INT_SYMBOLS + FLOAT_SYMBOLS
UNARY = ["sqrt", "cos", "cosh", "sin", "sinh", "tan", "tanh", "asin", "acos", "atan", "exp", "log", "asinh", "log2"]
ASSIGNMENTS = 36


def print_as_until_2_5():
    for name in fns.__all__ + ["BitwiseFn_bitwise_and", "BitwiseFn_bitwise_or", "BitwiseFn_bitwise_xor"]:
        cls = getattr(fns, name)
        if "precedence" in vars(cls):
            del cls.precedence
    # Without it, sympy takes the name for that of the identity matrix and prints "I".
    fns.Identity._sympystr = lambda self, printer: f"Identity({printer.doprint(self.args[0])})"
    fns.FloorDiv.precedence = PRECEDENCE["Mul"]

    def floor_div(self, printer):
        base, divisor = (printer.parenthesize(arg, PRECEDENCE["Mul"]) for arg in self.args)
        return f"({base}//{divisor})"

    fns.FloorDiv._sympystr = floor_div


class Raw:
    """A call that sympy would rewrite when it is made: it is kept as text and computed from its arguments' values."""

    def __init__(self, name, args, compute):
        self.name, self.args, self.compute = name, args, compute

    def srepr(self):
        return f"{self.name}({', '.join(srepr(arg) for arg in self.args)})"

    def __str__(self):
        return str(sympy.Function(self.name)(*self.args))


class Generator:
    def __init__(self, seed):
        self.random, self.turns = random.Random(seed), {}

    def pick(self, *choices):
        return self.random.choice(choices)

    def each(self, *choices):
        """Takes the choices in turn, so that none is left out."""
        turn = self.turns[len(choices)] = self.turns.get(len(choices), -1) + 1
        return choices[turn % len(choices)]

    def whole(self, depth, pick=None):
        r = self.random
        if depth <= 0:
            return r.choice(INT_SYMBOLS) if r.random() < 0.75 else Integer(r.randint(-6, 12))
        a, b = (lambda: self.whole(depth - r.randint(1, 2))), (lambda: self.divisor(depth - 1))
        return (pick or self.pick)(
            lambda: a() + a(), lambda: a() - a(), lambda: a() * a(), lambda: Integer(r.randint(-3, 5)) * a() + a(),
            lambda: a() ** r.randint(2, 3), lambda: -a(), lambda: fns.FloorDiv(a(), b()), lambda: fns.FloorDiv(a(), b()),
            lambda: fns.CleanDiv(a(), b()), lambda: fns.Mod(sympy.Abs(a()), b()), lambda: fns.PythonMod(a(), b()),
            lambda: fns.ModularIndexing(sympy.Abs(a()), r.choice(INT_SYMBOLS[:3]), Integer(r.randint(2, 9))),
            lambda: fns.Max(a(), a()), lambda: fns.Min(a(), a(), a()), lambda: fns.Where(self.condition(depth - 1), a(), a()),
            lambda: sympy.Piecewise((a(), self.condition(depth - 1)), (a(), True)),
            lambda: fns.CeilToInt(self.real(depth - 1)), lambda: fns.FloorToInt(self.real(depth - 1)),
            lambda: fns.TruncToInt(self.real(depth - 1)), lambda: fns.RoundToInt(self.real(depth - 1)),
            lambda: fns.PowByNatural(a(), r.choice(INT_SYMBOLS[:3])), lambda: fns.BitwiseFn_bitwise_and(a(), a()),
            lambda: fns.BitwiseFn_bitwise_or(a(), a()), lambda: fns.BitwiseFn_bitwise_xor(a(), a()),
            lambda: sympy.Abs(a()), lambda: sympy.floor(a() / r.randint(2, 5)), lambda: sympy.ceiling(a() / r.randint(2, 5)),
            lambda: fns.Identity(a()), lambda: fns.LShift(a(), r.choice(INT_SYMBOLS[:3])),
            lambda: fns.RShift(a(), r.choice(INT_SYMBOLS[:3])), lambda: fns.CeilDiv(a(), b()),
            lambda: fns.IsNonOverlappingAndDenseIndicator(a(), a(), a(), Integer(1)),
        )()

    def divisor(self, depth):
        r = self.random
        return self.pick(lambda: Integer(r.randint(2, 9)), lambda: r.choice(INT_SYMBOLS), lambda: self.whole(depth - 1),
                         lambda: r.choice(INT_SYMBOLS[:3]) + r.randint(0, 3))()

    def real(self, depth):
        r = self.random
        if depth <= 0:
            return self.pick(lambda: r.choice(FLOAT_SYMBOLS), lambda: Float(round(r.uniform(-4, 9), r.randint(0, 6))),
                             lambda: fns.ToFloat(r.choice(INT_SYMBOLS)))()
        a = lambda: self.real(depth - r.randint(1, 2))
        return self.pick(
            lambda: a() + a(), lambda: a() * a(), lambda: -a(), lambda: fns.ToFloat(self.whole(depth - 1)),
            lambda: fns.IntTrueDiv(self.whole(depth - 1), self.divisor(depth - 1)), lambda: fns.FloatTrueDiv(a(), a()),
            lambda: fns.FloatPow(sympy.Abs(a()), a()), lambda: fns.RoundDecimal(a(), Integer(r.randint(-2, 5))),
            lambda: fns.TruncToFloat(a()), lambda: getattr(fns, "OpaqueUnaryFn_" + r.choice(UNARY))(a()),
            lambda: getattr(fns, "OpaqueUnaryFn_" + r.choice(UNARY))(fns.ToFloat(self.whole(depth - 1))),
            lambda: fns.Where(self.condition(depth - 1), a(), a()), lambda: Rational(r.randint(1, 5), r.randint(2, 4)) * a(),
            lambda: sympy.sqrt(self.whole(depth - 1)), lambda: a() / (r.choice(INT_SYMBOLS) * r.randint(1, 3)),
        )()

    def unary(self):
        name = self.each(*UNARY)
        argument = self.pick(self.real(1), fns.ToFloat(self.whole(0)), FLOAT_SYMBOLS[0] / 50, FLOAT_SYMBOLS[0])
        return getattr(fns, "OpaqueUnaryFn_" + name)(argument)

    def dense(self):
        a, b = self.random.sample(INT_SYMBOLS[:3], 2)
        return fns.IsNonOverlappingAndDenseIndicator(*self.pick((a, b, b, Integer(1)), (a, b, Integer(1), a), (a, b)))

    def condition(self, depth):
        r = self.random
        of = self.pick(self.whole, self.whole, self.real)
        relation = self.pick(sympy.Eq, sympy.Ne, sympy.Lt, sympy.Le, sympy.Gt, sympy.Ge)
        if depth <= 1 or r.random() < 0.6:
            return relation(of(depth - 1), of(depth - 1))
        c = lambda: self.condition(depth - 1)
        return self.pick(lambda: sympy.And(c(), c()), lambda: sympy.Or(c(), c()), lambda: sympy.Not(c(), evaluate=False))()

    def raw(self):
        a, n, d = self.whole(1), self.random.choice(INT_SYMBOLS[:3]), self.divisor(1)
        return self.pick(Raw("LShift", [a, n], lambda x, y: x * 2**y), Raw("RShift", [a, n], lambda x, y: x // 2**y),
                         Raw("CeilDiv", [a, d], lambda x, y: -(-x // y)), Raw("Trunc", [self.real(1)], fns.TruncToInt),
                         Raw("Round", [self.real(1)], fns.RoundToInt))

    def assignment(self):
        r = self.random
        wide = r.choice([3, 12, 100, 4000])
        values = [Integer(r.randint(1, wide)) for _ in range(3)] + [Integer(r.randint(-wide, wide)) for _ in range(2)]
        return values + [Float(r.choice([r.uniform(-3, 3), r.uniform(0, 50), r.randint(-3, 9) / 2])) for _ in range(2)]


class Unreal(Exception):
    pass


def checked(value):
    if value in (sympy.true, sympy.false, True, False):
        return value
    value = sympy.sympify(value)
    if isinstance(value, Rational) and max(abs(value.p), value.q) < 2**63:
        return value
    if value.is_real and value.is_finite and value.is_number and not isinstance(value, sympy.Number):
        try:
            value = Float(float(value))  # sqrt(2) is exact in sympy, but a float here
        except TypeError:
            raise Unreal(value) from None
    if isinstance(value, Float) and value._prec == 53 and abs(float(value)) != float("inf"):
        return value
    raise Unreal(value)


def compute(expr, values):
    """Computes bottom up, so that an intermediate number beyond int64 is noticed."""
    if isinstance(expr, Raw):
        return checked(expr.compute(*[compute(arg, values) for arg in expr.args]))
    if isinstance(expr, Symbol):
        return values[expr]
    if not expr.args:
        return checked(expr)
    if isinstance(expr, sympy.Piecewise):
        for value, condition in expr.args:
            if compute(condition, values) == True:  # noqa: E712
                return compute(value, values)
        raise Unreal(expr)
    if isinstance(expr, fns.Identity):
        return compute(expr.args[0], values)
    if isinstance(expr, fns.Where):
        return compute(expr.args[1] if compute(expr.args[0], values) == True else expr.args[2], values)  # noqa: E712
    return checked(expr.func(*[compute(arg, values) for arg in expr.args]))


def spell_value(expr, values):
    try:
        value = compute(expr, values)
    except Unreal:
        return "?"
    except (ZeroDivisionError, ValueError, AssertionError, OverflowError) as e:
        # libpt2's And and Or stop at the first decisive argument.
        return "?" if isinstance(e, OverflowError) or has_choice(expr) else "!"
    if value in (sympy.true, sympy.false):
        return str(bool(value))
    return repr(float(value)) if isinstance(value, Float) else str(value)


def has_choice(expr):
    return any(has_choice(a) for a in expr.args) if isinstance(expr, Raw) else expr.has(sympy.And, sympy.Or)


def spellings(expr):
    return expr.srepr() if isinstance(expr, Raw) else srepr(expr), str(expr)


def main():
    path, wanted = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 760
    print_as_until_2_5()
    generator = Generator(int(sys.argv[3]) if len(sys.argv) > 3 else 77)
    assignments = [generator.assignment() for _ in range(ASSIGNMENTS)]
    lines, seen = [], set()
    while len(lines) < wanted:
        make = generator.pick(*4 * [lambda: generator.whole(generator.random.randint(1, 3), generator.each)],
                              lambda: generator.whole(2), lambda: generator.real(2), lambda: generator.real(3),
                              lambda: generator.condition(2), lambda: generator.condition(3), generator.raw,
                              generator.unary, generator.dense)
        try:
            expr = make()
            srepr_text, str_text = spellings(expr)
        except (ZeroDivisionError, ValueError, AssertionError, OverflowError, TypeError, sympy.PolynomialError):
            continue
        bad = re.search(r"\b(zoo|nan|oo|int_oo|I|arg|re|im|sign|Derivative)\b", srepr_text)
        if srepr_text in seen or bad or not 12 < len(srepr_text) < 420 or expr in (sympy.true, sympy.false):
            continue
        if not isinstance(expr, Raw) and not expr.free_symbols:
            continue
        seen.add(srepr_text)
        values = [spell_value(expr, dict(zip(SYMBOLS, assignment))) for assignment in assignments]
        if all(value in "?!" for value in values):
            continue
        lines.append("\t".join([srepr_text, str_text, " ".join(values)]))
    with open(path, "w") as out:
        out.write(" ".join(s.name for s in SYMBOLS) + "\n")
        out.write(";".join(" ".join(repr(float(v)) if isinstance(v, Float) else str(v) for v in a) for a in assignments) + "\n")
        out.write("\n".join(lines) + "\n")


main()
