"""Find calls of functions of plain numbers that tell mutants from the program, and write them to tests/ROOM/calls.

    python tests/tools/mutation/telling.py [MODULE...]     such as fabric.clos.search

Calls are taken down while every plan is worked out, those of tests/corners and tests/errors too, and varied: each
number a little more or less. Each mutant of a module then runs those of the function that it changes, and those of the
rest of the module; of the calls that tell it apart the first is kept. Functions of figures and plans are left to plans.
"""

from __future__ import annotations

import random
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from in_memory import forget
from mutants import Mutant, modules, mutants

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "errors")]

import calls as kept  # noqa: E402 - of the folders above
from plan_outcomes import PLANS, outcome  # noqa: E402
from transcripts import write_all  # noqa: E402

from bomgen.workflow.plan_files import PlanFile  # noqa: E402

SEEN, VARIED, MADE = 150, 1500, 300
"""Calls of a function that are taken down, those made of them, and those of any numbers."""
LONGEST = 900
"""Characters of a call or of what it gives."""
SLOWEST, NO_END = 0.05, 1.0
"""Seconds of a call of the program, and of a mutant."""
PLAIN = (int, str, Fraction, bool, type(None))


class Slow(BaseException):
    """A call takes too long."""


def main() -> None:
    """Find the calls of the modules that are named, or of all, and say which mutants none of them tells apart."""
    signal.signal(signal.SIGALRM, _too_slow)
    chosen = [path for path in modules(ROOT) if not sys.argv[1:] or _name(path) in sys.argv[1:]]
    seen = _seen()
    for path in chosen:
        _module(path, import_module(f"bomgen.{_name(path)}"), seen[path])


def _name(path: str) -> str:
    return path.removeprefix("bomgen/").removesuffix(".py").replace("/", ".")


def _seen() -> dict[str, dict[str, set[tuple[str, ...]]]]:
    """Calls while every plan is worked out: by module and function, the arguments as text."""
    found: dict[str, dict[str, set[tuple[str, ...]]]] = defaultdict(lambda: defaultdict(set))
    rooms = {str(ROOT / path): path for path in modules(ROOT)}

    def look(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        path = rooms.get(code.co_filename) if event == "call" else None
        if path is None or "<" in code.co_qualname:
            return
        calls = found[path][code.co_qualname]
        if len(calls) < 20 * SEEN:
            values = [frame.f_locals[name] for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
            if all(map(_plain, values)) and sum(map(len, arguments := tuple(map(repr, values)))) < LONGEST:
                calls.add(arguments)

    with TemporaryDirectory() as folder:
        wrong = Path(folder)
        write_all(wrong)
        for file in (
            *PLANS.values(),
            *(PlanFile(plan.name, plan.read_bytes(), wrong, wrong) for plan in sorted(wrong.glob("*.yaml"))),
        ):
            forget()
            sys.setprofile(look)
            try:
                outcome(file)
            finally:
                sys.setprofile(None)
    return found


def _plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_plain, value))
    if isinstance(value, dict):
        return all(map(_plain, (*value, *value.values())))
    return isinstance(value, PLAIN)


def _module(path: str, module: ModuleType, seen: dict[str, set[tuple[str, ...]]]) -> None:
    known = kept.names(module)
    calls: dict[str, list[str]] = defaultdict(list)
    gives: dict[str, str] = {}
    for name in sorted(name for name in {*seen, *_functions(module)} if _is_public(name)):
        for call in (*_calls(name, sorted(seen[name]), known), *_made(name, known)):
            value, slow = _timed(call, known, SLOWEST)
            if not slow and len(value) < LONGEST and not value.startswith(kept.RAISES) and _is_public(call):
                calls[name].append(call)
                gives[call] = value
    file = kept.table(_name(path))
    chosen = [call for call, _ in kept.lines(file)] if file.exists() else []
    gives |= {call: kept.given(call, known) for call in chosen}
    left, tried = [], 0
    for mutant in mutants(ROOT, path):
        telling = _telling(mutant, module, chosen, calls, gives)
        tried += 1
        if telling is None:
            left.append(mutant)
        elif telling not in chosen and telling:
            chosen.append(telling)
    if chosen:
        kept.write(file, sorted(chosen), known)
    print(f"{_name(path)}: {tried} mutants, {len(left)} not told apart by {len(chosen)} calls", flush=True)
    for mutant in left:
        print(f"  {mutant.line}: {mutant.before}  =>  {mutant.after}")


def _is_public(call: str) -> bool:
    """Whether a function or a call of one names nothing private; `str` stands for `__str__`."""
    return not kept.private_names(call.removesuffix(".__str__"))


