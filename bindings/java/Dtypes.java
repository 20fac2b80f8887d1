import java.io.IOException;
import java.lang.reflect.Array;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import pt2.Dtype;
import pt2.Model;
import pt2.Options;
import pt2.Place;
import pt2.Pt2Exception;
import pt2.Tensor;

/** Tests every dtype, and values that are not tensors: Dtypes FOLDER, with the programs of the tests. */
final class Dtypes {
  static void check(boolean holds, Object what) {
    if (!holds) throw new AssertionError(what);
  }

  static void throwsText(Class<? extends Exception> type, String text, Runnable call) {
    try {
      call.run();
    } catch (RuntimeException refused) {
      check(type.isInstance(refused) && refused.getMessage().contains(text), refused);
      return;
    }
    throw new AssertionError("found no exception");
  }

  /** Returns element i of the array, of which `parts` make an element of the tensor. */
  static String element(Object array, int i, int parts) {
    StringBuilder out = new StringBuilder();
    for (int part = 0; part < parts; ++part) out.append(Array.get(array, parts * i + part)).append(' ');
    return out.toString();
  }

  /** Transposes a tensor of each dtype, given once as bytes and once as a result of the first call. */
  static void transposes(Model model) {
    Tensor[] given = new Tensor[model.inputs().size()];
    for (int at = 0; at < given.length; ++at) {
      Place place = model.inputs().get(at);
      check(place.name().toUpperCase().equals(place.dtype().name()), place);
      byte[] bytes = new byte[6 * place.dtype().bytes()];
      for (int i = 0; i < bytes.length; ++i) bytes[i] = (byte) (place.dtype() == Dtype.BOOL ? i % 2 : 7 * i + 1);
      given[at] = new Tensor(bytes, place.dtype(), 2, 3);
    }
    Tensor[] columns = model.run(given);
    Tensor[] rows = new Tensor[given.length];
    for (int at = 0; at < given.length; ++at) {
      check(Arrays.equals(columns[at].sizes(), new long[] {3, 2}), columns[at]);
      check(columns[at].dtype() == given[at].dtype(), columns[at]);
      rows[at] = new Tensor(columns[at].data(), columns[at].dtype(), 2, 3);
    }
    Tensor[] again = model.run(rows);
    for (int at = 0; at < given.length; ++at) {
      int parts = Array.getLength(rows[at].data()) / 6;
      for (int i = 0; i < 6; ++i) // [2, 3] transposed
        check(element(again[at].data(), i, parts).equals(element(rows[at].data(), 3 * (i % 2) + i / 2, parts)), at);
    }
    // Little-endian bytes, transposed: elements 0, 3, 1, 4, 2, 5 of the input.
    check(((int[]) columns[3].data())[0] == 0x160F0801, "int32");
    check(((short[]) columns[5].data())[1] == (short) ((7 * 7 + 1) << 8 | 7 * 6 + 1), "float16");
    check(((boolean[]) columns[11].data())[1], "bool");
    check(((float[]) columns[9].data()).length == 12, "complex64");
    rows[11] = new Tensor(new byte[6], 2, 3);
    throwsText(Pt2Exception.class, "input 'bool'", () -> model.run(rows));
    throwsText(IllegalArgumentException.class, "FLOAT16", () -> model.run(new Tensor(new float[6], Dtype.FLOAT16, 6)));
    throwsText(IllegalArgumentException.class, "elements", () -> model.run(new Tensor(new byte[6], Dtype.INT16, 6)));
    throwsText(IllegalArgumentException.class, "type", () -> new Tensor(new char[6], 6));
  }

  static void takesOtherValues(String path) {
    try (Model model = new Model(path, new Options("", "max_work=1000000", true, 1))) {
      Tensor x = new Tensor(new float[] {0, 2, 3}, 3);
      Object[] results = model.call(x, 4, true, "\u00e9");
      Tensor found = (Tensor) results[0];
      check(Arrays.equals((long[]) found.data(), new long[] {1, 2}) && found.sizes()[0] == 2, found);
      check(Arrays.asList(results).subList(1, 5).equals(Arrays.asList(5L, 0.5, true, null)), results[1]);
      check(Arrays.equals(((Tensor) results[5]).floats(), new float[] {0, 8, 12}), results[5]);
      check(model.outputs().get(0).maximum()[0] == 3 && model.inputs().get(1).sizes() == null, "places");
      check(model.stateNames().equals(Arrays.asList("total")), "names");
      model.setState("total", new Tensor(new float[] {1, 2, 3}, 3));
      check(Arrays.equals(model.state("total").floats(), new float[] {1, 2, 3}), "state");
      throwsText(Pt2Exception.class, "total", () -> model.setState("total", new Tensor(new double[3], 3)));
      throwsText(Pt2Exception.class, "other", () -> model.state("other"));
      throwsText(Pt2Exception.class, "input 'name'", () -> model.call(x, 4, true, "\u00e9\0"));
      throwsText(IllegalArgumentException.class, "expected", () -> model.call(x, 4, true, 'c'));
      Object[] many = new Object[300];
      throwsText(Pt2Exception.class, "", () -> model.call(many));
    }
    Model closed = new Model(path);
    closed.close();
    closed.close();
    throwsText(IllegalStateException.class, "closed", closed::inputs);
    throwsText(Pt2Exception.class, "other", () -> new Model(path, new Options("other", "", false, 0)));
    throwsText(Pt2Exception.class, "max_fun", () -> new Model(path, new Options("", "max_fun=1", false, 0)));
  }

  /** Passes more tensors than a small fixed array holds, and tensors without elements or dimensions. */
  static void takesManyTensors(String path) {
    Tensor[] given = new Tensor[71];
    given[0] = new Tensor(new float[0], 0);
    for (int i = 1; i < given.length; ++i) given[i] = new Tensor(new float[] {i});
    try (Model model = new Model(path)) {
      Tensor[] results = model.run(given);
      check(results.length == 71 && results[0].dtype() == Dtype.BOOL && results[0].sizes()[0] == 0, results[0]);
      check(results[70].floats()[0] == 70 && results[70].sizes().length == 0, results[70]);
    }
  }

  static void loadsBytes(String path) throws IOException {
    byte[] file = Files.readAllBytes(Path.of(path));
    throwsText(Pt2Exception.class, "bytes", () -> new Model(Arrays.copyOf(file, 100), Options.DEFAULT));
    try (Model model = new Model(file, Options.DEFAULT)) {
      check(model.stateNames().equals(Arrays.asList("total")), "names");
    }
  }

  public static void main(String[] arguments) throws IOException {
    try (Model model = new Model(arguments[0] + "/dtypes.pt2")) {
      transposes(model);
    }
    takesOtherValues(arguments[0] + "/values.pt2");
    takesManyTensors(arguments[0] + "/many.pt2");
    loadsBytes(arguments[0] + "/values.pt2");
  }
}
