"""Templates of the user's own in their sandbox: text or faults, nothing touched, no markup let through, no address."""

from __future__ import annotations

import re
import resource
import signal
from collections.abc import Callable, Iterator
from random import Random
from types import FrameType
from typing import Any, NoReturn

from oracles import held
from tripwire import nothing_touched

from bomgen.core.jobs import Limits, OutOfTime
from bomgen.output import template_sandbox as sandbox
from bomgen.output.template_sandbox import render, writer

MOST_BYTES = 1024
NAMES = ("offer.txt", "offer.html", "offer.csv", "offer.SVG")
"""The name of the result by the first byte: two of them are escaped."""
HOSTILE = "<\ue000 onload=x>\"'&"
"""Text with markup that no template writes itself."""
DATA: dict[str, Any] = {
    "bom": {
        "lines": [
            {"id": "a", "category": "switch", "quantity": 32, "amount": "1234.50", "vendor": HOSTILE, "spare": 0},
            {"id": "b", "category": "cable", "quantity": 1024, "amount": None, "vendor": "=W", "part": HOSTILE},
        ],
        "totals": {"amount": "1234567.5", "currency": "EUR", "complete": False, "tax": None},
    },
    "plan": {"name": HOSTILE, "title": "A title", "date": "2026-11-20", "customer": {"name": HOSTILE, "address": []}},
}
LIMITS = Limits(cpu_seconds=1, wall_seconds=30, memory_bytes=1 << 30, output_bytes=1 << 16)
sandbox.RESULT_BYTES = LIMITS.output_bytes
MEMORY = 3 << 30
"""Address space of the fuzzer: what a template cannot have is a MemoryError, as in its own process."""
FILTERS = writer("en", "EUR")
WORDS = (
    *("bom", "plan", "bom.lines", "line", "line.amount", "bom.totals", "plan.name", "plan.customer", "loop.index", "x"),
    *("range(3)", "dict(a=1)", "namespace(a=1)", "cycler(1,2)", "joiner()", "self", "loop", "caller()", "super()"),
    *("'text'", "1", "0.5", "none", "true", "[1,2]", "{'a':1}", "()", "-1", "10**9", "line.vendor", "bom.items", "''"),
)
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "~", "==", "<", "in", "not in", "and", "or", "is", "|", ".", ",")
BLOCKS = (
    *("{% for line in bom.lines %}", "{% for k, v in bom.items() %}", "{% else %}", "{% endfor %}", "{% if x %}"),
    *("{% if loop.first %}", "{% elif 1 %}", "{% endif %}", "{% set x = 1 %}", "{% set x %}", "{% endset %}"),
    *("{% macro x(a=1) %}", "{% endmacro %}", "{% call x() %}", "{% call(a) x() %}", "{% endcall %}", "{% raw %}"),
    *("{% endraw %}", "{% filter upper %}", "{% endfilter %}", "{% block x %}", "{% endblock %}", "{% with x=1 %}"),
    *("{% endwith %}", "{% autoescape true %}", "{% endautoescape %}", "{% for x in x recursive %}", "{# c #}", "{%- "),
    *("{% include 'x' %}", "{% extends 'x' %}", "{% import 'x' as x %}", "{% set ns.a = 1 %}", " -%}", "{{", "}}"),
)
TOKENS = (*WORDS, *OPERATORS, *BLOCKS, "__class__", "|attr('x')", "|map(attribute='id')", "|groupby('id')", "|list")
UNESCAPED = ("safe", "autoescape")
"""Words with which a template asks for markup of its own accord."""
OBJECTS = (
    *("joiner", "cycler", "range", "self", "loop", "batch", "slice", "map", "select", "reject", "unique", "reverse"),
    *(".items", "keys", "format", "upper", "append", "namespace", "dict", "caller", "attr"),
)
"""Words of objects without text of their own: a filter can make text of their address, another one each time."""
LINE_ENDS = re.compile("\r\n|[\n\r]")
"""As Jinja2 counts."""
ADDRESS = re.compile(r"\bat\W+0x[0-9a-f]{6,}", re.IGNORECASE)
MOST_POWER, MOST_BITS = 10_000, 1 << 20
"""One multiplication of huge numbers is not interrupted; in a process of its own its template is killed with it."""


class _Guarded(sandbox._Environment):
    """The sandbox with powers and products of huge numbers refused, which no signal interrupts."""

    intercepted_binops = frozenset(("**", "*"))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if isinstance(left, int) and isinstance(right, int):
            size = abs(right) * left.bit_length() if operator == "**" else left.bit_length() + right.bit_length()
            if size > MOST_BITS or (operator == "**" and abs(right) > MOST_POWER):
                raise MemoryError
        return super().call_binop(context, operator, left, right)


