package pt2;

/**
 * How a model is loaded and run.
 *
 * @param program the program of a file with several; empty: the only one, or the one called "model"
 * @param limits safety limits that differ from the defaults: "max_work=1000,max_json_depth=64"
 * @param isReference use the reference engine instead of the planned one
 * @param threads most threads that compute a call; 0: all CPUs that the process may use
 */
public record Options(String program, String limits, boolean isReference, int threads) {
  public static final Options DEFAULT = new Options("", "", false, 0);
}
