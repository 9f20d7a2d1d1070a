"""No error without a transcript: what the program can say of a plan, read from its source, is held against them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml
from package_source import PACKAGE, TREES
from transcripts import CASES

from bomgen.core.language import language

HOSTILE = Path(__file__).parents[1] / "hostile"
ELSEWHERE = (
    *("cli/", "output/xlsx/", "output/drawing/", "output/wiring/", "output/price_lists.py"),
    *("output/markdown_html.py", "output/writer.py", "output/formats/", "output/registry.py"),
    *("output/pdf.py", "output/terminal.py", "output/netbox_push.py"),
    *("workflow/starters.py", "core/provenance.py", "core/document.py", "results/result.py"),
    *("results/checks.py", "site/facility.py", "site/racks.py", "site/rack_loads.py", "pricing/costs.py"),
    *("cabling/types.py", "cabling/devices.py", "cabling/patch_panels.py", "cabling/wiring.py", "apply/"),
    *("reading/model_config.py", "serve/"),
)
"""Where no errors of plans are made: usage of the command, documents, warnings, checks of the program on itself,
configurations of checkpoints (tests/reading/test_model_config.py), answers of a NetBox
(tests/output/test_netbox_push.py), edits that conflict with their plan, with exit
code 4 (tests/apply/test_apply.py), and requests that the server of the page refuses (tests/serve)."""
SINKS = {"Problem", "Infeasible", "Unbuildable", "Fault", "problem", "refusal", "_at", "_problem", "_wrong"}
"""Calls that make an error of a message; the rule stands last, of a Problem fourth."""
RULE = re.compile("[a-z]+(-[a-z]+)*")
SAYS = re.compile("; | must |: at most |: name |: give |: write ")
"""The form of an error: what is wrong, then what would be right."""
LEAST_WORDS = 2
NOT_PROVOKED = {
    "the folder of parts cannot be read ({}); make it readable": "rights; tests/workflow/test_part_folders.py",
    "more than {} steps of work; split the folder": "20 files of much work; tests/workflow/test_part_folders.py",
    "{} is not in the catalogue{}; {}": "usage of the command; tests/workflow/test_catalog_listing.py",
    "'{}' is not a condition; write FIELD=VALUE": "usage of the command; tests/workflow/test_catalog_listing.py",
    "no part has a field '{}'; {}": "usage of the command; tests/workflow/test_catalog_listing.py",
    "the folder leads out of its folder tree": "a link; tests/workflow/test_part_folders.py",
    "a link that leads out of the folder tree; put": "a link; tests/workflow/test_part_folders.py",
    "not a regular file; put the part file itself here": "a pipe; tests/workflow/test_part_folders.py",
    "a plan from standard input cannot be extended": "a plan that is piped in; tests/workflow/test_search.py",
    "{} is outside the plan's folder tree": "a folder of the machine's; tests/workflow/test_search.py",
    "no list of work; write it": "a list of work; tests/output/test_netbox_push.py",
    "no bill is found in it; a row must name its columns": "a bill that was sent; tests/cli/test_xray_command.py",
    "more than {} lines; give the bill alone": "a bill of 5000 lines; tests/reading/test_bills.py",
    "reading the file takes more than {}; save its tables": "files made for it; tests/hostile/test_sent.py",
    "a page with more than {} lines": "a PDF made for it",
    "states {} texts but is too short": "files made for it; tests/hostile/test_sent.py",
    "more than {} bytes once it is unpacked": "a package that lies, and whose checksum is right",
    "more than {} sheets; save those with prices": "files made for it; tests/hostile/test_sent.py",
    "more than {} cells; at most so many are read": "files made for it; tests/hostile/test_sent.py",
    "to read a PDF, ": "a bill that was sent; tests/cli/test_xray_command.py",
    "more than {} pages; give the pages of the bill alone": "a PDF of 100 pages",
    "not a PDF that can be read ({}); save the bill": "a bill that was sent; tests/cli/test_xray_command.py",
    "the PDF has no text, as a scan has none": "a scan",
    "a character that YAML does not allow; remove it": "signs are judged before the parser sees them",
    "a text of {}; at most {} characters": "a transcript as long; tests/pricing/test_price_books.py",
    "{} bytes; a workbook of at most {} is read": "a file of megabytes; tests/pricing/test_price_books.py",
    "values from more than {} files": "twenty files; tests/workflow/test_base_plans.py",
    "'{}' is not an amount; a decimal": "behind the fault stands what to do about a lock",
    "{} racks on one floor; at most": "behind the fault stands what to do about a lock",
    "`bomgen check` reports when it is stale": "a comment of locks",
    "Different parts cannot share a cage; of the port counts close": "an assumption, which the report lists",
    "{} bytes; a table of at most {} is read": "a file of megabytes; tests/pricing/test_price_books.py",
    "more than {} values in a list; use a range": "a list as long; tests/workflow/test_search.py",
    "more than {} designs are Pareto-optimal": "a front as large",
    "is more than a search compares; check the prices": "amounts of 10^18",
    "a worker cannot read the plan's files": "a cluster; tests/workflow/test_search_cluster.py",
    "its version, its catalogue or the files that the plan names": "a cluster; tests/workflow/test_search_cluster.py",
    "dask is not installed; pip install distributed": "the tests of the extra have it",
    "'{}' asks for nothing": "usage of the command; tests/reading/test_price_lists.py",
    "decimal={} is neither": "usage of the command; tests/reading/test_price_lists.py",
    "dates={} is no order of dates": "usage of the command; tests/reading/test_price_lists.py",
    "scale={} is no number": "usage of the command; tests/reading/test_price_lists.py",
    "tax={} is no rate": "usage of the command; tests/reading/test_price_lists.py",
    "repeated={} is no rule": "usage of the command; tests/reading/test_price_lists.py",
    "header={} is no line": "usage of the command; tests/reading/test_price_lists.py",
    "the uplinks between the fabrics form a loop": "a search that has settled in every plan",
    "rounding {} servers up to whole leaves does not settle": "a search that has settled in every plan",
    "the memory of {} is unknown; nothing is too large": "an error of the program, not of a plan",
    "{} is a placeholder, counted once per {}": "a warning",
    "no part is known for the fibre of {} links": "a warning",
    "with these changes, {} is no longer selected": "a warning",
    "{} is a linear module ({}); {} must support it": "a warning",
    "no part is known for {} of {}; describe them": "a warning",
    "{} of {} cannot be ordered without a part number": "a warning",
    "the number of {} in {} is unknown": "a warning",
    "place fewer servers per rack, or add racks": "a warning",
    "{} no space for {}, which remain unplaced": "a warning",
    "{} has no effect, because {}": "a warning",
    "a replica holds {}, not {}": "a warning",
    "{} {}, but {} are required": "a warning",
    "{} {} unequal stages": "a warning",
    "the fullest GPU needs {} but has {}": "a warning, and the reason of a split",
    "{} also fits; its predicted step is {}, {} longer": "the reason of a split",
    "offloading moves {} per GPU to host memory": "a warning, and the reason of a split",
    "transferring the KV cache of the prompts needs {} of network": "a warning",
    "{} is a placeholder, counted once per link": "a warning",
    "there is no revision '{}' in this checkout; {}": "a git checkout; tests/cli/test_diff_command.py",
    "revision '{}' has a path that git does not check out": "a hand-made tree; tests/cli/test_diff_command.py",
    "'{}' is a folder at {}; name a file in it": "a git checkout; tests/cli/test_diff_command.py",
    "there is no file '{}' at {}; {}": "a git checkout; tests/cli/test_diff_command.py",
    "'{}' at {} is a link to nothing in the checkout": "a git checkout; tests/cli/test_diff_command.py",
    "git does not have '{}' at {}": "a broken git checkout; tests/cli/test_diff_command.py",
    "the totals are in {} and {}, so amounts": "a note of a comparison; tests/documents/test_diff.py",
    "lines without a price: {} of {old_lines} before": "a note of a comparison; tests/documents/test_diff.py",
    "{} than before; at most {} is allowed": "exit code 4, nothing wrong; tests/cli/test_diff_command.py",
    "the result has no number '{}'; {}": "wrong usage; tests/results/test_explain.py",
    "an unpaired surrogate, U+{}; remove it": "arguments that are not UTF-8; tests/workflow/test_library.py",
    "{} has changed; the pinned prices are used: {}": "a stale lock; tests/workflow/test_lock.py",
    "every worksheet is hidden": "a workbook; tests/pricing/test_price_books.py",
    "'{}' is twice in the workbook": "a workbook; tests/pricing/test_price_books.py",
    "several clusters; request the wiring of one of them": "a mistake of a program; tests/plan/test_clusters.py",
    "support at most {}; {} are required": "a reason of explain",
    "one switch has {} for {}; the plan sets more tiers": "a reason of explain",
    "{}; links of {} m": "a reason of explain",
    "{}; the fabric requires {} at {}": "a reason of explain",
    "{}; memory used on the fullest GPU: {}": "a reason of explain",
    "{}; it holds {}": "a reason of explain",
    "{}; with `recompute: {}`": "a reason of explain",
    "no table in the PDF has lines around its cells": "a bill that was sent; tests/cli/test_xray_command.py",
    "the program that reads the file failed": "a reader that fails; tests/reading/test_apart.py",
    "support {}; {} are required": "a reason of explain",
    "{} has {}; no NIC is purchased": "a reason of explain",
    "the plan sets fewer; height and power would allow it": "a reason of explain",
    "sequence parallelism is on; combined with tensor parallelism": "a warning",
    "bytes of outputs; verify one fabric at a time": "outputs of devices; tests/verify/test_outputs.py",
    "ports of outputs; verify one fabric at a time": "outputs of devices; tests/verify/test_outputs.py",
    "no form of output is recognised; give that of {}": "outputs of devices; tests/verify/test_outputs.py",
    "not valid JSON; save the output of the command again": "outputs of devices; tests/verify/test_outputs.py",
    "an older bom.json does not record its exchange rates": "a note of a comparison; tests/documents/test_diff.py",
}
"""Errors without a transcript, and why."""
RULES_NOT_PROVOKED = {
    "as-built": "outputs of devices; tests/verify/test_outputs.py",
    "as-built-limit": "outputs of devices; tests/verify/test_outputs.py",
    "the folder of parts cannot be read ({}); make it readable": "rights; tests/workflow/test_part_folders.py",
    "the folder leads out of its folder tree": "a link; tests/workflow/test_part_folders.py",
    "not a regular file; put the part file itself here": "a pipe; tests/workflow/test_part_folders.py",
    "rounding": "a search that has settled in every plan",
    "no-bill": "a bill that was sent; tests/cli/test_xray_command.py",
    "not-explained": "a bill that was sent; tests/cli/test_xray_command.py",
    "pdf": "a bill that was sent; tests/cli/test_xray_command.py",
    "read-limit": "files made for it; tests/hostile/test_sent.py",
    "read-failure": "a reader that fails; tests/reading/test_apart.py",
}


class Message(NamedTuple):
    """A message in the source: where, and its texts between the places that are filled in."""

    place: str
    texts: tuple[str, ...]

    def __str__(self) -> str:
        return "{}".join(self.texts)


@cache
def transcripts() -> list[str]:
    """The errors of all transcripts, those of hostile plans among them, a line each."""
    hostile = (path.read_text(encoding="utf-8") for path in (*HOSTILE.glob("*.txt"), HOSTILE / "made.said"))
    found = (*(case["says"] for case in CASES.values()), *hostile)
    return [line for text in found for line in text.splitlines() if ": error: " in line]


def texts_of(node: ast.AST) -> tuple[str, ...] | None:
    """The texts of a literal, or of a message by its code, between its places; None for what is no text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return tuple(re.split(r"\{[a-z_]*\}", node.value))
    if isinstance(node, ast.JoinedStr):
        texts = [""]
        for piece in node.values:
            if isinstance(piece, ast.Constant):
                texts[-1] += str(piece.value)
            else:
                texts.append("")
        return tuple(texts)
    if isinstance(node, ast.Call) and called(node) == "message" and isinstance(node.args[0], ast.Constant):
        return tuple(re.split(r"\{[a-z]+(?::[^{}]*)?\}", language("en").messages[str(node.args[0].value)]))
    return None


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def is_warning(node: ast.AST) -> bool:
    """Whether a call says that it makes a warning."""
    if not isinstance(node, ast.Call):
        return False
    return called(node) == "_warning" or any(getattr(each, "value", "") == "warning" for each in node.args)


