package pt2;

/** How tokens are drawn. topK 0 and topP 1 draw from all tokens; temperature 0 always takes the most likely one. */
public record Sampling(double temperature, long topK, double topP, long seed) {
  public static final Sampling GREEDY = new Sampling(0, 0, 1, 0);
}
