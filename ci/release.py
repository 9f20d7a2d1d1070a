"""What a release of bomgen is made of: a wheel and an sdist that come out alike twice, an SBOM, and their digests.

    release.py backend         the requirements of the build backend, one a line
    release.py sbom FOLDER     bomgen-VERSION.cdx.json: bomgen and the packages of requirements/run.txt, as CycloneDX
    release.py release FOLDER  wheel, sdist, SBOM and SHA256SUMS of what is committed

Run by the Makefile with the Python of its release tools. Nothing written depends on the clock, the machine or the
folder. Exit codes: 0 done, 1 not released, 2 this was called wrongly.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from uuid import NAMESPACE_URL, uuid5

CHECKOUT = Path(__file__).parents[1]
LOCK = CHECKOUT / "requirements" / "run.txt"
LICENCES = CHECKOUT / "requirements" / "licences.toml"
PIN = re.compile(r"^([a-z0-9-]+)(?:\[[a-z0-9,-]+\])?==([^ ]+)(?: ; (.+?))? \\$")
HASH = re.compile(r"^ +--hash=sha256:([0-9a-f]{64})(?: \\)?$")
VIA = re.compile(r"^ +# (?:via |  )([a-z0-9-]+)(?: \(pyproject\.toml\))?$")
ELSEWHERE = {"TZ": "Pacific/Kiritimati", "PYTHONHASHSEED": "7", "LC_ALL": "C"}
"""What is otherwise at the second build, beside its folder, the rights and the dates of its files."""
STRICT, LAX = 0o077, 0o022
ANOTHER_DAY = 1_000_000_000
"""When the files of the second build were changed."""


class NotReleased(Exception):
    """Why there is no release."""


class Pin(NamedTuple):
    """A line of a lock file."""

    name: str
    version: str
    marker: str
    """Where it is installed; empty: everywhere."""
    hashes: tuple[str, ...]
    via: tuple[str, ...]
    """What needs it."""


def pins(lock: Path) -> list[Pin]:
    """The lines of a lock file. Raises NotReleased for one that is neither a pin nor of a pin."""
    found: list[Pin] = []
    for number, line in enumerate(lock.read_text("utf-8").splitlines(), 1):
        if match := PIN.match(line):
            found.append(Pin(match[1], match[2], match[3] or "", (), ()))
        elif match := HASH.match(line):
            found[-1] = found[-1]._replace(hashes=(*found[-1].hashes, match[1]))
        elif found and (match := VIA.match(line)):
            found[-1] = found[-1]._replace(via=(*found[-1].via, match[1]))
        elif not re.match(r" *#", line):
            raise NotReleased(f"{lock.name}:{number}: no pin: {line}")
    return found


def project() -> dict[str, Any]:
    """What pyproject.toml says."""
    return tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))


def version() -> str:
    """The version of bomgen."""
    found = re.search(r'^__version__ = "(.+)"$', (CHECKOUT / "bomgen" / "__init__.py").read_text("utf-8"), re.MULTILINE)
    if not found:
        raise NotReleased("bomgen/__init__.py names no version")
    return found[1]


def licences() -> dict[str, str]:
    """The licence of each package that bomgen needs, by its name."""
    return tomllib.loads(LICENCES.read_text("utf-8"))


def sbom() -> bytes:
    """Bomgen and the packages that its lock installs, as a CycloneDX 1.6 SBOM; the same bytes for the same lock."""
    found, licence = pins(LOCK), licences()
    root = f"pkg:generic/bomgen@{version()}"
    refs = {pin: f"pkg:pypi/{pin.name}@{pin.version}" for pin in found}
    components = [
        {
            "type": "library",
            "bom-ref": refs[pin],
            "name": pin.name,
            "version": pin.version,
            "scope": "required",
            "hashes": [{"alg": "SHA-256", "content": each} for each in pin.hashes],
            "licenses": [{"expression": licence[pin.name]}],
            "purl": refs[pin],
            **({"properties": [{"name": "bomgen:marker", "value": pin.marker}]} if pin.marker else {}),
        }
        for pin in found
    ]
    needs = [("bomgen", root), *((pin.name, refs[pin]) for pin in found)]
    data = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "lifecycles": [{"phase": "build"}],
            "component": {
                "type": "application",
                "bom-ref": root,
                "name": "bomgen",
                "version": version(),
                "description": project()["project"]["description"],
                "licenses": [{"expression": project()["project"]["license"]}],
                "purl": root,
            },
        },
        "components": components,
        "dependencies": [
            {"ref": ref, "dependsOn": [refs[pin] for pin in found if name in pin.via]} for name, ref in needs
        ],
    }
    data["serialNumber"] = uuid5(NAMESPACE_URL, f"bomgen:{sha256(_json(data)).hexdigest()}").urn
    return _json(data)


def _json(data: dict[str, Any]) -> bytes:
    return (json.dumps(data, ensure_ascii=False, indent=1) + "\n").encode()


def copied(place: Path) -> Path:
    """A folder with all of the checkout that a build reads."""
    carried = project()["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    place.mkdir(parents=True)
    for name in (".gitignore", "pyproject.toml", "LICENSE", *carried):
        if (CHECKOUT / name).is_dir():
            shutil.copytree(CHECKOUT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(CHECKOUT / name, place / name)
    return place


def built(source: Path, out: Path, umask: int, *options: str, **environment: str) -> dict[str, bytes]:
    """The wheel and the sdist that a folder makes, by name."""
    variables = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", *options, "--outdir", str(out), str(source)],
        capture_output=True,
        text=True,
        check=False,
        env=variables | environment,
        umask=umask,
    )
    if done.returncode:
        raise NotReleased(done.stdout + done.stderr)
    return {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def built_twice() -> dict[str, bytes]:
    """The wheel and the sdist, by name.

    The second time folder, umask, time zone, locale and the dates of files are others, and the wheel is built from the
    folder instead of from the sdist. Raises NotReleased when a byte differs.
    """
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        first = built(copied(Path(one) / "a"), Path(one) / "out", LAX)
        source = copied(Path(other) / "a folder" / "of another name")
        for path in source.rglob("*"):
            path.chmod(path.stat().st_mode & ~STRICT)
            os.utime(path, (ANOTHER_DAY, ANOTHER_DAY))
        again = built(source, Path(other) / "out", STRICT, "--sdist", "--wheel", **ELSEWHERE)
    differ = sorted(name for name in first.keys() | again.keys() if first.get(name) != again.get(name))
    if differ:
        raise NotReleased(f"two builds differ: {', '.join(differ)}")
    return first


def uncommitted() -> str:
    """What of the checkout is not committed, as git lists it."""
    done = subprocess.run(["git", "status", "--porcelain"], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotReleased(f"what is released is what is committed, and here git says: {done.stderr.strip()}")
    return done.stdout


def release() -> Iterator[tuple[str, bytes]]:
    """The files of a release by name, their digests last. Raises NotReleased."""
    if found := uncommitted():
        raise NotReleased(f"commit first:\n{found}")
    if f"## [{version()}]" not in (CHECKOUT / "CHANGELOG.md").read_text("utf-8"):
        raise NotReleased(f"CHANGELOG.md has no entry of {version()}")
    files = built_twice() | {f"bomgen-{version()}.cdx.json": sbom()}
    yield from sorted(files.items())
    yield "SHA256SUMS", "".join(f"{sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)).encode()


def main(words: Sequence[str]) -> int:
    """Do what the command line asks for; the exit code."""
    match list(words):
        case ["backend"]:
            print("\n".join(project()["build-system"]["requires"]))
            return 0
        case ["sbom" | "release" as what, folder]:
            out = Path(folder)
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    try:
        files = dict(release()) if what == "release" else {f"bomgen-{version()}.cdx.json": sbom()}
        out.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (out / name).write_bytes(content)
            print(out / name)
    except (NotReleased, OSError) as error:
        print(f"not released: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
