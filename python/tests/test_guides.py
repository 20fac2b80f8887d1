"""Runs the Python programs of docs/, and compares the stubs' documentation with the module's."""

from __future__ import annotations

import ast
import contextlib
import io
import pathlib
import shutil
import subprocess

import pytest

import pt2

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))


def blocks_of(page: pathlib.Path, folder: pathlib.Path) -> list[pathlib.Path]:
    script = ROOT / "tests" / "consumer" / "blocks.sh"
    subprocess.run(["bash", str(script), str(page), str(folder)], check=True)
    return sorted(path for path in folder.glob("*.py") if not path.name.startswith("output of "))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_programs_of_guides(
    page: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = blocks_of(page, tmp_path / "blocks")
    if not programs:
        pytest.skip("no Python in it")
    monkeypatch.chdir(shutil.copytree(ROOT / "examples", tmp_path / "examples"))
    for folder, name in (("dynamic", "llama"), ("encoder", "t5")):
        shutil.copytree(ROOT / "tests" / "data" / "decoders" / folder, name)
    for program in programs:
        code = program.read_text()
        for module in ("torch", "transformers"):
            if f"import {module}" in code or f"from {module}" in code:
                pytest.importorskip(module)
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


def said_by(runtime: object) -> str:
    """Returns the documentation without the signature that nanobind puts before it."""
    doc = runtime.__doc__ or ""
    signature, _, said = doc.partition("\n\n") if " -> " in doc.partition("\n")[0] else ("", "", doc)
    return " ".join(said.split())


def test_stubs_say_what_the_module_says() -> None:
    stub = ast.parse((ROOT / "python" / "pt2" / "_native.pyi").read_text())
    compared = 0
    for class_ in (each for each in stub.body if isinstance(each, ast.ClassDef)):
        runtime = getattr(pt2, class_.name)
        methods = [each for each in class_.body if isinstance(each, ast.FunctionDef)]
        documented = [each for each in methods if not each.name.startswith("__")]
        for member, written in [(runtime, class_), *((getattr(runtime, each.name), each) for each in documented)]:
            shown = " ".join((ast.get_docstring(written) or "").split())
            assert shown == said_by(member), f"{class_.name}: {written.name}"
            compared += bool(shown)
    assert compared > 10
