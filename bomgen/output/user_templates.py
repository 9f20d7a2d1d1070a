"""Templates of the user: read and named here, parsed and rendered by a restricted child process.

The sender of a plan also supplies its templates: they are data, and never run in the program's own process.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bomgen.core.diagnostics import LINE_END, PlanErrors, Problem, error_at
from bomgen.core.jobs import ChildOutput, Limits, run_limited
from bomgen.core.provenance import Mark
from bomgen.core.resources import folder, text
from bomgen.core.safety import DEVICES
from bomgen.core.yaml_source import decoded
from bomgen.output.registry import is_file_of_bomgen
from bomgen.results.result import Template

SUFFIX = ".j2"
TEMPLATE_BYTES = 1 << 20
"""Maximum size of a template, as for a plan; a long contract with a logo takes a tenth."""
LIMITS = Limits(cpu_seconds=4, wall_seconds=30, memory_bytes=512 << 20, output_bytes=64 << 20)
"""Limits for all templates of a plan together, and memory of each: one that groups and lists 10,000 lines takes 0.7 s
and 50 MiB. The wall time allows for a busy machine; the output is results as JSON."""
LIMIT = "template-limit"
"""The rule of a template that exceeds its limits."""
NO_FILE = (errno.EISDIR, errno.EINVAL)
"""Errors for folders and other paths that are not regular files."""
OPTION = "<template>"
"""File name in marks of templates from the command line; the line is the number of the option."""
_SAFE = re.compile(r"[^\W_]([\w.+ -]*[\w+-])?")
"""Letters and digits of any script, with dots, dashes and spaces inside: valid on any file system, never hidden."""
_ABOUT = re.compile(r"\{# (.*) #\}")
ORDERS = "orders"
"""The folder of built-in templates."""
PATH, RULE = "templates", "template-name"


def shipped() -> dict[str, Path]:
    """Return the built-in templates by name, such as `order-upload`."""
    return {path.name.partition(".")[0]: path for path in sorted((folder("templates") / ORDERS).glob(f"*{SUFFIX}"))}


def describe_templates() -> list[tuple[str, str]]:
    """Return the built-in templates, each with the description in its first line."""
    return [(name, _ABOUT.match(text(path))[1]) for name, path in shipped().items()]  # type: ignore[index]


def template_of(content: bytes | OSError, file: str, mark: Mark) -> tuple[Template, bytes]:
    """Return the template in a file, and its bytes; the path `file` determines the name of its output.

    Raises PlanErrors if it has no valid output name, is unreadable, or is not UTF-8.
    """
    name = _name(Path(file).name, mark)
    if isinstance(content, OSError) and content.errno != errno.EFBIG:
        if content.errno in NO_FILE:
            raise _wrong(mark, f"'{file}' is not a file; specify a template, such as offer.html{SUFFIX}", "no-file")
        where = "relative to the current folder" if mark.file == OPTION else "relative to the plan"
        message = f"the template '{file}' cannot be read ({content.strerror}); give its path {where}"
        raise _wrong(mark, message, "no-file")
    if isinstance(content, OSError) or len(content) > TEMPLATE_BYTES:
        raise _wrong(mark, f"'{file}' is too long; a template of at most {TEMPLATE_BYTES} bytes is read", "range")
    return Template(name, file, decoded(content, file).removeprefix("\ufeff"), mark), content


def _name(given: str, mark: Mark) -> str:
    name = given.removesuffix(SUFFIX)
    if name == given:
        message = f"{_quoted(given)} does not end in {SUFFIX}; rename it to NAME{SUFFIX}, which writes the file NAME"
        raise _wrong(mark, message, RULE)
    if not _SAFE.fullmatch(name) or name.partition(".")[0].casefold() in DEVICES:
        message = (
            f"{_quoted(name)} is not a valid file name; begin with a letter or digit, add only . _ - + and spaces, and "
            "avoid the device names of Windows"
        )
        raise _wrong(mark, message, RULE)
    return name


def clashes(templates: Sequence[Template]) -> Iterator[Problem]:
    """Yield an error for each template whose output overwrites a file of bomgen or of another template.

    Names are compared without case, because some file systems ignore it.
    """
    first: dict[str, Template] = {}
    for template in templates:
        key = template.name.casefold()
        if is_file_of_bomgen(key):
            message = f"bomgen writes {template.name} itself; give the template another name"
            yield Problem(template.mark, "error", message, RULE, PATH)
        elif key in first:
            message = f"{first[key].file} and {template.file} both write {template.name}; give one another name"
            yield Problem(template.mark, "error", message, RULE, PATH)
        first.setdefault(key, template)


def parsed(templates: Sequence[Template]) -> list[Problem]:
    """Return the errors of templates found by parsing, without data."""
    return [problem for _, _, found in _each(templates, {}, "en", LIMITS) for problem in found]


def filled(
    templates: Sequence[Template], data: Mapping[str, Any], language: str, limits: Limits = LIMITS
) -> dict[str, bytes]:
    """Return the files that templates write, by name. Raises PlanErrors with the errors of each failed template."""
    results = list(_each(templates, data, language, limits))
    if problems := [problem for _, _, found in results for problem in found]:
        raise PlanErrors(problems)
    return {template.name: text.encode() for template, text, _ in results}


def _each(
    templates: Sequence[Template], data: Mapping[str, Any], language: str, limits: Limits
) -> Iterator[tuple[Template, str, list[Problem]]]:
    """Yield the result and the errors of each template; none is started after one that reached a limit."""
    if not templates:
        return
    given = [(template.name, template.text) for template in templates]
    asked = json.dumps({"templates": given, "data": data, "language": language, "limits": limits}, allow_nan=False)
    ended = run_limited("bomgen.output.template_sandbox", (), asked.encode(), limits)
    answers = _answers(ended, len(templates))
    for template, answer in zip(templates, answers, strict=False):
        text, faults = (answer, ()) if isinstance(answer, str) else ("", answer)
        yield template, text, _problems(template, faults)


def _answers(ended: ChildOutput, count: int) -> list[Any]:
    """Return a text or errors per template; if the child ended early, an error for the template it was working on."""
    try:
        answers = [json.loads(line) for line in ended.answer.split(b"\n")[:-1]]
    except ValueError:
        answers = []
    stopped = any(rule == LIMIT for answer in answers if isinstance(answer, list) for _, _, rule in answer)
    if len(answers) < count and not stopped:
        answers.append([(0, f"{ended.reason or 'its process ended early'}; see docs/templates.md", LIMIT)])
    return answers


def _problems(template: Template, faults: Sequence[tuple[int, str, str]]) -> list[Problem]:
    """Return the problems of a template, at its own line if known, else where it is named."""
    lines = LINE_END.split(template.text)
    problems = []
    for number, message, rule in faults:
        mark = template.mark
        if 1 <= number <= len(lines):
            line = lines[number - 1]
            mark = Mark(template.file, number, len(line) - len(line.lstrip()) + 1)
        else:
            message = f"{template.file}: {message}"
        problems.append(Problem(mark, "error", message, rule, PATH))
    return problems


def _wrong(mark: Mark, message: str, rule: str) -> PlanErrors:
    return error_at(mark, message, rule, PATH)


def _quoted(name: str) -> str:
    return f"'{name}'" if name.isprintable() else ascii(name)
