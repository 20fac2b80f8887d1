#include "kernels/tiles.h"

#include <algorithm>

#include "kernels/dtypes/halves.h"
#include "kernels/kernel_test.h"

namespace pt2::kernels {
namespace {

using test::Random;

// An operand with random broadcast dimensions and gaps between rows. Floats may be the parts of
// complex numbers, which are every other float.
struct Operand {
  std::vector<float> data;
  std::vector<std::byte> other;  // the data as elements of another type
  TileOperand seen;

  Operand(Random& random, const TileSizes& sizes) {
    const bool is_other = random.whole(0, 1) == 1;
    int64_t stride = is_other ? 1 : random.whole(1, 2);
    const bool is_flat = random.whole(0, 2) == 0;
    for (int dim = kTileDims; dim-- > 0;) {
      const auto d = static_cast<size_t>(dim);
      const bool is_broadcast = !is_flat && random.whole(0, 2) == 0;
      seen.strides[d] = is_broadcast ? 0 : stride;
      if (!is_broadcast) stride = stride * sizes[d] + (is_flat ? 0 : random.whole(0, 2));
    }
    data = random.numbers(stride);
    if (random.whole(0, 4) == 0) data[0] = NAN;
    seen.data = data.data();
    if (is_other) store(static_cast<TileElement>(random.whole(1, 7)));
  }

  // Stores the data as elements of the given type, and rounds the data to what these hold.
  void store(TileElement element) {
    seen.element = element;
    other.resize(data.size() * static_cast<size_t>(element_bytes(element)));
    for (size_t i = 0; i < data.size(); ++i) {
      std::byte* to = other.data() + i * static_cast<size_t>(element_bytes(element));
      const auto put = [&](auto value) {
        std::memcpy(to, &value, sizeof value);
        data[i] = static_cast<float>(value);
      };
      const float wide = std::isnan(data[i]) ? 3 : data[i] * 100;
      switch (element) {
        case TileElement::half:
          float_to_half(&data[i], 1, reinterpret_cast<uint16_t*>(to));
          half_to_float(reinterpret_cast<uint16_t*>(to), 1, &data[i]);
          break;
        case TileElement::bfloat16:
          float_to_bfloat16(&data[i], 1, reinterpret_cast<uint16_t*>(to));
          bfloat16_to_float(reinterpret_cast<uint16_t*>(to), 1, &data[i]);
          break;
        case TileElement::boolean:
          put(static_cast<uint8_t>(wide > 0));
          break;
        case TileElement::byte:
          put(static_cast<uint8_t>(std::abs(wide) * 2));
          break;
        case TileElement::small:
          put(static_cast<int8_t>(wide));
          break;
        case TileElement::narrow:
          put(static_cast<int16_t>(wide * 100));
          break;
        case TileElement::medium:
          put(static_cast<int32_t>(wide * 1e6f) + 1);
          break;
        case TileElement::whole:
          put(static_cast<int64_t>(wide * 1e15f) + 1);
          break;
        case TileElement::real:
        case TileElement::twice:
          put(data[i]);
          break;
      }
    }
  }

