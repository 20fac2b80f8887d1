import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import pt2.Model;
import pt2.Pt2Exception;
import pt2.Tensor;

/** Recognises handwritten digits: Digits MODEL.pt2 IMAGES.npy... */
final class Digits {
  static float[] images(String path) throws IOException {
    ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(Path.of(path))).order(ByteOrder.LITTLE_ENDIAN);
    file.position(10 + file.getShort(8));
    float[] pixels = new float[file.remaining() / 4];
    file.asFloatBuffer().get(pixels);
    return pixels;
  }

  static int largest(float[] scores, int row) {
    int best = 0;
    for (int i = 1; i < 10; ++i) if (scores[10 * row + i] > scores[10 * row + best]) best = i;
    return best;
  }

  /** Checks that exceptions name the input or the file. */
  static void checkErrors(Model model) {
    try {
      model.run(new Tensor(new float[9], 9));
      throw new AssertionError("found no exception");
    } catch (Pt2Exception refused) {
      if (!refused.place().startsWith("input 'image'") || !refused.code().equals("argument"))
        throw new AssertionError(refused);
    }
    model.setTimeout(Duration.ZERO);
    try {
      model.run(new Tensor(new float[64], 1, 1, 8, 8));
      throw new AssertionError("found no exception");
    } catch (Pt2Exception late) {
      if (!late.code().equals("cancelled")) throw new AssertionError(late);
    }
    model.setTimeout(Duration.ofSeconds(Long.MAX_VALUE));
    String missing = "\uD83D\uDE00.pt2"; // two chars, four bytes in UTF-8
    try {
      new Model(missing);
      throw new AssertionError("found no exception");
    } catch (Pt2Exception refused) {
      if (!refused.place().equals(missing)) throw new AssertionError(refused);
    }
    if (!model.inputs().get(0).name().equals("image")) throw new AssertionError("another name");
  }

  public static void main(String[] paths) throws IOException {
    try (Model model = new Model(paths[0])) {
      checkErrors(model);
      for (int file = 1; file < paths.length; ++file) {
        float[] pixels = images(paths[file]);
        int count = pixels.length / 64;
        float[] scores = model.run(new Tensor(pixels, count, 1, 8, 8))[0].floats();
        StringBuilder line = new StringBuilder(count == 1 ? "this is a" : "these are");
        for (int row = 0; row < count; ++row) line.append(' ').append(largest(scores, row));
        System.out.println(line);
      }
    }
  }
}
