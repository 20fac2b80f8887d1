package pt2;

/**
 * How a decoder is opened and run.
 *
 * @param limits safety limits that differ from the defaults, as in Options
 * @param isReference use the reference engine instead of the planned one
 * @param threads most threads that compute a call; 0: all CPUs that the process may use
 * @param cacheLength tokens that a fixed-size cache holds, if the program does not fix this number; 0: 2048
 */
public record DecoderOptions(String limits, boolean isReference, int threads, long cacheLength) {
  public static final DecoderOptions DEFAULT = new DecoderOptions("", false, 0, 0);
}
