package pt2;

/** A row-major tensor: float[], double[], long[], int[], short[] or byte[] and its sizes. */
public record Tensor(Object data, long... sizes) {
  /** Returns JNI's character for the element type. */
  char kind() {
    Class<?> type = data.getClass().getComponentType();
    if (type == null || !type.isPrimitive() || type == boolean.class || type == char.class)
      throw new IllegalArgumentException("found a " + data.getClass() + ", expected an array of numbers");
    long count = 1;
    for (long size : sizes) count = Math.multiplyExact(count, size);
    if (count != java.lang.reflect.Array.getLength(data))
      throw new IllegalArgumentException("the array has not as many elements as the sizes say");
    return data.getClass().getName().charAt(1);
  }

  public float[] floats() {
    return (float[]) data;
  }
}
