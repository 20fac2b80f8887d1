"""Makes the pages of the site that nobody writes: the first one from the README, the reference from headers, stubs and the
command's help. A hook of mkdocs; the pages are in memory alone.

PT2_COMMAND names the built command.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "site"))
import declarations  # noqa: E402

# Headers that hold what others are made of, or tables.
MACHINERY = {"boxing.h", "draft_types.h"}


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def section(path: str, heading: str) -> str:
    """What stands below a heading of level 2."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text_of(path), re.S | re.M)
    if found is None:
        raise ValueError(f"{path} has no section {heading!r}")
    return found[1].strip()


def first_page() -> str:
    """The README without its map of the repository, which is for those who change it; limits come before all else."""
    readme = text_of("README.md")
    readme = re.sub(r"^## Where is …\?\n.*?(?=^## )", "", readme, flags=re.S | re.M)
    limits = re.search(r"^## Limits of this version\n.*?(?=^## )", readme, re.S | re.M)
    assert limits is not None
    readme = readme.replace(limits[0], "")
    return readme.replace("## Two commands", limits[0] + "## Two commands", 1).replace("](docs/", "](")


def cpp_pages() -> dict[str, str]:
    rows = ["# C++", "", "`#include \"pt2/pt2.h\"` brings everything, single headers compile faster. `examples/` has "
            "programs, `pt2::core`, `pt2::ops` and `pt2::run` are the libraries ([CMake](cmake.md)).", "",
            "| header | |", "|---|---|"]  # fmt: skip
    pages: dict[str, str] = {}
    include = ROOT / "include/pt2"
    for path in sorted(include.rglob("*.h"), key=lambda path: (path.parent != include, path)):
        if path.name in MACHINERY or path.parent.name == "c":
            continue
        name = path.relative_to(include).with_suffix("").as_posix()
        header = declarations.read(path.read_text(encoding="utf-8"))
        if not header.parts:
            continue
        pages[f"reference/cpp/{name}.md"] = f"# pt2/{name}.h\n\n" + declarations.markdown(header, 2, "cpp")
        first = declarations.escape(re.split(r"(?<=\.) |(?<=[.:])$", " ".join(header.about).strip())[0])
        rows.append(f"| [{name}.h](cpp/{name}.md) | {first} |")
    pages["reference/cpp.md"] = "\n".join(rows) + "\n"
    return pages


def c_page() -> str:
    header = declarations.read(text_of("include/pt2/c/pt2.h"))
    return "# C\n\nThe way through it: [From C](../c.md).\n\n" + declarations.markdown(header, 2, "c")


def python_items(body: list[ast.stmt], level: int, skip: set[str]) -> list[str]:
    """Headings, signatures and docstrings of classes and functions."""
    out: list[str] = []
    for item in body:
        if not isinstance(item, (ast.ClassDef, ast.FunctionDef)) or item.name in skip:
            continue
        if item.name.startswith("_") and item.name not in ("__call__", "__getitem__", "__setitem__"):
            continue
        doc = inspect.cleandoc(ast.get_docstring(item) or "")
        out.append(f"{'#' * level} {declarations.escape(item.name)}\n")
        if isinstance(item, ast.ClassDef):
            bases = ", ".join(ast.unparse(base) for base in item.bases)
            fields = [f"    {ast.unparse(each)}" for each in item.body if isinstance(each, ast.AnnAssign)]
            head = f"class {item.name}" + (f"({bases})" if bases else "") + (":" if fields else "")
            out.append(declarations.fence("python", "\n".join([head, *fields])))
            out.append(declarations.escape(doc) + "\n")
            out += python_items(item.body, level + 1, skip)
        else:
            decorators = [f"@{ast.unparse(each)}" for each in item.decorator_list]
            returns = f" -> {ast.unparse(item.returns)}" if item.returns else ""
            signature = f"def {item.name}({ast.unparse(item.args)}){returns}"
            out.append(declarations.fence("python", "\n".join([*decorators, signature])))
            out.append(declarations.escape(doc) + "\n")
    return out


def python_page() -> str:
    out = ["# Python\n", "The way through it: [From Python without torch](../python.md).\n", "## Functions\n"]
    package, native = ast.parse(text_of("python/pt2/__init__.py")), ast.parse(text_of("python/pt2/_native.pyi"))
    out += python_items(package.body, 3, set())
    out.append("## Classes\n")
    # The functions of the native module are what those of the package are made of.
    out += python_items([each for each in native.body if isinstance(each, ast.ClassDef)], 3, set())
    out.append("## Answers\n")
    out += python_items(ast.parse(text_of("python/pt2/_info.py")).body, 3, set())
    out.append("## Errors\n")
    errors = ast.parse(text_of("python/pt2/_errors.py")).body
    out += python_items([each for each in errors if isinstance(each, ast.ClassDef)], 3, set())
    return "\n".join(out)


