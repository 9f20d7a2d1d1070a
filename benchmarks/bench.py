"""`make bench`: times bomgen, writes a result with machine and date, compares it with the last one kept, and draws all.

Ratios are what is compared; missing a bar is shown and never fails.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import beside
import page
from drawing import drawing
from machine import machine, packages, source
from results import FOLDER, Result, compared_with, heading, kept, last_before, name_of, table, write
from works import measured, works


def main() -> None:
    """Measure, and write what was measured."""
    asked = _asked()
    earlier = kept()
    if not asked.page:
        result = _result(asked)
        old = last_before(result, earlier)
        path = write(result)
        told = [f"# {name_of(result)}", "", heading(result), "", table(result, old), "", compared_with(result, old), ""]
        if result["peers"]:
            told += [beside.table(result), ""]
        path.with_suffix(".md").write_text("\n".join(told), encoding="utf-8")
        print("\n".join(told[2:]))
        print(f"{path}\n{path.with_suffix('.md')}")
        if not asked.keep:
            path.with_suffix(".svg").write_text(drawing([*earlier, result]), encoding="utf-8")
            print(path.with_suffix(".svg"))
    if asked.keep or asked.page:
        for path in page.write(kept()):
            print(path)


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", metavar="WHY", default="", help="keep the result, and say for which release or issue")
    parser.add_argument("--only", metavar="WORD", help="the works alone whose id begins so")
    parser.add_argument("--peers", type=Path, metavar="FOLDER", help="run the peers whose environments lie there, too")
    parser.add_argument("--page", action="store_true", help="measure nothing: draw the kept results, and fill the page")
    return parser.parse_args()


def _result(asked: argparse.Namespace) -> Result:
    """Everything timed, with machine, date and commit."""
    began = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    on, of = machine(), source()
    with tempfile.TemporaryDirectory(prefix="bomgen-bench-") as folder:
        entries = []
        for work in works(Path(folder), long=bool(asked.peers or asked.only)):
            if not asked.only or work.id.startswith(asked.only):
                entries.append(measured(work))
                print(f"{work.what}: {entries[-1]['ratio'][0]:.2f}", file=sys.stderr)
        compared = beside.compared(asked.peers, Path(folder)) if asked.peers else []
    return {
        "bench": 1,
        "date": began,
        **of,
        "kept_for": asked.keep or None,
        "machine": on,
        "packages": packages(),
        "works": entries,
        "peers": compared,
    }


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    main()
