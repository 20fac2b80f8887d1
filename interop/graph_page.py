"""Opens the pages of `pt2 graph` in a headless Chromium and checks them.

    python interop/graph_page.py build/release/tools/pt2 MODEL.pt2... [--pictures FOLDER]
    python interop/graph_page.py --export FOLDER      models to draw; needs torch and torchvision

The first two files are also drawn as a difference: the script checks that nodes have the colours of their changes, are
found by search, and are counted in the legend.

Needs Debian's chromium and the package playwright. Each page is opened from disk without network. Checked: time until it
is ready, layout in C++, no request, no message on the console, boxes where C++ has them, every node found by search, a way
from input to output with the arrow keys, legible texts, no overlap when boxes are opened, links, light and dark, and that
hostile text runs nothing. Exits with 1 if a check fails.
"""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

READY_MS = 1000
OPEN_MS = 250
HOSTILE = ["</script><script>document.title='owned'</script>", "<img src=x onerror=\"document.title='owned'\">",
           "'\"`${document.title='owned'}\\", "\u2028document.title='owned'\u2029", "__proto__", "n" * 100000]

# The page's boxes in the form in which C++ prints them.
LAYOUT = """() => picture.visible.map((id) => {
  const b = program.boxes[id]; return [id, b.x, b.y, b.width, b.height]; })"""
OVERLAPS = """() => {
  let count = 0;
  for (const id of picture.visible) {
    const outer = program.boxes[id];
    if (!outer.isOpen) continue;
    const inner = outer.children.map((c) => program.boxes[c]).sort((a, b) => a.y - b.y);
    inner.forEach((a, i) => {
      if (a.x < outer.x || a.y < outer.y || a.x + a.width > outer.x + outer.width || a.y + a.height > outer.y + outer.height)
        ++count;
      for (let j = i + 1; j < inner.length && inner[j].y < a.y + a.height; ++j)
        if (a.x < inner[j].x + inner[j].width && inner[j].x < a.x + a.width) ++count;
    });
  }
  return count; }"""
SEARCH = """() => {
  const nodes = program.boxes.filter((b) => b.isNode), step = Math.max(1, Math.floor(nodes.length / 1000));
  const lost = [];
  nodes.forEach((b, i) => {
    if (i % step === 0 && !matchesOf(b.name).includes(b.id)) lost.push(b.name);
  });
  return [nodes.length, lost]; }"""
OPEN_ALL = """() => {
  const start = performance.now();
  for (const b of program.boxes) if (b.children.length > 0 && b.parent >= 0) b.isOpen = true;
  picture.layout(); picture.drawNow();
  return performance.now() - start; }"""
# Texts with less contrast to their background than WCAG 2 asks for.
PALE = """() => {
  const brightness = (colour) => rgbOf(colour).map((c) => (c <= 10 ? c / 3295 : ((c / 255 + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0.05);
  const pale = [], look = (name, text, back) => {
    const [low, high] = [brightness(text), brightness(back)].sort((a, b) => a - b);
    if (high / low < 4.5) pale.push(`${name}: ${text} on ${back}, ${(high / low).toFixed(1)}`);
  };
  for (const scheme of ["light", "dark"]) {
    document.documentElement.dataset.theme = scheme;
    const colours = theme(), of = (name) => `${scheme} ${name}`;
    for (const text of ["title", "text", "weight", "port", "written"]) look(of(text), colours[text], colours.box);
    for (const back of [...colours.groups, colours.io])
      for (const text of ["title", "text"]) look(of(text), colours[text], back);
    const fills = ["added", "changed", "bad"].map((name) => colours[name]);
    for (let share = 0; share <= 1; share += 0.05) fills.push(heat(share));
    for (const fill of fills) look(of("coloured box"), inkOn(fill), fill);
    const style = getComputedStyle(document.documentElement);
    for (const name of ["--text", "--dim", "--accent", "--bad"])
      look(of(name), style.getPropertyValue(name).trim().replace(/^#(.)(.)(.)$/, "#$1$1$2$2$3$3"),
        style.getPropertyValue("--face").trim().replace(/^#(.)(.)(.)$/, "#$1$1$2$2$3$3"));
  }
  document.documentElement.dataset.theme = "light";
  return pale; }"""
