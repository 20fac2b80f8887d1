"""Makes the pictures of docs/graph.md.

    python interop/graph_page.py --export FOLDER
    python interop/graph_pictures.py build/release/tools/pt2 FOLDER docs/pictures

Needs Debian's chromium and the packages playwright and pillow. Look at the pictures before they go into the documentation.
"""
import io
import pathlib
import shutil
import subprocess
import sys
import tempfile

CORPUS = pathlib.Path(__file__).parent.parent / "tests/data/corpus/2.15.0"
SELECT = "select(program.boxes.find((b) => b.isNode && b.name === '{}').id, true)"
NO_FOLDERS = """() => { for (const box of program.boxes) box.stack = box.stack.replaceAll(/File "[^"]*[/]site-packages[/]/g, 'File "'); }"""
FIND = "search('{}'); byId('search').focus(); goTo(0, true)"

# Name, file, options of the page, light or dark, size, script that runs in the page first.
PICTURES = [
    ("resnet50", "resnet50", [], "light", (1180, 680), SELECT.format("conv2d_4")),
    ("decoder_dark", "decoder_330", [], "dark", (1180, 680), ""),
    ("folded", "resnet50", [], "light", (820, 680), "foldAll(); picture.fit()"),
    ("cond", CORPUS / "cond.pt2", [], "light", (820, 520), ""),
    ("search", "densenet", [], "dark", (1180, 520), FIND.format("conv2d_1")),
    ("time", "resnet50", ["--profile", "times.json"], "light", (1180, 560), SELECT.format("batch_norm_4")),
    ("ranges", "mobilenet_v3", ["--trace", "trace.npz"], "dark", (1180, 560), SELECT.format("hardswish__2")),
    ("difference", CORPUS / "transformer_decomposed.pt2", ["--diff", CORPUS / "transformer.pt2"], "light", (1180, 680), ""),
]


def make_page(pt2, model, options, folder):
    if "--profile" in options:
        times = subprocess.run([pt2, "bench", model, "--profile", "--json"], check=True, stdout=subprocess.PIPE).stdout
        (folder / "times.json").write_bytes(times)
    if "--trace" in options:
        subprocess.run([pt2, "trace", model, "-o", folder / "trace.npz"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([pt2, "graph", model, "-o", folder / "page.html", *options], check=True, cwd=folder)
    return folder / "page.html"


def palette_of(image, content):
    """Reduces the picture to a palette: a third of the bytes, and rare strong colours survive."""
    picture = image.open(io.BytesIO(content)).convert("RGB")
    return picture.quantize(256, method=image.Quantize.MAXCOVERAGE, dither=image.Dither.NONE)


def main():
    from PIL import Image
    from playwright.sync_api import sync_playwright
    pt2, models, out = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    wanted = sys.argv[4:]
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, model, options, scheme, (width, height), steps in PICTURES:
            if wanted and name not in wanted:
                continue
            path = model.resolve() if isinstance(model, pathlib.Path) else models / f"{model}.pt2"
            page_file = make_page(pt2, path, options, pathlib.Path(temporary))
            page = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme).new_page()
            page.goto(page_file.as_uri())
            page.evaluate(NO_FOLDERS)
            page.evaluate(f"() => {{ {steps} }}")
            page.evaluate("new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
            picture = palette_of(Image, page.screenshot())
            picture.save(out / f"{name}.png", optimize=True)
            print(name, (out / f"{name}.png").stat().st_size)
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