def command_page() -> str:
    command = os.environ["PT2_COMMAND"]

    def help_of(*words: str) -> str:
        done = subprocess.run([command, *words, "--help"], capture_output=True, text=True, check=True)
        return done.stdout.rstrip()

    overview = help_of()
    verbs = re.findall(r"^  ([a-z]+) +\S", overview, re.M)
    about, _, table = section("docs/design.md", "5. The command").partition("\n| exit |")
    out = ["# The command", "", "What the verbs do on real files: [On real files](../command.md).", "", about, "",
           declarations.fence("text", overview)]  # fmt: skip
    # With a heading each they are found by the search.
    for code, means in re.findall(r"^\| (\d) \| (.*) \|$", table, re.M):
        out += [f"## Exit code {code}", "", means, ""]
    for verb in verbs:
        out += [f"## pt2 {verb}", "", declarations.fence("text", help_of(verb))]
    return "\n".join(out)


def cmake_page() -> str:
    lists = text_of("CMakeLists.txt")
    rows = ["| option | default | |", "|---|---|---|"]
    for name, text, default in re.findall(r'^option\((\w+) "([^"]*)" ([^)]*)\)', lists, re.M):
        default = "on, off inside another project" if "TOP_LEVEL" in default else default.lower()
        rows.append(f"| `{name}` | {default} | {text} |")
    for name, default, text in re.findall(r'^set\((PT2_\w+) "?([^")]*?)"? CACHE STRING "([^"]*)"\)', lists, re.M):
        rows.append(f"| `{name}` | {default or 'empty'} | {text} |")
    libraries = ["| target | areas of `src/` | links |", "|---|---|---|"]
    for name, areas, links in re.findall(r"^pt2_library\((\w+) AREAS ([^)]*?)(?: DEPENDS (\w+))?\)", lists, re.M):
        libraries.append(f"| `pt2::{name}` | {areas} | {f'`pt2::{links}`' if links else ''} |")
    libraries.append("| `pt2::c` | all of them, as `libpt2.so`, with the C interface alone | |")
    presets = ["| preset | |", "|---|---|"]
    for preset in json.loads(text_of("CMakePresets.json"))["configurePresets"]:
        if not preset.get("hidden"):
            presets.append(f"| `{preset['name']}` | {preset['displayName']} |")
    needs = re.findall(r"^find_package\((\w+)", lists, re.M)
    return "\n".join([
        "# CMake", "", "How to use them: [Build and link](../guides/build-and-link.md).", "",
        "## Options", "", *rows, "", "`BUILD_SHARED_LIBS` makes the C++ libraries shared ones.", "",
        "## Targets", "", *libraries, "", "## Presets", "", *presets, "",
        "## What the build looks for", "", ", ".join(f"`{each}`" for each in needs) + ".", ""])  # fmt: skip


def on_files(files: Files, *, config: Any) -> Files:
    pages = {
        "index.md": first_page(),
        "reference/c.md": c_page(),
        "reference/python.md": python_page(),
        "reference/command.md": command_page(),
        "reference/cmake.md": cmake_page(),
        **cpp_pages(),
    }
    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Pages and headers that a page names by their paths in the repository become links."""

    def linked(match: re.Match[str]) -> str:
        name = match[1].removeprefix("docs/")
        if match[1].startswith("include/pt2/c/"):
            name = "reference/c.md"
        elif match[1].startswith("include/pt2/"):
            name = "reference/cpp/" + match[1].removeprefix("include/pt2/").removesuffix(".h") + ".md"
        found = files.get_file_from_path(name)
        if found is None:
            return match[0]
        here = os.path.dirname(page.file.src_uri)
        return f"[`{match[1]}`]({os.path.relpath(name, here or '.')})"

    pieces = re.split(r"(^```.*?^```$)", markdown, flags=re.S | re.M)
    pieces[::2] = [re.sub(r"(?<!\[)`((?:docs|include/pt2)/[\w/.-]+\.(?:md|h))`", linked, piece) for piece in pieces[::2]]
    return "".join(pieces)
