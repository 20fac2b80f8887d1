package pt2;

import java.lang.reflect.Array;

/**
 * A row-major tensor: an array, its dtype and its sizes. Halves are in a short[]
 * (Float.float16ToFloat of Java 20), float8 and unsigned integers in arrays of signed integers of
 * the same width. Complex numbers have two elements of the array each, the real part first. A byte[]
 * can hold the bytes of any dtype, in the order of the machine.
 */
public record Tensor(Object data, Dtype dtype, long... sizes) {
  /** A tensor of the dtype that is natural for the array; a byte[] is INT8. */
  public Tensor(Object data, long... sizes) {
    this(data, Dtype.of(data.getClass().getComponentType()), sizes);
  }

  /** Returns a tensor of zeros. */
  static Tensor zeros(Dtype dtype, long[] sizes) {
    return new Tensor(
        Array.newInstance(dtype.component, Math.toIntExact(count(sizes) * dtype.parts)), dtype, sizes);
  }

  static long count(long[] sizes) {
    long count = 1;
    for (long size : sizes) count = Math.multiplyExact(count, size);
    return count;
  }

  /** Returns a copy of the sizes. Throws unless the array holds as many elements of the dtype. */
  long[] checkedSizes() {
    long[] out = sizes.clone(); // another thread may change the record's own
    Class<?> component = data.getClass().getComponentType();
    if (component != dtype.component && component != byte.class)
      throw new IllegalArgumentException(
          "found a " + data.getClass().getSimpleName() + " for " + dtype + ", expected a " + dtype.component + "[]");
    int each = component == dtype.component ? dtype.parts : dtype.bytes();
    if (Math.multiplyExact(count(out), each) != Array.getLength(data))
      throw new IllegalArgumentException("the array has not as many elements as the sizes say");
    return out;
  }

  public float[] floats() {
    return (float[]) data;
  }
}
