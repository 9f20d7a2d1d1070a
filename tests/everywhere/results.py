"""Everything that bomgen makes of the plans of a checkout, written into a folder; standard output has the digests.

Run by each Python, under each condition, that `rerun.py` compares: `python results.py CHECKOUT FOLDER`.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import click

from bomgen.cli.command import main
from bomgen.output.registry import WIRINGS

DOCUMENTS = "md,html,xlsx,json,csv,cdx,svg"
"""Every format but PDF, whose Chinese letters are those of the machine."""
MOST_LINKS = 3000
"""Plans with more of them are left out where every cable is listed in every format, which takes long."""


ROOTED = ("build", "wiring", "compare", "explain", "diff", "prices")
"""Commands that take the folder that paths of a plan must stay below: a copy of the checkout has no .git to find."""
ROOT = Path(sys.argv[1]).resolve()


def run(out: Path, name: str, *arguments: str) -> None:
    """Run a command; what it prints is a result as well, and so is what it refuses."""
    (out / name).parent.mkdir(parents=True, exist_ok=True)
    printed = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    with redirect_stdout(printed):
        try:
            root = ("--root", str(ROOT)) if arguments[0] in ROOTED else ()
            main.main([*arguments, *root], "bomgen", standalone_mode=False)
        except click.ClickException as error:
            printed.write(f"refused: {error.format_message()}\n")
        except SystemExit as done:
            if done.code:
                printed.write(f"exit code {done.code}\n")
        except click.exceptions.Exit as done:
            printed.write(f"exit code {done.exit_code}\n")
        printed.flush()
    if content := printed.buffer.getvalue():  # type: ignore[attr-defined]
        (out / f"{name}.printed").write_bytes(content)


def links(bom: dict[str, Any]) -> int:
    """The links of all fabrics of a result."""
    found = 0
    for of in (bom, *bom.get("clusters", {}).values()):
        for fabric in of.get("fabrics", {}).values():
            found += sum(count for count in fabric.get("links", {}).values() if isinstance(count, int))
    return found


def make(checkout: Path, out: Path) -> None:
    """Run every command that writes something, on every plan that is not too large for it."""
    plans = sorted((checkout / "plans").glob("*.yaml"))
    names = [plan.name for plan in plans]
    os.chdir(checkout / "plans")  # what a result calls a plan is what the command line calls it
    run(out, "build", "build", "-q", *names, "-o", str(out / "build"), "-f", DOCUMENTS)
    for plan, name in zip(plans, names, strict=True):
        result = out / "build" / plan.stem.lower() / "bom.json"
        small = result.is_file() and links(json.loads(result.read_text("utf-8"))) <= MOST_LINKS
        for form in WIRINGS.names if small else ():
            place = out / "wiring" / plan.stem / form / f"wiring.{form}"
            run(out, f"wiring/{plan.stem}/{form}/said", "wiring", "-q", name, "-f", form, "-o", str(place))
    chosen = [name for name in names if "llama65b" in name]
    for form in ("text", "md", "html", "xlsx", "json"):
        run(out, f"compare/{form}", "compare", "-q", *chosen, "-f", form, "-o", str(out / "compare" / f"all.{form}"))
    for form in ("text", "json", "md"):
        run(out, f"explain/{form}", "explain", "-q", chosen[0], "-f", form)
        run(out, f"diff/{form}", "diff", "-q", *chosen[:2], "-f", form)
    for form in ("csv", "xlsx"):
        run(out, f"prices/{form}", "prices", "-q", "--for", chosen[0], "-o", str(out / "prices" / f"list.{form}"))
    locked = out / "lock" / "plan.yaml"
    locked.parent.mkdir(parents=True)
    shutil.copy(plans[names.index(chosen[0])], locked)
    os.chdir(locked.parent)
    run(out, "lock/said", "lock", "-q", "plan.yaml")
    for name in ("plan", "bom", "prices", "part"):
        run(out, f"schema/{name}", "schema", name)
    os.chdir(checkout / "plans")
    run(out, "schema/catalog", "schema", "plan", "--with-catalog")
    for kind in ("gpu", "switch", "transceiver"):
        run(out, f"catalog/{kind}", "catalog", kind)
    run(out, "errors", "explain", chosen[0], "no.such.number")


def digests(folder: Path) -> dict[str, str]:
    """The digest of each file of a folder, by its path in it."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(content_of(path)).hexdigest() for path in files}


def content_of(path: Path) -> bytes:
    """The bytes of a file; of a compressed workbook those of its entries, whatever zlib has made of them."""
    if path.name != "wiring.xlsx":
        return path.read_bytes()
    with ZipFile(path) as package:
        return b"".join(package.read(name) for name in package.namelist())


if __name__ == "__main__":
    checkout, folder = (Path(argument).resolve() for argument in sys.argv[1:])
    make(checkout, folder)
    sys.stdout.write(json.dumps({"python": sys.version.split()[0], "files": digests(folder)}))
