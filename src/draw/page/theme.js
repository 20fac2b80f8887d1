// Colours of the canvas; src/draw/svg.cpp has the same.
const CLASSES = ["other", "products, convolutions", "attention", "normalisation", "activation", "pointwise",
  "reduction, pooling", "shape", "lookup", "constant", "quantization", "control flow"];
const THEMES = {
  light: {
    back: "#f8fafc", box: "#ffffff", boxLine: "#cbd5e1", group: "rgba(15,23,42,.035)", groupLine: "#94a3b8",
    io: "#ecfdf5", ioLine: "#6ee7b7", title: "#0f172a", text: "#475569", wire: "#94a3b8", port: "#b45309",
    written: "#be185d", weight: "#2563eb", accent: "#2563eb", found: "#f59e0b", bad: "#dc2626",
    added: "#86efac", removed: "#dc2626", changed: "#fde68a",
    classes: ["#64748b", "#2563eb", "#7c3aed", "#0d9488", "#dc2626", "#475569", "#15803d", "#a3a3a3", "#b45309",
      "#a16207", "#be185d", "#0369a1"],
    heat: [[255, 255, 255], [254, 215, 120], [234, 88, 12]],
  },
  dark: {
    back: "#0b1120", box: "#1e293b", boxLine: "#3b4a61", group: "rgba(255,255,255,.04)", groupLine: "#475569",
    io: "#052e26", ioLine: "#0f766e", title: "#f1f5f9", text: "#94a3b8", wire: "#64748b", port: "#fbbf24",
    written: "#f472b6", weight: "#60a5fa", accent: "#60a5fa", found: "#fbbf24", bad: "#f87171",
    added: "#166534", removed: "#f87171", changed: "#854d0e",
    classes: ["#94a3b8", "#60a5fa", "#a78bfa", "#2dd4bf", "#f87171", "#a8b3c4", "#4ade80", "#737373", "#fbbf24",
      "#ca8a04", "#f472b6", "#38bdf8"],
    heat: [[30, 41, 59], [133, 77, 14], [220, 80, 20]],
  },
};

const isDark = () => document.documentElement.dataset.theme === "dark";
const theme = () => (isDark() ? THEMES.dark : THEMES.light);

// From cold to hot, for `share` from 0 to 1.
function heat(share) {
  const stops = theme().heat, at = Math.max(0, Math.min(1, share)) * 2, i = Math.min(1, Math.floor(at));
  const mix = stops[i].map((c, n) => Math.round(c + (stops[i + 1][n] - c) * (at - i)));
  return `rgb(${mix.join(",")})`;
}
