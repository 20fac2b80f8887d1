"""Verifying, converting and looking at files; the command."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import pt2


def test_verify(examples: pathlib.Path, tmp_path: pathlib.Path) -> None:
    told: list[tuple[int, int]] = []
    assert pt2.verify(examples / "digits.pt2", progress=lambda *at: told.append(at)) == []
    assert told and told[-1][0] == told[-1][1]
    damaged = bytearray((examples / "digits.pt2").read_bytes())
    damaged[len(damaged) // 2] ^= 255
    broken = tmp_path / "broken.pt2"
    broken.write_bytes(damaged)
    findings = pt2.verify(broken)
    assert findings and findings[0].rule.startswith("V") and findings[0].severity == "error"


def test_convert(examples: pathlib.Path, corpus: pathlib.Path, tmp_path: pathlib.Path) -> None:
    old = tmp_path / "old.pt2"
    made = pt2.convert(examples / "digits.pt2", old, "torch-2.6")
    assert made.release == "2.6" and not made.blockers and pt2.verify(old) == []
    refused = tmp_path / "refused.pt2"
    made = pt2.convert(corpus / "package_two.pt2", refused, "torch-2.5")
    assert any(each.kind == "several_programs" for each in made.blockers)
    assert not refused.exists()


def test_text(examples: pathlib.Path) -> None:
    program = json.loads(pt2.json(examples / "digits.pt2"))
    assert program["graph_module"]["graph"]["nodes"]
    assert json.loads(pt2.json(examples / "digits.pt2", pretty=True)) == program
    assert "conv2d" in pt2.dis(examples / "digits.pt2")
    uses = pt2.operators(examples / "custom.pt2")
    assert {use.target for use in uses if not use.has_kernel}
    assert all(use.has_kernel for use in pt2.operators(examples / "digits.pt2"))


def test_command(examples: pathlib.Path) -> None:
    command = [sys.executable, "-m", "pt2", "run", "digits.pt2", "-i", "image=digit_5.npy", "--top", "1"]
    done = subprocess.run(command, cwd=examples, capture_output=True, text=True, check=True)
    assert done.stdout.split()[:2] == ["logits", "5"]
    failed = subprocess.run([*command[:4], "missing.pt2"], capture_output=True, text=True)
    assert failed.returncode == 3 and "missing.pt2" in failed.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text there")
def test_paths_of_any_bytes(examples: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = tmp_path / os.fsdecode(b"a\xff.pt2")
    shutil.copy(examples / "digits.pt2", path)
    assert pt2.load(path).path == os.fspath(path) and pt2.verify(path) == []
    with pytest.raises(pt2.FileError, match=r"b\\xff\.pt2"):
        pt2.load(tmp_path / os.fsdecode(b"b\xff.pt2"))
    assert "\\xff" in pt2.verify(tmp_path / os.fsdecode(b"b\xff.pt2"))[0].place
    info = [sys.executable, "-m", "pt2", "info", os.fsencode(path)]
    subprocess.run(info, stdout=subprocess.DEVNULL, check=True)
    # The system would take such a path as the part before its zero.
    for call in (
        lambda: pt2.load(f"{examples}/digits.pt2\0x"),
        lambda: pt2.verify(f"{examples}/digits.pt2\0x"),
        lambda: pt2.Decoder(f"{examples}/digits.pt2\0x"),
        lambda: pt2.convert(examples / "digits.pt2", f"{tmp_path}/out.pt2\0x"),
    ):
        with pytest.raises(pt2.ArgumentError, match="zero byte"):
            call()
    assert not (tmp_path / "out.pt2").exists()


def test_ctrl_c_ends_the_command() -> None:
    code = """import signal
from pt2 import __main__, _native
_native.command = lambda _: signal.getsignal(signal.SIGINT) != signal.SIG_DFL
raise SystemExit(__main__.main())"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_import_is_quick_and_needs_no_numpy() -> None:
    code = "import pt2, sys; sys.exit('numpy' in sys.modules or 'torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_readmes_example() -> None:
    root = pathlib.Path(__file__).resolve().parents[2]
    code = (root / "README.md").read_text().split("```python\n")[1].split("```")[0]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root / "examples", capture_output=True, text=True
    )
    assert done.stdout == "this is a 5\n", done.stderr
