"""Files that the tests share. They are in the repository, not in the wheel."""

from __future__ import annotations

import os
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A larger collection in the same layout, if the variable names one.
CORPUS = pathlib.Path(os.environ.get("PT2_CORPUS") or ROOT / "tests" / "data" / "corpus") / "2.15.0"


@pytest.fixture(scope="session")
def examples() -> pathlib.Path:
    return ROOT / "examples"


@pytest.fixture(scope="session")
def corpus() -> pathlib.Path:
    return CORPUS


@pytest.fixture(scope="session")
def hostile() -> pathlib.Path:
    return ROOT / "tests" / "data" / "hostile"


@pytest.fixture(scope="session")
def exports() -> pathlib.Path:
    return ROOT / "tests" / "data" / "exports"


@pytest.fixture(scope="session")
def bindings() -> pathlib.Path:
    return ROOT / "tests" / "data" / "bindings"
