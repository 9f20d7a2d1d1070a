"""A release of Debian below a folder of its own, and programs that run in it (root, mmdebstrap)."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

PIP_FILES = ("/etc/pip.conf", "/etc/ssl/certs/ca-certificates.crt", "/etc/resolv.conf", "~/.config/pip/pip.conf")
"""What pip needs to know of this machine to find packages from inside another Debian."""
MOUNTED = """
root=$1 user=$2; shift 2
mount -t proc proc "$root/proc"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
while [ "$1" != -- ]; do
  mkdir -p "$root$1"
  mount --bind -o ro "$1" "$root$1"
  shift
done
shift
exec /usr/sbin/chroot --userspec="$user" "$root" "$@"
"""
"""Runs a program below a root of its own, with what a machine mounts and with what lies on this one for pip."""


def install_debian(suite: str, packages: str, root: Path) -> None:
    """Install the smallest system of a release, with packages, from the archive that apt reads here."""
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    # An archive that is a copy of one day outlives the date until which that day's list of files is valid.
    command = ["mmdebstrap", "--quiet", "--variant=minbase", "--aptopt=Acquire::Check-Valid-Until false"]
    command += [f"--include={packages}", suite, str(root), f"deb {_archive()} {suite} main"]
    subprocess.run(command, check=True)


def enter(root: Path, user: str = "root", home: str = "/root") -> list[str]:
    """Return the start of a command line that runs the rest below a root, where pip works as it does here."""
    for name in PIP_FILES:
        if (given := Path(name).expanduser()).is_file():
            target = root / name.replace("~", home).lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(given, target)
    return ["unshare", "--mount", "sh", "-ec", MOUNTED, "sh", str(root), user, *_lent(), "--"]


def _archive() -> str:
    """The address of the archive that apt is set up with."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return next(address for address in found if address.rstrip("/").endswith("/debian"))


def _lent() -> list[str]:
    """Folders of this machine that pip is set up to look for packages in, with what lies beside them."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    named = {path for path in re.findall(r"(?:^|['\" ]|file://)(/[^'\" \\]+)", said) if Path(path).is_dir()}
    return sorted({str(each if each.parent == Path("/") else each.parent) for each in map(Path, named)})
