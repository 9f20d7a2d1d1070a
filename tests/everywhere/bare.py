"""Runs the README's commands as a stranger would: in Debian's smallest system, as a user who has Python, make and git.

`.ci/run` runs it (as root, with mmdebstrap): no fonts, no Pango, no judge, another time zone and the locale C. What is
cloned is the last commit of this checkout.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from roots import enter, install_debian

CHECKOUT = Path(__file__).parents[2]
ROOT = CHECKOUT / "build" / "bare"
SUITE, PACKAGES = "bookworm", "python3,python3-venv,make,git"
USER, HOME = "stranger", "/home/stranger"
CLONE = f"{HOME}/bomgen"
ENVIRONMENT = {
    "HOME": HOME,
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LC_ALL": "C",
    "TZ": "Pacific/Chatham",
    "KNOWN_MACHINE": "1",
}
TAKEN = ("PIP_", "PYTEST_ADDOPTS")
"""Beginnings of the variables that a stranger has from here: how pip finds packages, and what pytest prints."""


def main() -> int:
    """Run the commands; the exit code is 1 when one of them fails, and when no root can be made."""
    install_debian(SUITE, PACKAGES, ROOT)
    inside, clone = enter(ROOT, USER, HOME), ROOT / CLONE.lstrip("/")
    # No hard links: they would give the objects of this checkout to another user.
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", CHECKOUT, clone], check=True)
    subprocess.run(["chroot", ROOT, "useradd", "--home-dir", HOME, USER], check=True)
    subprocess.run(["chroot", ROOT, "chown", "--recursive", f"{USER}:", HOME], check=True)
    environment = ENVIRONMENT | {name: value for name, value in os.environ.items() if name.startswith(TAKEN)}
    for command in commands((CHECKOUT / "README.md").read_text("utf-8")):
        print(f"$ {command}", flush=True)
        since = time.monotonic()
        line = [*inside, "env", f"--chdir={CLONE}", "sh", "-c", command]
        code = subprocess.run(line, env=environment, stdin=subprocess.DEVNULL, check=False).returncode
        print(f"exit code {code}, {time.monotonic() - since:.0f} s", flush=True)
        if code:
            return 1
    return 0


def commands(readme: str) -> list[str]:
    """Return the commands of the first block of the README, as they stand there."""
    return re.findall(r"^```sh\n(.*?)^```$", readme, re.DOTALL | re.MULTILINE)[0].splitlines()


if __name__ == "__main__":
    sys.exit(main())
