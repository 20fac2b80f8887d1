package pt2;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * A language model: a folder written by Transformers' exporter, or one program that takes token ids.
 * Threads may share it: calls run one after another.
 */
public final class Decoder implements AutoCloseable {
  static {
    System.loadLibrary("pt2_jni");
  }

  /** Receives each token as soon as it is known. */
  public interface OnToken {
    /** Receives a token and the index of its prompt; false ends generation. */
    boolean token(int prompt, long token);
  }

  private long handle;
  private boolean generating;
  private long timeout; // in nanoseconds; 0: none

  public Decoder(String path) {
    this(path, DecoderOptions.DEFAULT);
  }

  public Decoder(String path, DecoderOptions how) {
    if (how.threads() < 0) throw new IllegalArgumentException("found a negative number of threads");
    byte[] text = path.getBytes(StandardCharsets.UTF_8);
    byte[] limits = how.limits().getBytes(StandardCharsets.UTF_8);
    handle = open(text, limits, how.isReference() ? 1 : 0, how.threads(), how.cacheLength());
  }

  /** Later calls that take longer throw a Pt2Exception with the code "cancelled". Null: calls may take any time. */
  public synchronized void setTimeout(Duration most) {
    timeout = Values.nanoseconds(most);
  }

  /**
   * Sets the inputs that the programs take beside tokens, by name. If the model has an encoder, these
   * are the encoder's inputs and the encoder runs now.
   */
  public synchronized void give(Map<String, Tensor> inputs) {
    List<String> names = List.copyOf(inputs.keySet());
    byte[][] texts = names.stream().map(each -> each.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
    Values given = Values.of(names.stream().map(inputs::get).toArray());
    give(open(), texts, given.data(), given.sizes(), given.kinds(), timeout);
  }

  /**
   * Returns the new tokens of each prompt. Prompts are computed together if the program takes more
   * than one sequence. An argument of 0 or null means the default of generation_config.json; an empty
   * array of stop ids means none.
   */
  public synchronized long[][] generate(
      long[][] prompts, long maxNewTokens, Sampling sampling, long[] stopIds, OnToken onToken) {
    long[] ids = Arrays.stream(prompts).flatMapToLong(Arrays::stream).toArray();
    int[] lengths = Arrays.stream(prompts).mapToInt(prompt -> prompt.length).toArray();
    Sampling how = sampling == null ? Sampling.GREEDY : sampling;
    double[] two = sampling == null ? new double[0] : new double[] {how.temperature(), how.topP()};
    long decoder = open();
    if (generating) throw new IllegalStateException("the decoder is generating");
    generating = true;
    try {
      return generate(decoder, ids, lengths, maxNewTokens, two, how.topK(), how.seed(), stopIds, onToken, timeout);
    } finally {
      generating = false;
    }
  }

  @Override
  public synchronized void close() {
    // OnToken runs in the generating thread, which already holds the monitor, so it could get here.
    if (generating) throw new IllegalStateException("the decoder is generating");
    if (handle != 0) free(handle);
    handle = 0;
  }

  private long open() {
    if (handle == 0) throw new IllegalStateException("the decoder is closed");
    return handle;
  }

  private static native long open(byte[] path, byte[] limits, int engine, int threads, long cacheLength);

  private static native void free(long handle);

  private static native void give(
      long handle, byte[][] names, Object[] data, long[][] sizes, int[] kinds, long timeout);

  private static native long[][] generate(long handle, long[] ids, int[] lengths, long maxNewTokens,
      double[] sampling, long topK, long seed, long[] stopIds, OnToken onToken, long timeout);
}