# Goes from input to output and back with the arrow keys only, through every open box on the way.
WALK = """() => {
  const first = program.boxes[0].children.find((id) => program.boxes[id].kind === "input");
  if (first === undefined) return "";
  for (const [direction, end] of [["down", "output"], ["up", "input"]]) {
    if (direction === "down") picture.selected = first;
    for (let steps = 0; ; ++steps) {
      const box = program.boxes[picture.selected], next = neighbour(direction);
      if (next < 0 && (box.parent === 0 || box.kind !== end)) break;
      if (next < 0 || steps > program.boxes.length) return `${direction} ends at ${box.kind} ${box.name || box.title}`;
      picture.selected = next;
    }
  }
  picture.selected = -1;
  return ""; }"""
OPEN_ONE = """() => {
  const box = program.boxes.find((b) => b.parent >= 0 && !b.isOpen && b.children.length > 0);
  if (!box) return 0;
  const start = performance.now();
  toggle(box.id); picture.drawNow();
  return performance.now() - start; }"""


def hostile_file(source, target):
    """Makes a file whose names try to break out of the page's markup."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            content = old.read(entry)
            if entry.filename.endswith("models/model.json"):
                text = json.loads(content)
                nodes = text["graph_module"]["graph"]["nodes"]
                for i, node in enumerate(nodes):
                    name = HOSTILE[i % len(HOSTILE)]
                    node["metadata"] = {"stack_trace": f'File "{name}", line 1, in {name}\n    {name}',
                                        "nn_module_stack": f"k,,M;{name},{name},{name}"}
                    node["name"] = name
                content = json.dumps(text).encode()
            new.writestr(entry.filename, content)


class Checker:
    def __init__(self, pt2, pictures):
        self.pt2, self.pictures, self.faults = pt2, pictures, 0

    def fault(self, name, text):
        self.faults += 1
        print(f"  FAULT {name}: {text}")

    def page_of(self, browser, page_file, name):
        context = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True, color_scheme="light")
        page = context.new_page()
        page.on("console", lambda message: self.fault(name, f"console: {message.text}"))
        page.on("pageerror", lambda error: self.fault(name, f"error: {error}"))
        page.on("dialog", lambda dialog: self.fault(name, "dialog"))
        page.on("request", lambda r: r.url.startswith(page_file.as_uri()) or self.fault(name, f"request {r.url[:80]}"))
        page.goto(page_file.as_uri())
        return context, page

    def check_difference(self, browser, old, new, folder):
        name = f"{pathlib.Path(old).stem} to {pathlib.Path(new).stem}"
        page_file = folder / "difference.html"
        subprocess.run([self.pt2, "graph", new, "-o", page_file, "--diff", old], check=True, stderr=subprocess.DEVNULL)
        diff = subprocess.run([self.pt2, "diff", old, new, "--json"], stderr=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout
        changes = [c for c in json.loads(diff)["changes"] if c["section"] == "node"]
        context, page = self.page_of(browser, page_file, name)
        counts = page.evaluate("program.difference")
        count = lambda kind: sum(c["kind"] == kind for c in changes)
        # Nodes in a nested graph of a new node are new too.
        if counts["removed"] != count("removed") or counts["added"] < count("added"):
            self.fault(name, f"{counts}, pt2 diff says {count('added')} added, {count('removed')} removed")
        legend = page.evaluate("byId('legend').innerText").split("\n")
        if [line.strip() for line in legend if line.strip()] != [f"{counts[kind]} {kind}" for kind in ("added", "removed", "changed")]:
            self.fault(name, f"the legend is {legend}")
        lost = page.evaluate("""() => {
          search("added");
          const lost = program.boxes.filter((b) => b.change && b.change.kind === "added" && !picture.found.has(b.id)).length;
          search("");
          return lost; }""")
        if lost:
            self.fault(name, f"search misses {lost} nodes that were added")
        wrong = page.evaluate("""() => program.boxes.filter((b) => b.isNode && b.children.length === 0 &&
          picture.colourOf(b) !== (b.change && b.change.kind ? theme()[b.change.kind] : null)).map((b) => b.name)""")
        if wrong:
            self.fault(name, f"other colours than those of the changes: {wrong[:3]}")
        if page.evaluate("panel.root.hidden") or not page.evaluate("panel.root.innerText.length > 20"):
            self.fault(name, "the panel does not say what has changed")
        if self.pictures:
            page.screenshot(path=self.pictures / "difference.png")
        page.evaluate("panel.root.querySelector('a') && panel.root.querySelector('a').click()")
        if page.evaluate("panel.root.querySelector('a') !== null && picture.selected < 0"):
            self.fault(name, "the panel's link leads nowhere")
        context.close()
        print(f"{name:34} {counts['added']} added, {counts['removed']} removed, {counts['changed']} changed")

    def check(self, browser, path, folder):
        name = pathlib.Path(path).stem
        page_file = folder / f"{name}.html"
        start = time.monotonic()
        subprocess.run([self.pt2, "graph", path, "-o", page_file], check=True, stderr=subprocess.DEVNULL)
        seconds = time.monotonic() - start
        layout = json.loads(subprocess.run([self.pt2, "graph", path, "--json"], check=True, stderr=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE).stdout)
        context, page = self.page_of(browser, page_file, name)
        ready = float(page.evaluate("document.documentElement.dataset.ready"))
        if ready > READY_MS:
            self.fault(name, f"ready after {ready:.0f} ms")
        ours = [[b["id"], b["x"], b["y"], b["width"], b["height"]] for b in layout["programs"][0]["boxes"]]
        if page.evaluate(LAYOUT) != ours:
            self.fault(name, "boxes are elsewhere than in C++")
        walk = page.evaluate(WALK)
        if walk:
            self.fault(name, f"the arrow {walk}")
        for pale in page.evaluate(PALE):
            self.fault(name, f"pale: {pale}")
        if self.pictures:
            page.screenshot(path=self.pictures / f"{name}.png")
            page.evaluate("chooseTheme('dark')")
            page.evaluate("select(program.boxes.find((b) => b.isNode && b.parent >= 0 && b.lines.length > 0)?.id ?? -1, true)")
            page.evaluate("picture.drawNow()")
            page.screenshot(path=self.pictures / f"{name}_dark.png")
        nodes, lost = page.evaluate(SEARCH)
        if lost:
            self.fault(name, f"search misses {lost[:3]}")
        open_one = page.evaluate(OPEN_ONE)
        open_all = page.evaluate(OPEN_ALL)
        overlaps = page.evaluate(OVERLAPS)
        if overlaps:
            self.fault(name, f"{overlaps} overlaps")
        if open_one > OPEN_MS:
            self.fault(name, f"a box opens in {open_one:.0f} ms")
        if page.title() == "owned" or page.evaluate("document.images.length + document.scripts.length") != 2:
            self.fault(name, "text of the file became markup")
        target = page.evaluate("program.boxes.filter((b) => b.isNode && b.parent >= 0).pop()?.name ?? ''")
        if target and len(target) < 2000:
            page.goto(page_file.as_uri() + page.evaluate("(name) => '#node=' + encodeURIComponent(name)", target))
            page.reload()
            if page.evaluate("program.boxes[picture.selected]?.name") != target:
                self.fault(name, "the link does not lead to its node")
        context.close()
        print(f"{name:34} {nodes:6} nodes  page {page_file.stat().st_size / 1e3:8.0f} kB in {seconds:5.2f} s  "
              f"ready {ready:5.0f} ms  open one {open_one:4.0f} ms, all {open_all:5.0f} ms")


def export(folder):
    """Exports models of several kinds; the largest is a decoder of 16,000 nodes."""
    import graph_page_models
    graph_page_models.export(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pt2", nargs="?")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--export")
    arguments = parser.parse_args()
    if arguments.export:
        return export(arguments.export)
    from playwright.sync_api import sync_playwright
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    checker = Checker(arguments.pt2, arguments.pictures)
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = pathlib.Path(temporary)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for path in arguments.files:
            checker.check(browser, path, folder)
        if len(arguments.files) > 1:
            checker.check_difference(browser, arguments.files[0], arguments.files[1], folder)
        if arguments.files:  # the names that it gets are long: of thousands of nodes they were gigabytes
            hostile_file(min(arguments.files, key=lambda path: pathlib.Path(path).stat().st_size), folder / "hostile.pt2")
            checker.check(browser, str(folder / "hostile.pt2"), folder)
        browser.close()
    return 1 if checker.faults else 0


if __name__ == "__main__":
    sys.exit(main())
