"""What is installed is pinned and hashed; what is released comes out alike twice, with licence, SBOM and digests."""

from __future__ import annotations

import json
import re
import tarfile
import zipfile
from importlib.metadata import PackageNotFoundError, metadata
from io import BytesIO
from pathlib import Path
from typing import Any

import build_hook
import pytest
import release
from packaging.licenses import canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bomgen import __version__

CHECKOUT = Path(__file__).parents[2]
PROJECT = release.project()
EXTRAS = dict(PROJECT["project"]["optional-dependencies"])
RUN = PROJECT["project"]["dependencies"]
ASKED = {
    "build": PROJECT["build-system"]["requires"],
    "run": RUN,
    "dev": [*RUN, *EXTRAS.pop("dev")],
    "judges": [*RUN, *EXTRAS.pop("judges")],
    "extras": [*RUN, *(asked for wanted in EXTRAS.values() for asked in wanted)],
    "release": PROJECT["dependency-groups"]["release"],
}
"""What pyproject.toml asks for, by the lock file that has it."""
LOCKS = {path.stem: release.pins(path) for path in sorted((CHECKOUT / "requirements").glob("*.txt"))}
PAGE = (CHECKOUT / "docs" / "releases.md").read_text("utf-8")
NEEDED = dict.fromkeys(LOCKS["extras"])
"""Packages that bomgen needs, those of its extras included."""
LEGACY = {
    "MIT": ("MIT",),
    "MIT License": ("MIT",),
    "BSD License": ("BSD-3-Clause", "BSD-2-Clause"),
    "BSD": ("BSD-3-Clause", "BSD-2-Clause"),
    "BSD-2-Clause": ("BSD-2-Clause",),
    "BSD-3-Clause": ("BSD-3-Clause",),
    "Apache-2.0": ("Apache-2.0",),
    "Apache 2.0": ("Apache-2.0",),
    "BSD-3-Clause, Apache-2.0, dependency licenses": ("BSD-3-Clause AND Apache-2.0",),
    "GNU General Public License v2 or later (GPLv2+)GNU Lesser General Public License v2 or later (LGPLv2+)"
    "Mozilla Public License 1.1 (MPL 1.1)": ("GPL-2.0-or-later OR LGPL-2.1-or-later OR MPL-1.1",),
}
"""Licences as packages without an SPDX expression name them."""


def test_there_is_a_lock_for_everything() -> None:
    """The build backend, what bomgen needs, its extras, the tests, their judges and the release tools."""
    assert sorted(LOCKS) == sorted(ASKED)


@pytest.mark.parametrize("name", sorted(LOCKS))
def test_every_line_is_pinned_and_hashed(name: str) -> None:
    """Each package at one version for a Python, with the SHA-256 of its files; no address of an index or a file."""
    assert LOCKS[name]
    assert [pin.name for pin in LOCKS[name] if not pin.hashes] == []
    versions: dict[tuple[str, str], str] = {}
    for pin in LOCKS[name]:
        assert versions.setdefault((pin.name, pin.marker), pin.version) == pin.version
    text = (CHECKOUT / "requirements" / f"{name}.txt").read_text("utf-8")
    assert not re.search(r"https?:|file:|^-(?!-hash)|--(index|find|extra|trusted)", text, re.MULTILINE)


@pytest.mark.parametrize("name", sorted(ASKED))
def test_locks_cover_what_is_asked_for(name: str) -> None:
    """Each requirement of pyproject.toml is in its lock, at versions that it allows."""
    for asked in map(Requirement, ASKED[name]):
        found = [pin for pin in LOCKS[name] if pin.name == canonicalize_name(asked.name)]
        assert found, asked
        assert [pin.version for pin in found if not asked.specifier.contains(pin.version)] == [], asked


def test_locks_agree() -> None:
    """No package has another version, or other files, in another lock: what is tested is what is installed."""
    hashes: dict[tuple[str, str], object] = {}
    versions: dict[str, set[frozenset[str]]] = {}
    for pins in LOCKS.values():
        for pin in pins:
            assert hashes.setdefault((pin.name, pin.version), pin.hashes) == pin.hashes
        for name in {pin.name for pin in pins}:
            versions.setdefault(name, set()).add(frozenset(pin.version for pin in pins if pin.name == name))
    # The lock of one Python may need fewer of the versions that a package has for all of them.
    assert [name for name, found in versions.items() if not all(max(found, key=len) >= each for each in found)] == []


def test_bomgen_needs_nothing_else() -> None:
    """What is asked for and what that needs: nothing is in the lock that nobody asks for."""
    named = {pin.name for pin in LOCKS["run"]}
    assert {need for pin in LOCKS["run"] for need in pin.via} <= {"bomgen", *named}
    assert [pin.name for pin in LOCKS["run"] if not pin.via] == []


