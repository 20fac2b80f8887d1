package pt2;

import java.nio.charset.StandardCharsets;
import java.time.Duration;

/** Values in the form that the native methods take: one array for each component. */
record Values(Object[] data, long[][] sizes, int[] kinds) {
  // The kinds of values that are not tensors, as in pt2_jni.c; the kind of a tensor is its dtype's code.
  private static final int INTEGER = -1;
  private static final int REAL = -2;
  private static final int TRUTH = -3;
  private static final int TEXT = -4;
  private static final int NOTHING = -5;

  static Values of(Object... values) {
    int count = values.length;
    Values out = new Values(new Object[count], new long[count][], new int[count]);
    for (int i = 0; i < count; ++i) out.put(i, values[i]);
    return out;
  }

  /** Returns the time in nanoseconds, which is how the native methods take it: 0 for null, at least 1 otherwise. */
  static long nanoseconds(Duration time) {
    if (time == null) return 0;
    if (time.isNegative()) throw new IllegalArgumentException("found a negative time");
    if (time.compareTo(Duration.ofNanos(Long.MAX_VALUE)) > 0) return Long.MAX_VALUE;
    return Math.max(1, time.toNanos());
  }

  private void put(int at, Object value) {
    sizes[at] = new long[0];
    if (value instanceof Tensor tensor) {
      sizes[at] = tensor.checkedSizes();
      set(at, tensor.dtype().code, tensor.data());
    } else if (value instanceof Long || value instanceof Integer) {
      set(at, INTEGER, new long[] {((Number) value).longValue()});
    } else if (value instanceof Double || value instanceof Float) {
      set(at, REAL, new double[] {((Number) value).doubleValue()});
    } else if (value instanceof Boolean truth) {
      set(at, TRUTH, new long[] {truth ? 1 : 0});
    } else if (value instanceof String text) {
      set(at, TEXT, text.getBytes(StandardCharsets.UTF_8));
    } else if (value == null) {
      set(at, NOTHING, null);
    } else {
      throw new IllegalArgumentException("found a " + value.getClass() + ", expected a tensor or a number");
    }
  }

  private void set(int at, int kind, Object value) {
    kinds[at] = kind;
    data[at] = value;
  }

  /** Returns a result of this kind; for a tensor one of zeros, which the native method fills. */
  static Object result(int kind, long[] sizes, long integer, double real, byte[] text) {
    switch (kind) {
      case INTEGER:
        return integer;
      case REAL:
        return real;
      case TRUTH:
        return integer != 0;
      case TEXT:
        return new String(text, StandardCharsets.UTF_8);
      case NOTHING:
        return null;
      default:
        if (Dtype.of(kind) == null) throw new UnsupportedOperationException("found a result of another dtype");
        return Tensor.zeros(Dtype.of(kind), sizes);
    }
  }
}