def set_up() -> None:
    """Limit the memory of this process, once."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def seeds() -> Iterator[bytes]:
    """A template for every block and every filter, for every kind of result."""
    environment = sandbox._environment("x.html", FILTERS)
    for at in range(len(NAMES)):
        start = bytes([at])
        yield start + b"{% for line in bom.lines %}{{ line.vendor }};{{ line.amount|money }}\n{% endfor %}"
        yield start + b"{% macro m(a) %}<b>{{ a }}</b>{{ caller() }}{% endmacro %}{% call m(plan.name) %}x{% endcall %}"
        yield (
            start
            + b"{% set ns = namespace(n=0) %}{% for l in bom.lines %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}"
        )
        yield start + b"{{ bom.lines|map(attribute='vendor')|join(', ') }}{{ plan|xmlattr }}{{ bom|tojson }}"
        yield start + b"{% block b %}{{ plan.customer.name|e|upper }}{% endblock %}{{ self.b() }}"
    for name in sorted(environment.filters):
        yield f"\x01{{{{ plan.name|{name} }}}}{{{{ bom.lines|{name} }}}}".encode()
    for name in sorted(environment.tests):
        yield f"\x00{{{{ plan.name is {name} }}}}".encode()


def _late(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise OutOfTime


def rendered(name: str, text: str) -> str | None:
    """What a template gives in this process; None where it has a fault."""
    before, kept = sandbox._Environment, signal.signal(signal.SIGPROF, _late)
    sandbox._Environment = _Guarded  # type: ignore[misc]
    signal.setitimer(signal.ITIMER_PROF, LIMITS.cpu_seconds)
    try:
        with nothing_touched():
            answer = render(text, name, FILTERS, DATA, LIMITS)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, kept)
        sandbox._Environment = before  # type: ignore[misc]
    if isinstance(answer, str):
        return answer
    for fault in answer:
        held(0 <= fault.line <= len(LINE_ENDS.split(text)), f"line {fault.line} of {len(LINE_ENDS.split(text))}")
        held(fault.message.isprintable() and "; " in fault.message, f"{fault.message!r}")
        held(not ADDRESS.search(fault.message), fault.message)
    return None


def run(data: bytes) -> None:
    """Render the template behind the first byte, which says the name of the result."""
    if not data:
        return
    name, text = NAMES[data[0] % len(NAMES)], data[1:].decode("utf-8", "replace")
    answer = rendered(name, text)
    if answer is None:
        return
    held(len(answer.encode()) <= LIMITS.output_bytes, "longer than its limit")
    if name.lower().endswith(sandbox.ESCAPED) and not any(word in text for word in UNESCAPED) and "\ue000" not in text:
        held("<\ue000" not in answer, f"markup let through: {answer!r}")
    if not any(word in text for word in OBJECTS):
        held(rendered(name, text) == answer, "another result the second time")


def mutated(data: bytes, most: int, random: Random, other: Callable[[bytes, int], bytes]) -> bytes:
    """Other bytes, or more often the same with an expression or a block put in, taken out or doubled."""
    if not data or random.random() < 0.3:
        return other(data, most)
    text = data[1:].decode("utf-8", "replace")
    for _ in range(random.randint(1, 3)):
        at = random.randint(0, len(text))
        match random.randrange(5):
            case 0:
                piece = "{{ " + _expression(random) + " }}"
            case 1:
                piece = random.choice(BLOCKS)
            case 2:
                piece = random.choice(TOKENS)
            case 3:
                piece = f"|{random.choice(_FILTER_NAMES)}"
            case _:
                end = min(len(text), at + random.randint(1, 30))
                text, piece = text[:at] + text[end:], ""
        text = text[:at] + piece + text[at:]
    return (data[:1] + text.encode())[:most]


_FILTER_NAMES = sorted(sandbox._environment("x.html", FILTERS).filters)


def _expression(random: Random) -> str:
    text = random.choice(WORDS)
    for _ in range(random.randint(0, 3)):
        match random.randrange(4):
            case 0:
                text = f"{text}|{random.choice(_FILTER_NAMES)}"
            case 1:
                text = f"({text} {random.choice(OPERATORS)} {random.choice(WORDS)})"
            case 2:
                text = (
                    f"{text}.{random.choice(('items', 'keys', 'format', 'upper', 'a', 'append', '__class__', 'mro'))}"
                )
            case _:
                text = f"{text}|{random.choice(_FILTER_NAMES)}({random.choice(WORDS)})"
    return text