@pytest.mark.parametrize("name", sorted({pin.name for pin in NEEDED}))
def test_licences_are_those_of_the_packages(name: str) -> None:
    """The licence of each package is the one that it states, where the locked version is installed."""
    licence = release.licences()[name]
    assert canonicalize_license_expression(licence) == licence
    try:
        found = metadata(name)
    except PackageNotFoundError:
        return  # for another Python or another system
    if found["Version"] not in [pin.version for pin in NEEDED if pin.name == name]:
        return
    if expression := found.get("License-Expression"):
        assert licence == expression
    else:
        stated = found.get("License") or "".join(
            each.rpartition(" :: ")[2] for each in found.get_all("Classifier", []) if each.startswith("License")
        )
        assert licence in LEGACY[stated]


def test_the_page_lists_the_direct_dependencies() -> None:
    """docs/releases.md has versions and licence of each package that bomgen asks for; the file of licences has all."""
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| ([^|]+) \| ([^|]+) \| [^|]+ \|$", PAGE, re.MULTILINE)
    shown = {name: (versions.strip(), licence.strip()) for name, versions, licence in rows}
    wanted = {
        name: (
            ", ".join(dict.fromkeys(pin.version for pin in NEEDED if pin.name == name)),
            release.licences()[name],
        )
        for name in (canonicalize_name(Requirement(asked).name) for asked in ASKED["extras"])
    }
    assert shown == wanted
    assert release.licences().keys() == {pin.name for pin in NEEDED}


def test_the_description_leads_into_the_repository() -> None:
    """With an address set, no link of the description is relative, and the metadata have the address."""
    described: dict[str, Any] = {}
    build_hook.Addresses(str(CHECKOUT), {"repository": "https://example.com/bomgen"}).update(described)
    links = re.findall(r"\]\(([^)]+)\)", described["readme"]["text"])
    assert len(links) > 20
    assert [link for link in links if not link.startswith("https://")] == []
    assert described["urls"]["Repository"] == "https://example.com/bomgen"


def test_a_line_that_is_no_pin_is_refused(tmp_path: Path) -> None:
    """So that covering everything means something."""
    lock = tmp_path / "lock.txt"
    lock.write_text("click>=8\n", "utf-8")
    with pytest.raises(release.NotReleased, match=r"lock.txt:1: no pin: click>=8"):
        release.pins(lock)


def test_the_sbom_has_what_the_lock_has() -> None:
    """Every locked package with its purl, hashes and licence; bomgen needs the first, and they each other."""
    bom = json.loads(release.sbom())
    assert bom["metadata"]["component"]["version"] == __version__
    found = {(each["name"], each["version"]): each for each in bom["components"]}
    assert found.keys() == {(pin.name, pin.version) for pin in LOCKS["run"]}
    assert all(each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}" for each in found.values())
    assert all(each["hashes"] and each["licenses"] for each in found.values())
    needs = {each["ref"]: each["dependsOn"] for each in bom["dependencies"]}
    asked = {canonicalize_name(Requirement(each).name) for each in RUN}
    assert {
        ref.removeprefix("pkg:pypi/").partition("@")[0] for ref in needs[f"pkg:generic/bomgen@{__version__}"]
    } == asked
    assert needs.keys() == {bom["metadata"]["component"]["bom-ref"], *(each["bom-ref"] for each in found.values())}
    assert release.sbom() == release.sbom()


@pytest.mark.deep
def test_two_builds_are_alike_and_carry_the_licence() -> None:
    """Wheel and sdist do not depend on folder, umask, time zone or dates of files, and have what a reader looks for."""
    files = release.built_twice()
    assert sorted(files) == [f"bomgen-{__version__}-py3-none-any.whl", f"bomgen-{__version__}.tar.gz"]
    wheel = zipfile.ZipFile(BytesIO(files[f"bomgen-{__version__}-py3-none-any.whl"]))
    about = f"bomgen-{__version__}.dist-info"
    for licence in ("LICENSE", "bomgen/data/face/OFL.txt"):
        assert wheel.read(f"{about}/licenses/{licence}") == (CHECKOUT / licence).read_bytes()
    assert "\nLicense-Expression: Apache-2.0 AND OFL-1.1\n" in wheel.read(f"{about}/METADATA").decode("utf-8")
    with tarfile.open(fileobj=BytesIO(files[f"bomgen-{__version__}.tar.gz"])) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "SECURITY.md", "pyproject.toml", "bomgen/__init__.py"} <= names


def test_the_changes_begin_with_this_version() -> None:
    """CHANGELOG.md has the version of the package, with nothing above it but what is not released yet."""
    heads = re.findall(r"^## \[(.+?)\]", (CHECKOUT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert next(head for head in heads if head != "Unreleased") == __version__


def test_only_what_is_committed_is_released(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a change that is not, there is no release, and the exit code says so."""
    monkeypatch.setattr(release, "uncommitted", lambda: " M bomgen/cli/build.py\n")
    assert release.main(["release", "nowhere"]) == 1
    assert capsys.readouterr().err == "not released: commit first:\n M bomgen/cli/build.py\n\n"
    assert not Path("nowhere").exists()
