"""Plans of tests, many in one YAML file: by name the text, the files that it names and what comes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

Cases = dict[str, dict[str, Any]]


def read_cases(*files: Path) -> Cases:
    """The cases of some files by name, which no two share."""
    read = [yaml.safe_load(file.read_bytes()) for file in files]
    found = {name: case for cases in read for name, case in cases.items()}
    assert len(found) == sum(map(len, read)), "two cases have one name"
    return found


def write_plans(cases: Cases, folder: Path) -> None:
    """Write each plan, and the files that it names, into a folder."""
    for name, case in cases.items():
        for path, content in {f"{name}.yaml": case["plan"], **case.get("files", {})}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content if isinstance(content, bytes) else content.encode())


class _Written(yaml.SafeDumper):
    """YAML with texts of several lines as they are."""


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Written.add_representer(str, _represent)


def write_cases(file: Path, cases: Cases) -> None:
    """Write cases into a file, an empty line between them."""
    written = (
        yaml.dump({name: case}, Dumper=_Written, sort_keys=False, allow_unicode=True, width=10**6)
        for name, case in cases.items()
    )
    file.write_text("\n".join(written), encoding="utf-8")
