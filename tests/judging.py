"""Outside programs that judge what bomgen writes: where each is, and how it is installed.

A judge that is missing skips its tests on a user's machine, and fails them where the environment says CI.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

import pytest

Judge = Callable[[str], Path]
CHECKOUT = Path(__file__).parents[1]
NODE_MODULES = CHECKOUT / ".ci" / "node_modules"
TOOLS = CHECKOUT / "build" / "tools"
"""The environment of the tools of a release, apart from that of the tests."""
DEBIAN = {
    "soffice": "libreoffice-calc",
    "dot": "graphviz",
    "fc-match": "fontconfig",
    "fish": "fish",
    "zsh": "zsh",
    "ibdmsh": "ibutils",
    "ibnetdiscover": "infiniband-diags",
    "ibsim": "ibsim-utils",
    "opensm": "opensm",
    **dict.fromkeys(("pdfimages", "pdfinfo", "pdftotext"), "poppler-utils"),
}
"""The package of each program."""


def find_judge(name: str) -> Path:
    """Where a judge is: a program, `npm:PACKAGE`, `python:MODULE` or `tools:MODULE`. A missing one ends the test."""
    place = _installed(name)
    if place is None:
        kind, _, rest = name.rpartition(":")
        how = {
            "npm": "npm ci --prefix .ci --ignore-scripts",
            "python": "make CI=true .venv/.installed-dev-judges",
            "tools": "make build/tools/.installed",
        }.get(kind, f"apt-get install {DEBIAN.get(rest, rest)}")
        skip_or_fail(f"{rest} is not installed: {how}")
    return place


def skip_or_fail(reason: str) -> NoReturn:
    """End a test that lacks a judge: skipped on a user's machine, failed on a continuous-integration machine."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def _installed(name: str) -> Path | None:
    kind, _, rest = name.rpartition(":")
    if kind == "tools":
        return TOOLS / "bin" / "python" if any(TOOLS.glob(f"lib/*/site-packages/{rest}")) else None
    if kind == "npm":
        place = NODE_MODULES / rest
        return place if place.exists() and shutil.which("node") else None
    if kind == "python":
        found = find_spec(rest)
        return Path(found.origin) if found and found.origin else None
    program = shutil.which(rest)
    return Path(program) if program else None
