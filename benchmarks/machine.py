"""What a result is measured on, and of which state of the source."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from measuring import CHECKOUT, KIB_A_GIB

PACKAGES = ("PyYAML", "jsonschema", "Jinja2", "openpyxl", "click", "numpy", "rich")
EXTRAS = ("pyarrow",)


def machine() -> dict[str, Any]:
    """The processor, its cores that may be used, memory, kernel, Python, and how busy it was."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(memory / 1024 / KIB_A_GIB, 1),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "load": round(os.getloadavg()[0], 1),
    }


def _cpu() -> str:
    """The model of the processor, as the kernel names it."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def packages() -> dict[str, str]:
    """The versions of what bomgen imports, and of the extras that are installed."""
    versions = {name: version(name) for name in PACKAGES}
    for name in EXTRAS:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def source() -> dict[str, Any]:
    """The commit, and whether files of it differ; of no checkout, nothing."""
    commit = _git("rev-parse", "--short=7", "HEAD")
    changed = _git(
        "status", "--porcelain", "--untracked-files=no", "--", "bomgen", "benchmarks", "schemas", "templates"
    )
    return {"commit": commit or None, "dirty": bool(changed)}


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
