"""The command in a child of its own, to which something happens: what it says, how it ends, what it leaves behind."""

from __future__ import annotations

import errno
import io
import mmap
import os
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

import pytest
from terminal import Bomgen

from bomgen.output import writer
from bomgen.workflow import pipeline

SMALL = "bomgen: 1\nname: small\ntitle: {title}\ncluster: {{gpu: h100-sxm, servers: {servers}}}\n"
SMALL += "fabrics: {{compute: {{switch: qm9700}}}}\n"
"""A plan that is quick to build, and shows in every file which one it is."""
Happens = Callable[[], object]
State = dict[str, bytes | None]


class Outcome(NamedTuple):
    """How a child ended."""

    code: int
    out: bytes
    said: str

    @property
    def errors(self) -> list[str]:
        """What it said besides warnings."""
        return [line for line in self.said.splitlines() if "warning: " not in line]


OLD, NEW = SMALL.format(title="old", servers=4), SMALL.format(title="new", servers=8)
"""Two plans of one name: their results have files of the same names and other content."""


class Child(Bomgen):
    """The command, run in a folder; `happens` is called in it before anything else."""

    def __init__(
        self,
        arguments: Sequence[str | Path],
        folder: Path,
        happens: Happens = lambda: None,
        environment: Mapping[str, str] | None = None,
        streams: Mapping[int, int] | None = None,
    ) -> None:
        self._happens = happens
        self._out, self._said = TemporaryFile(), TemporaryFile()  # noqa: SIM115
        with open(os.devnull, encoding="utf-8") as nothing:
            given = {0: nothing.fileno(), 1: self._out.fileno(), 2: self._said.fileno(), **(streams or {})}
            ours = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
            super().__init__(
                [str(each) for each in arguments],
                ours if environment is None else environment,
                folder,
                [given[number] for number in sorted(given)],
            )

    def _run(self, *given: Any) -> Any:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        self._happens()
        super()._run(*given)

    @property
    def number(self) -> int:
        """Its process."""
        return self._number

    def outcome(self, encoding: str = "utf-8") -> Outcome:
        """Wait for its end; what it says is in an encoding."""
        code = self.wait()
        for stream in (self._out, self._said):
            stream.seek(0)
        with self._out, self._said:
            return Outcome(code, self._out.read(), self._said.read().decode(encoding))


def outcome(
    arguments: Sequence[str | Path],
    folder: Path,
    happens: Happens = lambda: None,
    environment: Mapping[str, str] | None = None,
    streams: Mapping[int, int] | None = None,
) -> Outcome:
    """Run the command to its end."""
    return Child(arguments, folder, happens, environment, streams).outcome()


def piped(arguments: Sequence[str | Path], folder: Path, happens: Happens) -> Outcome:
    """Run the command to its end; what it says goes into a pipe, which limits of files do not concern."""
    reading, writing = os.pipe()
    child = Child(arguments, folder, happens, streams={2: writing})
    os.close(writing)
    with open(reading, encoding="utf-8") as stream:
        said = stream.read()
    return child.outcome()._replace(said=said)


def state(folder: Path) -> State:
    """All that a folder holds, by path: the content of files, where links lead, None for folders."""
    return {str(path.relative_to(folder)): _held(path) for path in sorted(folder.rglob("*"))}


def _held(path: Path) -> bytes | None:
    if path.is_symlink():
        return f"-> {path.readlink()}".encode()
    return None if path.is_dir() else path.read_bytes()


def restore(folder: Path, kept: Mapping[str, bytes | None]) -> None:
    """Have a folder hold exactly what it held."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(exist_ok=True)
    for name, content in kept.items():
        if content is None:
            (folder / name).mkdir()
        else:
            (folder / name).write_bytes(content)


def remember(patch: pytest.MonkeyPatch) -> None:
    """Work out each plan once: hundreds of children, which are copies of this process, only write what is known."""
    for room, names in ((pipeline, ("work_out", "lock_result", "list_cables")), (writer, ("render",))):
        for name in names:
            patch.setattr(room, name, _remembered(getattr(room, name)))


def _remembered(real: Callable[..., Any]) -> Callable[..., Any]:
    known: dict[object, Any] = {}

    def call(of: Any, *rest: Any, **more: Any) -> Any:
        key = (getattr(of, "content", id(of)), repr(rest), repr(more))
        if key not in known:
            known[key] = (real(of, *rest, **more), of)
        return known[key][0]

    return call


# faults at the n-th operation ---------------------------------------------------------------------------------------


class Faults:
    """Operations on files below a folder, counted; at one of them something happens: an error, or a signal.

    Signals come right before the operation, errors in its place. `after` repeats an error from there on.
    """

    NAMES = ("open", "mkdir", "rmdir", "unlink", "link", "rename", "replace", "fsync", "scandir")

    def __init__(self, folder: Path, at: int, fault: int, is_signal: bool, for_good: bool = False) -> None:
        self._folder, self._at, self._fault = str(folder), at, fault
        self._is_signal, self._for_good = is_signal, for_good
        self._numbers: set[int] = set()
        self._counted = 0
        self._happened = mmap.mmap(-1, 1)  # which a child shares

    @property
    def happened(self) -> bool:
        """Whether there were so many operations."""
        return self._happened[0] == 1

    def arm(self) -> None:
        """Have this process count, and happen to it what shall."""
        for name in self.NAMES:
            setattr(os, name, self._wrapped(name, getattr(os, name)))
        plain_open = io.open

        def opened(file: Any, mode: str = "r", *rest: Any, **more: Any) -> Any:
            if not self._is_ours(file) or not set(mode) & set("wxa"):
                return plain_open(file, mode, *rest, **more)
            self._happen(file)
            raw = _Counted(os.fspath(file), mode.replace("b", ""))
            raw.happen = lambda: self._happen(file)
            buffered = io.BufferedWriter(raw)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, *rest[1:], **more)

        io.open = opened  # type: ignore[assignment]

    def _is_ours(self, file: Any) -> bool:
        return file in self._numbers if isinstance(file, int) else os.path.abspath(file).startswith(self._folder)

    def _wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(file: Any, *rest: Any, **more: Any) -> Any:
            ours = self._is_ours(file) or more.get("dir_fd") in self._numbers
            if ours:
                self._happen(file)
            found = real(file, *rest, **more)
            if ours and name == "open":
                self._numbers.add(found)
            return found

        return call

    def _happen(self, file: Any) -> None:
        self._counted += 1
        if self._counted != self._at and not (self._for_good and self._counted > self._at):
            return
        self._happened[0] = 1
        if self._is_signal:
            os.kill(os.getpid(), self._fault)
        else:
            raise OSError(self._fault, os.strerror(self._fault), None if isinstance(file, int) else str(file))


class _Counted(io.FileIO):
    """A file whose writes count."""

    happen: Happens

    def write(self, content: Any) -> int:
        self.happen()
        return super().write(content)


ERRORS = {"no space": errno.ENOSPC, "input or output": errno.EIO, "no permission": errno.EACCES}
ENDINGS = {"interrupt": signal.SIGINT, "end": signal.SIGTERM, "hang-up": signal.SIGHUP, "kill": signal.SIGKILL}
