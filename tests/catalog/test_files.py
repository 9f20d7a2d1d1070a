"""The user's own part folders: how often they are read, and what that counts as."""

from __future__ import annotations

from pathlib import Path

import pytest

from bomgen.catalog.files import Catalog
from bomgen.core.work_budget import MAX_STEPS, OF_PART, OF_PART_LOOKUP, TooMuch, budget, spend

PARTS = 5
READ = PARTS * OF_PART
SEARCHED = PARTS * OF_PART_LOOKUP


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of modules that replace another."""
    (tmp_path / "transceiver").mkdir()
    for number in range(PARTS):
        place = tmp_path / "transceiver" / f"own-{number}.yaml"
        place.write_text(f"{{name: a, aliases: [a{number}], replaces: [mma4z00-ns]}}\n", encoding="utf-8")
    return tmp_path


def use(catalog: Catalog) -> None:
    """Search a catalogue for parts and names, with a substitute part too."""
    catalog.ids("transceiver")
    catalog.replacements("transceiver", {"mma4z00-ns"})
    catalog.find("transceiver", "a1")
    catalog.find("transceiver", "a2")
    other = catalog.substitute({("transceiver", "mma4z00-ns"): "own-1"})
    list(other.records_where("transceiver", "cage", "osfp-finned"))


def test_a_folder_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often its parts are searched, in alternatives too, a folder is listed once and each file opened once."""
    listed, opened = list[Path](), list[Path]()
    glob, open_file = Path.glob, Path.open
    monkeypatch.setattr(Path, "glob", lambda self, form: listed.append(self) or glob(self, form))
    monkeypatch.setattr(Path, "open", lambda self, *a, **b: opened.append(self) or open_file(self, *a, **b))
    catalog = Catalog((folder,))
    use(catalog)
    use(catalog)
    assert listed.count(folder / "transceiver") == 1
    assert sorted(path for path in opened if path.is_relative_to(folder)) == sorted(folder.glob("*/*.yaml"))


def test_parts_that_are_read_and_searched_are_work(folder: Path) -> None:
    """The files count once, and each search for parts or names counts every part of the folder."""
    searches = 4
    enough = READ + searches * SEARCHED
    with budget():
        spend(MAX_STEPS - enough)
        use(Catalog((folder,)))
    with budget():
        spend(MAX_STEPS - enough + 1)
        with pytest.raises(TooMuch):
            use(Catalog((folder,)))
