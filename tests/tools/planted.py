"""Packages, modules and programs that a stranger puts beside a plan, each of which leaves a mark when it runs."""

from __future__ import annotations

from pathlib import Path

SHADOWED = (
    *("bomgen", "bomgen/cli", "bomgen/core", "pip", "venv", "ensurepip"),
    *("encodings", "json", "multiprocessing", "concurrent", "email", "logging", "ctypes"),
    *("yaml", "jsonschema", "jinja2", "openpyxl", "python_calamine", "click", "numpy", "rich"),
    *("weasyprint", "pdfplumber", "pyarrow", "distributed", "dask", "hatchling"),
)
"""Packages that somebody could want bomgen, or what it starts, to import."""
MODULES = ("sitecustomize", "usercustomize", "typing", "re", "struct", "signal", "tempfile", "subprocess", "selectors")
PROGRAMS = ("git", "git.exe", "git.bat", "python", "python3", "fc-list", "gcc", "ld", "ldconfig")


def plant(folder: Path, mark: Path) -> None:
    """Lay packages, modules and programs into a folder that add their name to a file when they run."""
    code = f"with open({str(mark)!r}, 'a') as stream:\n    stream.write(__file__ + '\\n')\n"
    for name in SHADOWED:
        for module in ("__init__.py", "__main__.py"):
            place = folder / name / module
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(code, "utf-8")
    for name in MODULES:
        (folder / f"{name}.py").write_text(code, "utf-8")
    (folder / "evil.pth").write_text(f"import sys; open({str(mark)!r}, 'a').write('pth')\n", "utf-8")
    for name in PROGRAMS:
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> '{mark}'\n", "utf-8")
        (folder / name).chmod(0o755)
