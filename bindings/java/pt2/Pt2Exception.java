package pt2;

/** An error of libpt2: its text, its code ("argument", "unsupported", …) and its place ("input 'x'"). */
public final class Pt2Exception extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final String code;
  private final String place;

  Pt2Exception(String text, String code, String place) {
    super(text);
    this.code = code;
    this.place = place;
  }

  public String code() {
    return code;
  }

  public String place() {
    return place;
  }
}