def _calls(name: str, seen: list[tuple[str, ...]], known: dict[str, Any]) -> Iterator[str]:
    """Calls as they were seen, and varied."""
    draw = random.Random(name)  # noqa: S311 - not for secrets
    draw.shuffle(seen)
    shortest = sorted(seen, key=lambda arguments: sum(map(len, arguments)))
    taken = list(dict.fromkeys((*shortest[: SEEN // 2], *seen[: SEEN // 2])))
    yield from (_call(name, arguments, known) for arguments in taken)
    columns = list(zip(*taken, strict=True))
    for _ in range(VARIED if columns else 0):
        arguments = list(draw.choice(taken))
        for _ in range(draw.choice((1, 1, 2, 3))):
            place = draw.randrange(len(arguments))
            arguments[place] = draw.choice(columns[place]) if draw.random() < 0.3 else _varied(arguments[place], draw)
        yield _call(name, tuple(arguments), known)


def _functions(module: ModuleType) -> Iterator[str]:
    """The functions and formulas that a module has of its own."""
    for name, each in kept.names(module).items():
        if isinstance(each, FunctionType) and each.__module__ == module.__name__:
            yield name


def _made(name: str, known: dict[str, Any]) -> Iterator[str]:
    """Calls with any numbers, of a function that takes nothing else: plans may never call it."""
    function = known.get(name)
    kinds = [getattr(function, "__annotations__", {}).get(each) for each in _parameters(function)]
    if not kinds or not set(kinds) <= {"int", "Fraction"}:
        return
    draw = random.Random(name)  # noqa: S311 - not for secrets
    for _ in range(MADE):
        numbers = [draw.randrange(1 << draw.randrange(1, 8)) for _ in kinds]
        parts = [
            f"Fraction({number}, {draw.randrange(1, 9)})" if kind == "Fraction" else str(number)
            for number, kind in zip(numbers, kinds, strict=True)
        ]
        yield f"{name}({', '.join(parts)})"


def _parameters(function: Any) -> tuple[str, ...]:
    code = getattr(function, "__code__", None)
    return code.co_varnames[: code.co_argcount] if code else ()


def _varied(text: str, draw: random.Random) -> str:
    """A value as text with one of its numbers a little more or less, twice as much, or nought."""
    numbers = [
        at
        for at, each in enumerate(text)
        if each.isdigit() and not text[at - 1 : at].isalnum() and text[at - 1 : at] != "_"
    ]
    if not numbers:
        return text
    at = draw.choice(numbers)
    digits = next((end for end in range(at, len(text)) if not text[end].isdigit()), len(text))
    value = int(text[at:digits])
    anything = draw.randrange(1 << draw.randrange(1, value.bit_length() + 2))
    other = draw.choice((value + 1, max(value - 1, 0), 2 * value, value // 2, anything, anything, anything))
    return f"{text[:at]}{other}{text[digits:]}"


def _call(name: str, arguments: tuple[str, ...], known: dict[str, Any]) -> str:
    owner, _, method = name.rpartition(".")
    if method == "__str__":
        return f"str({arguments[0]})"
    if not owner:
        return f"{name}({', '.join(arguments)})"
    if isinstance(getattr(known.get(owner), method, None), property):
        return f"{arguments[0]}.{method}"
    return f"{arguments[0]}.{method}({', '.join(arguments[1:])})"


def _telling(
    mutant: Mutant, module: ModuleType, chosen: list[str], calls: dict[str, list[str]], gives: dict[str, str]
) -> str | None:
    """A call that comes to something else with a mutant, a chosen one if it can be; empty when it has no import."""
    changed = ModuleType(module.__name__)
    changed.__file__, changed.__package__ = module.__file__, module.__package__
    signal.setitimer(signal.ITIMER_REAL, NO_END)
    held = sys.modules[module.__name__]
    try:
        sys.modules[module.__name__] = changed
        exec(compile(mutant.code, str(ROOT / mutant.path), "exec"), vars(changed))  # noqa: S102 - it is this checkout's
    except BaseException:
        return ""
    finally:
        sys.modules[module.__name__] = held
        signal.setitimer(signal.ITIMER_REAL, 0)
    known = kept.names(changed)
    own = _function(mutant)
    first = [call for name, each in calls.items() if name == own for call in each]
    rest = [call for name, each in calls.items() if name != own for call in each[: SEEN // 2]]
    for call in (*chosen, *first, *rest):
        value, slow = _timed(call, known, NO_END)
        if slow or value != gives[call]:
            return call
    return None


def _function(mutant: Mutant) -> str:
    """The function or method that a mutant changes."""
    found = ""
    stack = [compile(mutant.code, mutant.path, "exec", dont_inherit=True)]
    while stack:
        for each in stack.pop().co_consts:
            if isinstance(each, CodeType) and "<" not in each.co_qualname:
                lines = [line for _, _, line in each.co_lines() if line]
                if lines and min(lines) <= mutant.line <= max(lines):
                    found = each.co_qualname
                stack.append(each)
    return found


def _timed(call: str, known: dict[str, Any], most: float) -> tuple[str, bool]:
    """What a call gives, and whether it took too long."""
    signal.setitimer(signal.ITIMER_REAL, most)
    try:
        return kept.given(call, known), False
    except Slow:
        return "", True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _too_slow(_number: int, _frame: FrameType | None) -> None:
    raise Slow


if __name__ == "__main__":
    main()
