package pt2;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/** A loaded program with its state. Threads may share it: calls run one after another. */
public final class Model implements AutoCloseable {
  static {
    System.loadLibrary("pt2_jni");
  }

  private long handle;
  private long timeout; // in nanoseconds; 0: none

  public Model(String path) {
    this(path, Options.DEFAULT);
  }

  public Model(String path, Options how) {
    this(utf8(path), false, how);
  }

  /** Loads a model from a copy of the bytes of a file. */
  public Model(byte[] file, Options how) {
    this(file, true, how);
  }

  private Model(byte[] given, boolean isFile, Options how) {
    if (how.threads() < 0) throw new IllegalArgumentException("found a negative number of threads");
    int engine = how.isReference() ? 1 : 0;
    handle = load(given, isFile, utf8(how.program()), utf8(how.limits()), engine, how.threads());
  }

  /** Returns the inputs, in the order in which run takes them. */
  public synchronized List<Place> inputs() {
    return List.of(places(open(), true));
  }

  /** Returns the outputs, in the order in which run returns them. */
  public synchronized List<Place> outputs() {
    return List.of(places(open(), false));
  }

  /** Later calls that take longer throw a Pt2Exception with the code "cancelled". Null: calls may take any time. */
  public synchronized void setTimeout(Duration most) {
    timeout = Values.nanoseconds(most);
  }

  /** Returns copies of the results; null for a result that is not a tensor. */
  public Tensor[] run(Tensor... inputs) {
    Object[] results = call((Object[]) inputs);
    return Arrays.stream(results).map(each -> each instanceof Tensor tensor ? tensor : null).toArray(Tensor[]::new);
  }

  /**
   * As run, for values that are not all tensors: also Long or Integer, Double or Float, Boolean, String,
   * and null for an optional input. Results are Tensor, Long, Double, Boolean, String or null.
   */
  public synchronized Object[] call(Object... inputs) {
    Values given = Values.of(inputs);
    return run(open(), given.data(), given.sizes(), given.kinds(), timeout);
  }

  /** Returns the names of parameters, buffers and constants. */
  public synchronized List<String> stateNames() {
    return List.of(stateNames(open()));
  }

  /** Returns a copy of a parameter, buffer or constant. */
  public synchronized Tensor state(String name) {
    return (Tensor) state(open(), utf8(name));
  }

  /** Copies a tensor of the same dtype and sizes into a parameter, buffer or constant, for later calls. */
  public synchronized void setState(String name, Tensor tensor) {
    setState(open(), utf8(name), tensor.data(), tensor.checkedSizes(), tensor.dtype().code);
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

  private static byte[] utf8(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  private static native long load(
      byte[] given, boolean isFile, byte[] program, byte[] limits, int engine, int threads);

  private static native void free(long handle);

  private static native Place[] places(long handle, boolean areInputs);

  private static native String[] stateNames(long handle);

  private static native Object state(long handle, byte[] name);

  private static native void setState(long handle, byte[] name, Object data, long[] sizes, int kind);

  private static native Object[] run(long handle, Object[] data, long[][] sizes, int[] kinds, long timeout);
}