def functions(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    """Functions and methods, formulas left out: what these cite is no message."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            decorators = (each for each in node.decorator_list if isinstance(each, ast.Call))
            if "formula" not in map(called, decorators):
                yield node


def literals(node: ast.AST) -> Iterator[ast.AST]:
    """The texts in a piece of source, without those of warnings, errors of the program itself, and calculations."""
    if is_warning(node) or (isinstance(node, ast.Call) and called(node) in ("AssertionError", "TypeError", "step")):
        return
    if texts_of(node) is not None:
        yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(node, ast.JoinedStr) and isinstance(child, ast.Constant)):
            yield from literals(child)


def names_in(nodes: Iterator[ast.AST]) -> set[str]:
    """The variables that pieces of source use."""
    return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}


def messages(path: Path) -> Iterator[Message]:
    """The messages of a module that have the form of an error, without those that only warnings use."""
    for function in functions(TREES[path]):
        warned = names_in(node for node in ast.walk(function) if is_warning(node))
        body = function.body[1:] if ast.get_docstring(function) else function.body
        for statement in (node for part in body for node in ast.walk(part) if isinstance(node, ast.stmt)):
            assigned = names_in(iter(statement.targets)) if isinstance(statement, ast.Assign) else set[str]()
            if assigned & warned:
                continue
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue
            own = (child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt))
            for node in (found for child in own for found in literals(child)):
                texts = texts_of(node) or ()
                words = sum(len(re.findall("[a-z]{2,}", text)) for text in texts)
                if SAYS.search("{}".join(texts)) and words >= LEAST_WORDS:
                    yield Message(f"{path.relative_to(PACKAGE)}:{node.lineno}", texts)


def modules() -> list[Path]:
    """The modules that judge what a user wrote."""
    return [path for path in TREES if not path.relative_to(PACKAGE).as_posix().startswith(ELSEWHERE)]


def test_what_is_left_out_is_there() -> None:
    """Each folder or module that no error is looked for in exists."""
    assert [name for name in ELSEWHERE if not (PACKAGE / name).exists()] == []


def is_shown(message: Message) -> bool:
    """Whether a transcript shows a message."""
    pattern = re.compile(".*?".join(map(re.escape, message.texts)))
    longest = max(message.texts, key=len)
    return any(pattern.search(line) for line in transcripts() if longest in line)


def test_every_message_is_in_a_transcript() -> None:
    """Each message that may be an error is shown, but for those of the table, which are not shown."""
    declared = [message for path in modules() for message in dict.fromkeys(messages(path))]
    missing = [message for message in declared if not is_shown(message)]
    assert len(declared) > 200
    assert [f"{each.place} {each}" for each in missing if not any(known in str(each) for known in NOT_PROVOKED)] == []
    assert [known for known in NOT_PROVOKED if not any(known in str(each) for each in missing)] == []


def rules() -> Iterator[tuple[str, str]]:
    """The rules that errors are made with, as far as they stand in the call, with their places."""
    for path in modules():
        for node in ast.walk(TREES[path]):
            if not isinstance(node, ast.Call) or called(node) not in SINKS or is_warning(node):
                continue
            named = [word.value for word in node.keywords if word.arg == "rule"]
            given = node.args[3:4] if called(node) == "Problem" else named or node.args[1:]
            words = [each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            for rule in [word for word in words if RULE.fullmatch(word) and word != "error"][-1:]:
                yield rule, f"{path.relative_to(PACKAGE)}:{node.lineno}"
    for path in (PACKAGE / "data" / "connection").glob("*.yaml"):
        code = yaml.safe_load(path.read_text(encoding="utf-8")).get("code")
        if code:
            yield code, path.name


def test_every_rule_is_in_a_transcript() -> None:
    """Each rule in brackets behind an error is shown by a transcript, but for those of the table, which are not."""
    shown = {line.rpartition("[")[2].rstrip("]") for line in transcripts() if line.endswith("]")}
    places = [(rule, place) for rule, place in rules() if (rule in shown) == (rule in RULES_NOT_PROVOKED)]
    assert places == []