  // Returns the operand's element for each element of the result, in its order.
  std::vector<float> spread(const TileSizes& sizes, int64_t count) const {
    std::vector<float> out;
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i, place = 0;
      for (size_t dim = kTileDims; dim-- > 0; rest /= sizes[dim])
        place += rest % sizes[dim] * seen.strides[dim];
      out.push_back(data[static_cast<size_t>(place)]);
    }
    return out;
  }
};

TileSource random_source(Random& random, size_t operands, const std::vector<uint8_t>& tiles) {
  const int64_t kind = random.whole(0, tiles.empty() ? 3 : 7);
  if (kind == 0) return {TileSource::From::number, 0, double{random.number(-1, 1)}};
  if (kind <= 3)
    return {TileSource::From::operand,
            static_cast<uint8_t>(random.whole(0, static_cast<int64_t>(operands) - 1)), 0};
  return {TileSource::From::tile,
          tiles[static_cast<size_t>(random.whole(0, static_cast<int64_t>(tiles.size()) - 1))], 0};
}

std::vector<TileInstruction> random_instructions(Random& random, size_t operands) {
  std::vector<TileInstruction> out;
  std::vector<uint8_t> written;
  for (int64_t i = random.whole(1, 9); i > 0; --i) {
    TileInstruction next{.function = Activation::sigmoid,
                         .a = random_source(random, operands, written),
                         .b = random_source(random, operands, written)};
    switch (random.whole(0, 4)) {
      case 0:
        next.function = random.whole(0, 1) == 0 ? Activation::tanh : Activation::hardswish;
        break;
      case 1:
        next.function = random.whole(0, 1) == 0 ? Unary::square : Unary::exponential;
        break;
      case 2:
        next.function =
            static_cast<Binary>(random.whole(0, static_cast<int64_t>(Binary::one_alone)));
        break;
      case 3:
        next.function = Binary::add;
        next.scale = double{random.number(-2, 2)};
        break;
      case 4:
        next.function =
            static_cast<Ternary>(random.whole(0, static_cast<int64_t>(Ternary::multiply_add)));
        next.c = random_source(random, operands, written);
        break;
    }
    next.to = static_cast<uint8_t>(random.whole(0, kMostTiles - 1));
    next.rounding = static_cast<Rounding>(std::max<int64_t>(0, random.whole(-2, 2)));
    if (std::ranges::find(written, next.to) == written.end()) written.push_back(next.to);
    out.push_back(next);
  }
  return out;
}

// Returns the program's result, computed instruction by instruction on whole arrays with the
// kernels for single functions.
std::vector<float> one_by_one(const TileProgram& program,
                              const std::vector<std::vector<float>>& operands, int64_t count) {
  std::vector<std::vector<float>> tiles(kMostTiles);
  std::vector<float> result;
  for (const TileInstruction& instruction : program.instructions) {
    const auto elements = [&](const TileSource& source) {
      switch (source.from) {
        case TileSource::From::operand:
          return operands[source.index];
        case TileSource::From::tile:
          return tiles[source.index];
        case TileSource::From::number:
          break;
      }
      return std::vector<float>(static_cast<size_t>(count), static_cast<float>(source.number));
    };
    const std::vector<float> a = elements(instruction.a), b = elements(instruction.b);
    result.assign(static_cast<size_t>(count), 0);
    if (const auto* activation = std::get_if<Activation>(&instruction.function))
      apply(*activation, a.data(), result.data(), count);
    else if (const auto* unary = std::get_if<Unary>(&instruction.function))
      apply(*unary, a.data(), result.data(), count);
    else if (const auto* ternary = std::get_if<Ternary>(&instruction.function)) {
      const std::vector<float> c = elements(instruction.c);
      // Computes a * b + c with as many roundings as the current target.
      const auto fused = [](float x, float y, float z) {
        float sum = 0;
        add_scaled({1, 1}, {&z}, {&y}, x, {&sum});
        return sum;
      };
      for (size_t i = 0; i < result.size(); ++i) {
        const float way = b[i] - a[i];
        if (*ternary == Ternary::choose)
          result[i] = c[i] != 0 ? a[i] : b[i];
        else if (*ternary == Ternary::multiply_add)
          result[i] = fused(a[i], b[i], c[i]);
        else
          result[i] = std::abs(c[i]) < 0.5f ? fused(c[i], way, a[i]) : fused(way, c[i] - 1, b[i]);
      }
    } else if (instruction.scale != 1)
      add_scaled({1, count}, {a.data()}, {b.data()}, static_cast<float>(instruction.scale),
                 {result.data()});
    else
      combine(std::get<Binary>(instruction.function), {1, count}, {a.data()}, {b.data()},
              {result.data()});
    std::vector<uint16_t> halves(result.size());
    if (instruction.rounding == Rounding::half) {
      float_to_half(result.data(), count, halves.data());
      half_to_float(halves.data(), count, result.data());
    } else if (instruction.rounding == Rounding::bfloat16) {
      float_to_bfloat16(result.data(), count, halves.data());
      bfloat16_to_float(halves.data(), count, result.data());
    }
    tiles[instruction.to] = result;
  }
  return result;
}

// Checks the program's results when they are stored as elements of another type.
void check_stored(TileProgram program, const std::vector<float>& floats, TileElement element) {
  const auto bytes = static_cast<size_t>(element_bytes(element));
  std::vector<std::byte> out((floats.size() + 1) * bytes, std::byte{7});
  program.out = out.data();
  program.out_element = element;
  run_tiles(program);
  for (size_t i = 0; i < floats.size(); ++i) {
    if (std::isnan(floats[i])) continue;
    std::byte expected[8] = {};
    const auto put = [&](auto value) { std::memcpy(expected, &value, sizeof value); };
    if (element == TileElement::half)
      float_to_half(&floats[i], 1, reinterpret_cast<uint16_t*>(expected));
    else if (element == TileElement::bfloat16)
      float_to_bfloat16(&floats[i], 1, reinterpret_cast<uint16_t*>(expected));
    else if (element == TileElement::boolean)
      put(static_cast<uint8_t>(floats[i] != 0));
    else if (element == TileElement::whole)
      put(std::abs(floats[i]) < 0x1p63f ? static_cast<int64_t>(floats[i]) : INT64_MIN);
    else
      put(std::abs(floats[i]) < 0x1p31f ? static_cast<int32_t>(floats[i]) : INT32_MIN);
    ASSERT_EQ(std::memcmp(out.data() + i * bytes, expected, bytes), 0) << floats[i];
  }
  ASSERT_EQ(out.back(), std::byte{7});
}

bool are_equal(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Checks that the results of the last two instructions alternate if the program makes pairs.
void check_pairs(TileProgram program, const std::vector<std::vector<float>>& operands,
                 const std::vector<float>& imaginary) {
  const auto count = static_cast<int64_t>(imaginary.size());
  std::vector<float> out(2 * imaginary.size() + 1, 7);
  program.out = out.data();
  program.makes_pairs = true;
  run_tiles(program);
  ASSERT_EQ(out.back(), 7);
  program.instructions = program.instructions.first(program.instructions.size() - 1);
  const std::vector<float> real = one_by_one(program, operands, count);
  for (size_t k = 0; k < imaginary.size(); ++k)
    ASSERT_TRUE(are_equal(out[2 * k], real[k]) && are_equal(out[2 * k + 1], imaginary[k])) << k;
}

TEST(TilesTest, EqualOneFunctionAfterTheOtherToTheBit) {
  ThreadPool pool(3);
  test::on_every_target([&] {
    Random random(5);
    for (int i = 0; i < 150; ++i) {
      TileSizes sizes{1, 1, 1, 1, 1};
      for (size_t dim = static_cast<size_t>(random.whole(0, kTileDims - 1)); dim < kTileDims; ++dim)
        sizes[dim] = random.whole(1, 4);
      sizes.back() = random.whole(1, i % 4 == 0 ? 1500 : 60);
      if (i == 0) sizes = {1, 1, 1, 30, 2000};
      int64_t count = 1;
      for (const int64_t size : sizes) count *= size;
      std::vector<Operand> operands;
      std::vector<TileOperand> seen;
      std::vector<std::vector<float>> spread;
      for (int64_t k = random.whole(1, kMostTileOperands); k > 0; --k) {
        operands.emplace_back(random, sizes);
        seen.push_back(operands.back().seen);
        spread.push_back(operands.back().spread(sizes, count));
      }
      for (size_t k = 0; k < operands.size(); ++k)
        seen[k].data = operands[k].other.empty() ? static_cast<const void*>(operands[k].data.data())
                                                 : operands[k].other.data();
      const std::vector<TileInstruction> instructions =
          random_instructions(random, operands.size());
      std::vector<float> out(static_cast<size_t>(count) + 1, 7);
      const TileProgram program{instructions, sizes, seen, out.data()};
      run_tiles(program, &pool);
      ASSERT_EQ(out.back(), 7);
      out.pop_back();
      const std::vector<float> expected = one_by_one(program, spread, count);
      for (size_t k = 0; k < out.size(); ++k)
        ASSERT_TRUE(are_equal(out[k], expected[k]))
            << "element " << k << ": " << out[k] << ", expected " << expected[k];
      if (instructions.size() > 1) {
        ASSERT_NO_FATAL_FAILURE(check_pairs(program, spread, expected));
      }
      for (const TileElement element :
           {TileElement::half, TileElement::bfloat16, TileElement::boolean, TileElement::byte,
            TileElement::small, TileElement::narrow, TileElement::medium, TileElement::whole})
        ASSERT_NO_FATAL_FAILURE(check_stored(program, expected, element));
    }
  });
}

}  // namespace
}  // namespace pt2::kernels
