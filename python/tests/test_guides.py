"""What the guides show in Python, run; and the stubs' documentation, which is the module's."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import pathlib
import shutil
import subprocess

import pytest

import pt2

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [*sorted((ROOT / "docs" / "guides").glob("*.md")), ROOT / "docs" / "python.md"]


def blocks_of(page: pathlib.Path, folder: pathlib.Path) -> list[pathlib.Path]:
    script = ROOT / "tests" / "consumer" / "blocks.sh"
    subprocess.run(["bash", str(script), str(page), str(folder)], check=True)
    return sorted(folder.glob("*.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_programs_of_guides(
    page: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = blocks_of(page, tmp_path / "blocks")
    if not programs:
        pytest.skip("no Python in it")
    monkeypatch.chdir(shutil.copytree(ROOT / "examples", tmp_path / "examples"))
    for program in programs:
        code = program.read_text()
        if "import torch" in code:
            pytest.importorskip("torch")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, program.name, "exec"), {"__name__": "__main__"})
        expected = program.with_name(f"output of {program.name}")
        if expected.exists():
            assert printed.getvalue() == expected.read_text()


def test_the_decoder_of_the_examples_is_the_guides(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    if not torch.__version__.startswith("2.15."):
        pytest.skip("made with torch 2.15")
    (program,) = blocks_of(ROOT / "docs" / "guides" / "kv-caches.md", tmp_path)
    monkeypatch.chdir(tmp_path)
    exec(compile(program.read_text(), program.name, "exec"), {"__name__": "__main__"})
    assert pt2.dis("kv_decoder.pt2") == pt2.dis(ROOT / "examples" / "kv_decoder.pt2")


def test_stubs_say_what_the_module_says() -> None:
    stub = ast.parse((ROOT / "python" / "pt2" / "_native.pyi").read_text())
    compared = 0
    for class_ in (each for each in stub.body if isinstance(each, ast.ClassDef)):
        items = [(getattr(pt2, class_.name), class_)]
        items += [
            (inspect.getattr_static(items[0][0], each.name), each)
            for each in class_.body
            if isinstance(each, ast.FunctionDef) and not each.name.startswith("__")
        ]
        for runtime, written in items:
            # The module puts the signature in front.
            said = (runtime.__doc__ or "").rpartition("\n\n")[2] if "(" in (runtime.__doc__ or "").split("\n")[0] and written is not class_ else runtime.__doc__ or ""
            shown = " ".join((ast.get_docstring(written) or "").split())
            assert shown == ("" if not shown and "->" in said else " ".join(said.split())), (class_.name, written)
            compared += bool(shown)
    assert compared > 10
