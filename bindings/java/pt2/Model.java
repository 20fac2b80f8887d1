package pt2;

/** A loaded program with its state. Threads may share it: calls run one after another. */
public final class Model implements AutoCloseable {
  static {
    System.loadLibrary("pt2_jni");
  }

  private long handle;

  public Model(String path) {
    handle = load(path.getBytes(java.nio.charset.StandardCharsets.UTF_8));
  }

  /** Returns the names of the inputs, in the order in which run takes them. */
  public synchronized String[] inputs() {
    return inputs(open());
  }

  /** Returns copies of the results; null for a result that is not a tensor of numbers. */
  public synchronized Tensor[] run(Tensor... inputs) {
    Tensors given = Tensors.of(inputs);
    return run(open(), given.data(), given.sizes(), given.kinds());
  }

  @Override
  public synchronized void close() {
    if (handle != 0) free(handle);
    handle = 0;
  }

  private long open() {
    if (handle == 0) throw new IllegalStateException("the model is closed");
    return handle;
  }

  private static native long load(byte[] path);

  private static native void free(long handle);

  private static native String[] inputs(long handle);

  private static native Tensor[] run(long handle, Object[] data, long[][] sizes, char[] kinds);
}
