"""The page of a quote printed as PDF by Chromium, or a browser made of it, where one is installed.

The browser sees the page and nothing else: no network, no profile of the user, and it is ended when it takes too long.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from bomgen.core.signals import LettingThrough, held_back

VARIABLE = "BOMGEN_CHROMIUM"
"""The environment variable that names the browser; where it is not set, one is looked for in PATH."""
BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    *("chrome", "msedge", "microsoft-edge"),
)
TIMEOUT = 120
"""Seconds for a page; the longest of plans/ takes five."""
_SWITCHES = (
    *("--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-default-browser-check"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"),
    *("--disable-breakpad", "--host-resolver-rules=MAP * ~NOTFOUND", "--proxy-server=0.0.0.0:9"),
    *("--no-pdf-header-footer", "--generate-pdf-document-outline"),
)
_AS_ROOT = "--no-sandbox"
"""Chromium's sandbox refuses to start as root."""
_PAGE, _PDF, _PROFILE, _LOG = "quote.html", "quote.pdf", "profile", "log"
_BEGINNING, _END = b"%PDF-", b"%%EOF"
_LAST_WORDS = 300
"""Characters of what a browser says that fit a message."""


class NotPrinted(Exception):
    """There is no browser, or it did not print."""


def pdf(page: bytes, environment: Mapping[str, str] = os.environ) -> bytes:
    """An HTML page that needs no other file in, the bytes of its PDF out.

    Raises NotPrinted when there is no browser or it fails.
    """
    browser = _browser(environment)
    with held_back() as let_through, TemporaryDirectory(prefix="bomgen-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        (folder / _PAGE).write_bytes(page)
        switches = [*_SWITCHES, *([_AS_ROOT] if _is_root() else [])]
        switches += [f"--user-data-dir={folder / _PROFILE}", f"--print-to-pdf={folder / _PDF}"]
        said = _run([browser, *switches, (folder / _PAGE).as_uri()], folder / _LOG, let_through)
        printed = (folder / _PDF).read_bytes() if (folder / _PDF).is_file() else b""
    if not printed.startswith(_BEGINNING) or not printed.rstrip().endswith(_END):
        raise NotPrinted(f"{browser} printed nothing{': ' if said else ''}{said}")
    return printed


def _browser(environment: Mapping[str, str]) -> str:
    """The program that prints."""
    named = environment.get(VARIABLE)
    for name in (named,) if named else BROWSERS:
        if found := shutil.which(name, path=environment.get("PATH")):
            return found
    if named:
        raise NotPrinted(f"{VARIABLE} names no program: {named}")
    raise NotPrinted(f"a PDF is printed by Chromium, and there is none in PATH: install it, or name it in {VARIABLE}")


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _run(command: list[str], log: Path, let_through: LettingThrough) -> str:
    """Run a browser to its end, with all that it starts; the end of what it says comes out.

    Signals, which are held back, may break off the waiting: the browser is ended then.
    """
    with log.open("wb") as stream:
        try:
            process = subprocess.Popen(command, stdout=stream, stderr=stream, start_new_session=True)  # noqa: S603
        except OSError as error:
            raise NotPrinted(f"{command[0]} does not start ({error.strerror})") from error
        try:
            with let_through():
                code = process.wait(TIMEOUT)
        except BaseException as error:
            _end(process)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise NotPrinted(f"{command[0]} took longer than {TIMEOUT} s") from error
    said = " ".join(log.read_text("utf-8", "replace").split())[-_LAST_WORDS:]
    return "; ".join(part for part in (f"exit code {code}" if code else "", said) if part)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a browser and, where the system has groups of processes, what it started."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
