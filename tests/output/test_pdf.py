"""The PDF: which browser prints it, with which switches, and what is said when none does."""

from __future__ import annotations

import os
from pathlib import Path
from time import sleep

import pytest

from bomgen.output import pdf as printing
from bomgen.output.pdf import NotPrinted, pdf

PAGE = b"<!DOCTYPE html><title>Quote</title>"
PRINTS = """#!/bin/sh
for word in "$@"; do case "$word" in --print-to-pdf=*) out="${word#*=}"; esac; done
{ printf '%%PDF-1.4\\n'; printf '%s\\n' "$0" "$@"; cat "${word#file://}"; printf '\\n%%%%EOF\\n'; } > "$out"
"""
FAILS = "#!/bin/sh\necho no display >&2\nexit 7\n"
STOPS_HALFWAY = PRINTS.replace("printf '\\n%%%%EOF\\n';", "")
HANGS = "#!/bin/sh\nsleep 60 &\necho $! > {}\nwait\n"


def _browser(folder: Path, name: str, text: str) -> Path:
    place = folder / name
    place.write_text(text, encoding="utf-8")
    place.chmod(0o755)
    return place


def _ended(process: int) -> bool:
    """Whether a process is gone, or waits only for being asked how it ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").split()[2] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def _path(folder: Path) -> dict[str, str]:
    return {"PATH": f"{folder}"}


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome", "chrome", "msedge"])
def test_a_browser_in_path_prints(name: str, tmp_path: Path) -> None:
    """Each of the browsers is found by its name, and what it prints comes out as it is."""
    browser = _browser(tmp_path, name, PRINTS)
    printed = pdf(PAGE, _path(tmp_path)).decode()
    assert f"\n{browser}\n" in printed
    assert PAGE.decode() in printed


def test_a_browser_that_is_named_comes_first(tmp_path: Path) -> None:
    """BOMGEN_CHROMIUM goes before what PATH has."""
    _browser(tmp_path, "chromium", FAILS)
    named = _browser(tmp_path, "my-browser", PRINTS)
    assert f"\n{named}\n" in pdf(PAGE, {**_path(tmp_path), "BOMGEN_CHROMIUM": f"{named}"}).decode()


def test_the_browser_is_kept_from_the_network_and_the_users_profile(tmp_path: Path) -> None:
    """Names are not resolved, the profile is a folder that is gone afterwards, and only root goes without sandbox."""
    _browser(tmp_path, "chromium", PRINTS)
    words = pdf(PAGE, _path(tmp_path)).decode().splitlines()
    assert "--host-resolver-rules=MAP * ~NOTFOUND" in words
    assert "--disable-background-networking" in words
    profile = next(word for word in words if word.startswith("--user-data-dir=")).partition("=")[2]
    assert not Path(profile).parent.exists()
    assert ("--no-sandbox" in words) == (os.geteuid() == 0)


def test_without_a_browser(tmp_path: Path) -> None:
    """The message says what is missing and how to name it."""
    with pytest.raises(NotPrinted, match=r"Chromium.*none in PATH.*BOMGEN_CHROMIUM"):
        pdf(PAGE, _path(tmp_path))
    with pytest.raises(NotPrinted, match="BOMGEN_CHROMIUM names no program: nowhere"):
        pdf(PAGE, {**_path(tmp_path), "BOMGEN_CHROMIUM": "nowhere"})


@pytest.mark.parametrize(
    ("text", "words"),
    [(FAILS, "printed nothing: exit code 7; no display"), (STOPS_HALFWAY, "printed nothing"), ("", "does not start")],
)
def test_a_browser_that_fails(text: str, words: str, tmp_path: Path) -> None:
    """A browser that ends badly, or leaves half a file, has printed nothing; what it said is passed on."""
    _browser(tmp_path, "chromium", text)
    with pytest.raises(NotPrinted, match=words):
        pdf(PAGE, {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"})


def test_a_browser_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the timeout the browser and what it started are gone."""
    monkeypatch.setattr(printing, "TIMEOUT", 3)
    noted = tmp_path / "child"
    _browser(tmp_path, "chromium", HANGS.format(noted))
    with pytest.raises(NotPrinted, match="took longer than"):
        pdf(PAGE, {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"})
    started = int(noted.read_text("utf-8"))
    for _ in range(100):
        if _ended(started):
            break
        sleep(0.1)
    assert _ended(started)
