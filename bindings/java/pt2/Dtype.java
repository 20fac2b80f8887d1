package pt2;

/** The dtypes of PyTorch, each with the array that holds its elements. */
public enum Dtype {
  // An array without a dtype has the first one that it can hold: byte[] is INT8, not UINT8.
  FLOAT32(2, 32, float.class, 1),
  FLOAT64(2, 64, double.class, 1),
  INT8(0, 8, byte.class, 1),
  INT16(0, 16, short.class, 1),
  INT32(0, 32, int.class, 1),
  INT64(0, 64, long.class, 1),
  BOOL(6, 8, boolean.class, 1),
  UINT8(1, 8, byte.class, 1),
  UINT16(1, 16, short.class, 1),
  UINT32(1, 32, int.class, 1),
  UINT64(1, 64, long.class, 1),
  FLOAT16(2, 16, short.class, 1),
  BFLOAT16(4, 16, short.class, 1),
  FLOAT8_E4M3FN(10, 8, byte.class, 1),
  FLOAT8_E4M3FNUZ(11, 8, byte.class, 1),
  FLOAT8_E5M2(12, 8, byte.class, 1),
  FLOAT8_E5M2FNUZ(13, 8, byte.class, 1),
  FLOAT8_E8M0FNU(14, 8, byte.class, 1),
  COMPLEX32(5, 32, short.class, 2),
  COMPLEX64(5, 64, float.class, 2),
  COMPLEX128(5, 128, double.class, 2);

  final int code; // DLPack's code times 256, plus the bits of an element
  final Class<?> component;
  final int parts; // elements of the array for one of the tensor: real and imaginary part

  Dtype(int code, int bits, Class<?> component, int parts) {
    this.code = 256 * code + bits;
    this.component = component;
    this.parts = parts;
  }

  /** Returns the number of bytes of an element. */
  public int bytes() {
    return code % 256 / 8;
  }

  /** Returns the dtype that `code` stands for; null if there is none. */
  static Dtype of(int code) {
    for (Dtype each : values()) if (each.code == code) return each;
    return null;
  }

  /** Returns the first dtype whose elements arrays of `component` hold. */
  static Dtype of(Class<?> component) {
    for (Dtype each : values()) if (each.component == component) return each;
    throw new IllegalArgumentException("found no array of a type that tensors have");
  }
}
