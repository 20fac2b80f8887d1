// Functions of complex numbers as instructions on their real and imaginary parts. Infinite parts
// give what PyTorch's vectorized functions give: products and quotients take no special care of
// them.
#include <complex>

#include "ops/pointwise/pointwise.h"
#include "run/plan/steps/tile_builder.h"

namespace pt2::run {
namespace {

using kernels::Binary;
using kernels::Ternary;
using kernels::TileSource;
using kernels::Unary;

bool is_zero(const TileSource& source) {
  return source.from == TileSource::From::number && source.number == 0;
}

// Returns the number of elements; nothing if a call decides it.
std::optional<int64_t> count_of(const TensorMeta& tensor) {
  Sizes sizes;
  for (const SymInt& size : tensor.sizes) {
    if (size.is_symbolic()) return std::nullopt;
    sizes.push_back(size.literal());
  }
  return checked_numel(sizes);
}

}  // namespace

bool TileBuilder::add_complex(const BoundNode& node) {
  auto value = complex_of_two(node);
  if (!value) value = complex_of_one(node);
  // All other functions of real numbers give real ones, whatever the program records.
  const bool joins_reals = is_operator(node, "aten::complex") || is_operator(node, "aten::polar");
  return value && node_.has_complex != joins_reals && finish(node, *value);
}

bool TileBuilder::takes_complex(const BoundNode& node) const {
  if (node.arguments.empty()) return false;
  const auto dtype = planner_.recorded_dtype(node.arguments[0]);
  return dtype && is_complex(*dtype);
}

bool TileBuilder::add_real_of_complex(const BoundNode& node) {
  constexpr struct {
    std::string_view name;
    TileSource (*of)(TileBuilder& builder, const Parts& value);
  } kFunctions[] = {
      {"aten::real", [](TileBuilder&, const Parts& value) { return value.real; }},
      {"aten::imag", [](TileBuilder&, const Parts& value) { return value.imaginary; }},
      {"aten::abs",
       [](TileBuilder& builder, const Parts& value) {
         return builder.emit(Binary::hypotenuse, value.real, value.imaginary);
       }},
      {"aten::angle",
       [](TileBuilder& builder, const Parts& value) {
         return builder.emit(Binary::arctangent, value.imaginary, value.real);
       }},
  };
  // A part of an operand is no instruction, so it may be a result within the chain alone.
  for (const auto& function : kFunctions)
    if (is_operator(node, function.name))
      return finish(node, Parts{function.of(*this, parts(node.arguments[0])), number(0)});
  return false;
}

// Sums, products, quotients and choices.
std::optional<TileBuilder::Parts> TileBuilder::complex_of_two(const BoundNode& node) {
  const bool fills = is_operator(node, "aten::masked_fill", "Scalar");
  bool chooses = fills;
  for (const std::string_view overload : {"self", "ScalarOther", "ScalarSelf"})
    chooses = chooses || is_operator(node, "aten::where", overload);
  if (chooses) {
    const Parts a = parts(node.arguments[fills ? 2 : 1]), b = parts(node.arguments[fills ? 0 : 2]);
    node_.takes = Takes::mask;
    const TileSource mask = source(node.arguments[fills ? 1 : 0]);
    return Parts{choose(mask, a.real, b.real), choose(mask, a.imaginary, b.imaginary)};
  }
  const auto binary = binary_of(planner_, node);
  if (!binary) return std::nullopt;
  Parts a = parts(node.arguments[0]), b = parts(node.arguments[1]);
  if (binary->swaps) std::swap(a, b);
  switch (binary->function) {
    case Binary::add:
    case Binary::subtract:
      b = addend(b);
      return Parts{emit(binary->function, a.real, b.real, binary->scale),
                   emit(binary->function, a.imaginary, b.imaginary, binary->scale)};
    case Binary::multiply:
      return product(a, b);
    case Binary::divide:
      // PyTorch divides complex numbers by complex ones with care for large parts.
      if (!is_zero(b.imaginary)) return std::nullopt;
      return quotient(a, b.real);
    default:
      return std::nullopt;
  }
}

// Functions of one operand, or of two real ones.
std::optional<TileBuilder::Parts> TileBuilder::complex_of_one(const BoundNode& node) {
  const auto is = [&](std::string_view name) { return is_operator(node, name); };
  const auto operand_parts = [&](size_t i) { return parts(node.arguments[i]); };
  if (is("aten::complex")) return Parts{operand_parts(0).real, operand_parts(1).real};
  if (is("aten::polar")) return polar(operand_parts(0).real, operand_parts(1).real);
  if (is("aten::exp")) {
    const Parts z = operand_parts(0);
    const TileSource length = emit(Unary::exponential, z.real);
    const Parts plain = polar(length, z.imaginary);
    // A length or an angle of 0 decides whatever the other is.
    const TileSource is_real = emit(Binary::equal, z.imaginary, number(0)),
                     is_zero = emit(Binary::equal, length, number(0));
    const TileSource imaginary = choose(is_real, z.imaginary, plain.imaginary);
    return Parts{choose(is_zero, length, plain.real), choose(is_zero, length, imaginary)};
  }
  if (is("aten::neg")) {
    const TensorMeta* made = planner_.record(node);
    const std::optional<int64_t> count = made != nullptr ? count_of(*made) : std::nullopt;
    if (!count) return std::nullopt;  // the count decides the signs of zeros
    const Parts z = operand_parts(0);
    if (ops::negates_from_zero(node_.dtype, *count))
      return Parts{emit(Binary::subtract, number(0), z.real),
                   emit(Binary::subtract, number(0), z.imaginary)};
    return Parts{emit(Unary::negate, z.real), emit(Unary::negate, z.imaginary)};
  }
  for (const std::string_view name :
       {"aten::conj", "aten::_conj", "aten::_conj_physical", "aten::conj_physical"})
    if (is(name)) {
      const Parts z = operand_parts(0);
      return Parts{z.real, emit(Unary::negate, z.imaginary)};
    }
  // A copy of an operand needs no chain.
  if (is("aten::resolve_conj"))
    if (const Parts z = operand_parts(0); z.imaginary.from == TileSource::From::tile) return z;
  if (unary_of(planner_, node) == Unary::square) return product(operand_parts(0), operand_parts(0));
  return std::nullopt;
}

// PyTorch multiplies the second operand of a sum by a number, of which infinite parts make the
// other part NaN (ATen/native/cpu/BinaryOpsKernel.cpp add_kernel).
TileBuilder::Parts TileBuilder::addend(const Parts& value) {
  const auto is_number = [](const TileSource& part) {
    return part.from == TileSource::From::number;
  };
  if (is_number(value.real) && is_number(value.imaginary)) return value;
  return {emit_of_three(Ternary::multiply_add, value.imaginary, number(0), value.real),
          emit_of_three(Ternary::multiply_add, value.real, number(0), value.imaginary)};
}

TileBuilder::Parts TileBuilder::product(const Parts& a, const Parts& b) {
  const TileSource of_reals = multiply(a.real, b.real),
                   of_imaginaries = multiply(a.imaginary, b.imaginary),
                   across = multiply(a.imaginary, b.real);
  return {emit(Binary::subtract, of_reals, of_imaginaries),
          emit_of_three(Ternary::multiply_add, a.real, b.imaginary, across)};
}

// PyTorch divides by a real number as by a complex one (c10/util/complex.h operator/=). An infinite
// part makes the other part NaN unless the divisor is 0, whose sign is lost.
TileBuilder::Parts TileBuilder::quotient(const Parts& a, TileSource divisor) {
  const bool may_be_nought = divisor.from != TileSource::From::number || divisor.number == 0;
  TileSource is_nought = number(0);
  if (may_be_nought) {
    is_nought = emit(Binary::equal, divisor, number(0));
    divisor = choose(is_nought, number(0), divisor);
  }
  const TileSource scale = emit(Binary::divide, number(1), divisor);
  const auto part = [&](const TileSource& own, const TileSource& other, double nought) {
    TileSource top = emit_of_three(Ternary::multiply_add, other, number(nought), own);
    if (may_be_nought) top = choose(is_nought, own, top);
    return multiply(top, scale);
  };
  const TileSource real = part(a.real, a.imaginary, 0);
  return {real, part(a.imaginary, a.real, -0.0)};
}

TileBuilder::Parts TileBuilder::polar(const TileSource& length, const TileSource& angle) {
  const TileSource cosine = emit(Unary::cosine, angle), sine = emit(Unary::sine, angle);
  return {multiply(length, cosine), multiply(length, sine)};
}

TileBuilder::Parts TileBuilder::parts(const BoundArgument& argument) {
  const Dtype part = real_dtype(node_.dtype);
  const auto note = [&](Dtype dtype) {
    takes_operands_ &=
        real_dtype(dtype) == part && (part == Dtype::float32 || part == Dtype::float64);
    (part == Dtype::float64 ? node_.is_of_doubles : node_.is_of_floats) = true;
    node_.has_complex |= is_complex(dtype);
  };
  for (const Made& made : made_)
    if (Planner::takes(argument, *made.node)) {
      note(made.dtype);
      return made.value;
    }
  if (const Value* constant = planner_.constant(&argument)) {
    if (const auto* complex = constant->get_if<std::complex<double>>()) {
      node_.has_complex = true;
      return {number(complex->real()), number(complex->imag())};
    }
    if (const auto real = number_of(*constant)) return {number(*real), number(0)};
  }
  const auto dtype = planner_.recorded_dtype(argument);
  if (!dtype) {
    takes_operands_ = false;
    return {number(0), number(0)};
  }
  note(*dtype);
  if (!is_complex(*dtype)) return {operand({.value = &argument, .dtype = *dtype}), number(0)};
  return {operand({.value = &argument, .dtype = *dtype, .part = TilePart::real}),
          operand({.value = &argument, .dtype = *dtype, .part = TilePart::imaginary})};
}

}  // namespace pt2::run
