// Colours of the canvas; src/draw/svg.cpp has the same.
const CLASSES = ["other", "products, convolutions", "attention", "normalisation", "activation", "pointwise",
  "reduction, pooling", "shape", "lookup", "constant", "quantization", "control flow"];
const THEMES = {
  light: {
    back: "#f8fafc", box: "#ffffff", boxLine: "#cbd5e1", groups: ["#f8fafc", "#eef2f7"], groupLine: "#94a3b8",
    io: "#ecfdf5", ioLine: "#6ee7b7", title: "#0f172a", text: "#475569", wire: "#7587a0", port: "#b45309",
    written: "#be185d", weight: "#2563eb", accent: "#2563eb", found: "#f59e0b", bad: "#dc2626",
    added: "#86efac", removed: "#dc2626", changed: "#fde68a",
    classes: ["#64748b", "#2563eb", "#7c3aed", "#0d9488", "#dc2626", "#475569", "#15803d", "#a3a3a3", "#b45309",
      "#a16207", "#be185d", "#0369a1"],
    heat: [[255, 255, 255], [254, 215, 120], [234, 88, 12]],
  },
  dark: {
    back: "#0b1120", box: "#1e293b", boxLine: "#3b4a61", groups: ["#0b1120", "#131c2f"], groupLine: "#475569",
    io: "#052e26", ioLine: "#0f766e", title: "#f1f5f9", text: "#a3b1c6", wire: "#71829c", port: "#fbbf24",
    written: "#f472b6", weight: "#60a5fa", accent: "#60a5fa", found: "#fbbf24", bad: "#f87171",
    added: "#166534", removed: "#f87171", changed: "#854d0e",
    classes: ["#94a3b8", "#60a5fa", "#a78bfa", "#2dd4bf", "#f87171", "#a8b3c4", "#4ade80", "#737373", "#fbbf24",
      "#ca8a04", "#f472b6", "#38bdf8"],
    heat: [[30, 41, 59], [133, 77, 14], [194, 65, 12]],
  },
};

const isDark = () => document.documentElement.dataset.theme === "dark";
const theme = () => (isDark() ? THEMES.dark : THEMES.light);

const rgbOf = (colour) => (colour[0] === "#" ? [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16))
  : colour.match(/\d+/g).map(Number));

// Returns black or white, whichever is more readable on a box of that colour.
function inkOn(colour) {
  const linear = rgbOf(colour).map((c) => (c <= 10 ? c / 3295 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  const brightness = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  return brightness > 0.18 ? "#0f172a" : "#ffffff";
}

// Returns a colour from cold to hot, for `share` from 0 to 1.
function heat(share) {
  const stops = theme().heat, at = Math.max(0, Math.min(1, share)) * 2, i = Math.min(1, Math.floor(at));
  const mix = stops[i].map((c, n) => Math.round(c + (stops[i + 1][n] - c) * (at - i)));
  return `rgb(${mix.join(",")})`;
}
