package pt2;

/**
 * An input or output of a model.
 *
 * @param type for example "f32[batch 1..64, 3]" or "int"
 * @param dtype the dtype of a tensor; null for other values
 * @param sizes the sizes of a tensor; -1 depends on the inputs. Null for other values
 * @param minimum the least size of each dimension
 * @param maximum the greatest size of each dimension; Long.MAX_VALUE without a bound
 * @param isOptional an input that the program holds as a constant; null may be passed
 */
public record Place(
    String name, String type, Dtype dtype, long[] sizes, long[] minimum, long[] maximum, boolean isOptional) {
  Place(String name, String type, int dtype, long[] sizes, long[] minimum, long[] maximum, boolean isOptional) {
    this(name, type, Dtype.of(dtype), sizes, minimum, maximum, isOptional);
  }
}
