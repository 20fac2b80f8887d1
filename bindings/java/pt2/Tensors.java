package pt2;

/** Tensors in the form that the native methods take: one array for each component. */
record Tensors(Object[] data, long[][] sizes, char[] kinds) {
  static Tensors of(Tensor... tensors) {
    int count = tensors.length;
    Tensors out = new Tensors(new Object[count], new long[count][], new char[count]);
    for (int i = 0; i < count; ++i) {
      out.kinds[i] = tensors[i].kind();
      out.data[i] = tensors[i].data();
      out.sizes[i] = tensors[i].sizes();
    }
    return out;
  }
}
