import java.time.Duration;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;
import pt2.Decoder;
import pt2.DecoderOptions;
import pt2.Pt2Exception;
import pt2.Sampling;
import pt2.Tensor;

/**
 * Prints the greedily generated tokens of each prompt: Generate FOLDER COUNT READ IDS... READ is the encoder's input
 * ids, or - without an encoder. Each IDS is one prompt.
 */
final class Generate {
  static long[] ids(String list) {
    return Arrays.stream(list.split(",")).mapToLong(Long::parseLong).toArray();
  }

  /** Checks that refused calls throw, and that exceptions of the caller's OnToken reach the caller. */
  static void checkErrors(Decoder decoder, long[][] prompts) {
    try {
      decoder.generate(new long[][] {{1L << 40}}, 1, null, null, null);
      throw new AssertionError("found no exception");
    } catch (Pt2Exception refused) {
      if (!refused.code().equals("argument")) throw new AssertionError(refused);
    }
    try {
      decoder.generate(prompts, 2, Sampling.GREEDY, new long[0], (prompt, token) -> Integer.parseInt("") > 0);
      throw new AssertionError("found no exception");
    } catch (NumberFormatException expected) {
      // The callback's own exception ended generation.
    }
    decoder.setTimeout(Duration.ZERO);
    try {
      decoder.generate(prompts, 1, null, null, null);
      throw new AssertionError("found no exception");
    } catch (Pt2Exception late) {
      if (!late.code().equals("cancelled")) throw new AssertionError(late);
    }
    decoder.setTimeout(null);
    long[][] one = decoder.generate(prompts, 9, Sampling.GREEDY, new long[0], (prompt, token) -> false);
    if (one[0].length != 1) throw new AssertionError("went on");
  }

  /** Checks that the options reach the library, which refuses each of these. */
  static void checkOptions(String path) {
    for (DecoderOptions wrong : new DecoderOptions[] {new DecoderOptions("max_fun=1", false, 0, 0),
             new DecoderOptions("", false, 1 << 20, 0), new DecoderOptions("", false, 0, -1)}) {
      try (Decoder decoder = new Decoder(path, wrong)) {
        throw new AssertionError("found no exception for " + wrong + decoder);
      } catch (Pt2Exception refused) {
        if (!refused.code().equals("argument")) throw new AssertionError(refused);
      }
    }
  }

  public static void main(String[] arguments) {
    checkOptions(arguments[0]);
    try (Decoder decoder = new Decoder(arguments[0], new DecoderOptions("", false, 1, 0))) {
      if (!arguments[2].equals("-")) {
        long[] read = ids(arguments[2]);
        long[] mask = new long[read.length];
        Arrays.fill(mask, 1);
        decoder.give(Map.of("input_ids", new Tensor(read, 1, read.length),
            "attention_mask", new Tensor(mask, 1, mask.length)));
      }
      long[][] prompts = Arrays.stream(arguments).skip(3).map(Generate::ids).toArray(long[][]::new);
      checkErrors(decoder, prompts);
      for (long[] text : decoder.generate(prompts, Long.parseLong(arguments[1]), Sampling.GREEDY, null, null))
        System.out.println(Arrays.stream(text).mapToObj(Long::toString).collect(Collectors.joining(",")));
    }
  }
}
