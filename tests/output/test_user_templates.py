"""Templates of the user's own: what they are filled in with, what they may not do, and how their faults are told."""

# ruff: noqa: SIM300

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bomgen.cli.command import main
from bomgen.core import jobs
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.jobs import Limits
from bomgen.core.provenance import Mark
from bomgen.output import user_templates as templates
from bomgen.output.template_sandbox import RESULT_BYTES, render, writer
from bomgen.output.user_templates import LIMITS, filled
from bomgen.results.result import Template, template_data
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import open_plan

ROOT = Path(__file__).parents[2]
DOCS = (ROOT / "docs" / "templates.md").read_text("utf-8")
DATA = {
    "bom": {
        "lines": [
            {"id": "a", "category": "switch", "quantity": 32, "amount": "1234.50", "vendor": "V"},
            {"id": "b", "category": "cable", "quantity": 1024, "amount": None, "vendor": "W"},
        ],
        "totals": {"amount": "1234567.5", "currency": "EUR"},
    },
    "plan": {"name": "p", "title": "A <b> title", "date": "2026-11-20", "customer": None},
}
QUICK = LIMITS._replace(cpu_seconds=1)
PLAN = "bomgen: 1\nname: small\ncluster: {gpu: h100-sxm, servers: 16}\nfabrics: {compute: {switch: qm9700}}\n"

Run = Callable[..., Result]


def given(text: str, name: str = "x.txt", language: str = "en") -> str:
    """What a template gives in this process; its faults are raised as text."""
    answer = render(text, name, writer(language, "EUR"), DATA, LIMITS)
    if not isinstance(answer, str):
        raise ValueError("\n".join(f"{fault.line}: {fault.message} [{fault.rule}]" for fault in answer))
    return answer


def refused(text: str, limits: Limits = QUICK) -> str:
    """What is said of a template that fails in a process of its own."""
    template = Template("x.txt", "x.txt.j2", text, Mark("plan.yaml", 5, 3))
    with pytest.raises(PlanErrors) as caught:
        filled([template], DATA, "en", limits)
    return str(caught.value)


def start_of_child() -> float:
    """The processor time that the process of the templates takes to start, on this machine at the moment."""
    begun = os.times().children_user
    filled([Template("t", "t.j2", "done", Mark("plan.yaml", 5, 3))], DATA, "en", LIMITS)
    return os.times().children_user - begun


def test_templates_share_their_time() -> None:
    """What one took is not there for the next; after one that reached a limit no other is begun."""
    lasting = "{% for a in range(100000) %}{{ a }}{% endfor %}"  # 0.1 to 0.5 s
    texts = ["done", *[lasting] * 50]
    templates = [Template(f"t{n}", f"t{n}.j2", text, Mark("p", 5, 3)) for n, text in enumerate(texts)]
    begun = os.times().children_user
    with pytest.raises(PlanErrors) as caught:
        filled(templates, DATA, "en", QUICK)
    [problem] = caught.value.problems
    assert ("template-limit", True) == (problem.rule, problem.mark.file != "t0.j2")
    assert "not finished after 1 s of processor time; see docs/templates.md" in str(problem)
    assert os.times().children_user - begun < 2 * QUICK.cpu_seconds + start_of_child()


def test_no_template_is_begun_after_a_limit() -> None:
    """Of three the second has no end: the third is not begun."""
    endless = "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}"
    texts = {"quick": "done", "endless": endless, "never": endless}
    templates = [Template(name, f"{name}.j2", text, Mark("plan.yaml", 5, 3)) for name, text in texts.items()]
    begun = os.times().children_user
    with pytest.raises(PlanErrors) as caught:
        filled(templates, DATA, "en", QUICK)
    [problem] = caught.value.problems
    assert ("endless.j2", "template-limit") == (problem.mark.file, problem.rule)
    assert "not finished after 1 s of processor time; see docs/templates.md" in str(problem)
    assert os.times().children_user - begun < 2 * QUICK.cpu_seconds + start_of_child()


@pytest.mark.long
def test_what_starts_the_templates_is_not_their_time() -> None:
    """Twenty templates that together take half of their time are filled in, wherever the start of Python is slow."""
    text = "{% for a in range(20000) %}{{ a }}{% endfor %}"
    templates = [Template(f"t{n}", f"t{n}.j2", text, Mark("p", 1, 1)) for n in range(20)]
    begun = os.times().children_user
    assert {"".join(map(str, range(20000))).encode()} == set(filled(templates, DATA, "en", LIMITS).values())
    assert os.times().children_user - begun < LIMITS.cpu_seconds


def test_what_a_template_held_is_there_for_the_next() -> None:
    """Memory is a limit of each: five that hold half of it, one after the other, are filled in."""
    text = "{% macro m() %}{{ x | length }}{% endmacro %}{% set x = 'a' * 2 ** 28 %}{{ x | length }}"
    templates = [Template(f"t{n}", f"t{n}.j2", text, Mark("p", 1, 1)) for n in range(5)]
    assert {f"t{n}": b"268435456" for n in range(5)} == filled(templates, DATA, "en", LIMITS)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in a folder with the plan p.yaml, without a traceback."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.yaml").write_text(PLAN, encoding="utf-8")

    def command(*arguments: str) -> Result:
        outcome = CliRunner().invoke(main, arguments)
        assert outcome.exception is None or isinstance(outcome.exception, SystemExit), repr(outcome.exception)
        return outcome

    return command


# what a template gives ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ bom.totals.amount | money }}", "1,234,567.50 EUR"),
        ("{{ '99.5' | money('JPY') }}", "100 JPY"),
        ("{{ bom.lines[1].amount | money }}|{{ bom.lines[1].amount }}|", "–||"),
        ("{{ 16384 | number }} {{ 2048 | number }} {{ '0.25' | number }}", "16,384 2,048 0.25"),
        ("{{ 1772160 | number('W') }} {{ 80000000000 | number('bytes') }}", "1,772 kW 80 GB"),
        ("{{ '0.15' | share }} {{ 0.5 | share }}", "15 % 50 %"),
        ("{{ plan.date | date }}", "20 November 2026"),
        ("{{ 'switch' | category }} {{ 'mine' | category }}", "Switches mine"),
        ("{{ 'a,b' | csv }} {{ 'say \"x\"' | csv }} {{ '=1' | csv }} {{ none | csv }}.", '"a,b" "say ""x""" \'=1 .'),
        (
            "{% for k, all in bom.lines | groupby('category') %}{{ k }} {{ all | length }};{% endfor %}",
            "cable 1;switch 1;",
        ),
        ("{% if x is defined %}a{% else %}b{% endif %}\n", "b"),
        ("a\n{% if true %}\nb\n{% endif %}\nc\n", "a\nb\nc\n"),
        ("{{ [cycler, joiner] }}", "[<class 'jinja2.utils.Cycler'>, <class 'jinja2.utils.Joiner'>]"),
        ("{% macro twice(x) %}{{ x }}{{ x }}{% endmacro %}{{ twice('a') }}", "aa"),
    ],
)
def test_filters_write_as_the_quote_does(text: str, expected: str) -> None:
    """Money in its minor unit, numbers grouped, shares in per cent, null as nothing or a dash; Jinja's own too."""
    assert expected == given(text)


def test_the_language_is_that_of_the_quote() -> None:
    """Dates and categories of a Chinese quote are Chinese."""
    assert "2026年11月20日 交换机" == given("{{ plan.date | date }} {{ 'switch' | category }}", language="zh")


@pytest.mark.parametrize(
    ("name", "expected"), [("x.txt", "A <b> title"), ("x.html", "A &lt;b&gt; title"), ("X.SVG", "A &lt;b&gt; title")]
)
def test_markup_is_escaped_in_markup(name: str, expected: str) -> None:
    """The name of the result says whether what is printed is escaped."""
    assert expected == given("{{ plan.title }}", name)


FILTERS = (
    *("'a'|pprint", "'a b c'|wordwrap(3)", "'a b'|urlencode", "[1]|tojson", "5000|filesizeformat", "'<b>x'|striptags"),
    *("'www.x.org'|urlize", "{'a': 1}|xmlattr", "'x'|title", "3.7|round|int", "[3, 1]|sort|join", "'x'|forceescape"),
    *(
        "[1, 2]|batch(2)|list",
        "{'b': 1}|dictsort",
        "'a b'|wordcount",
        "[1, 1]|unique|list",
        "'x'|indent",
        "'1.5'|float",
    ),
    *(
        "[1]|slice(2)|list",
        "'é'|upper",
        "'abcd'|truncate(3)",
        "'%.3f'|format(1.5)",
        "(1, 2)|sum",
        "[1, 2]|map('string')",
    ),
    *(
        "[1, 2]|select('odd')|list",
        "'a'|center(9)",
        "'x'|default(1)",
        "[1]|first",
        "'x'|escape",
        "'a'|replace('a', '\\ud7ff')",
    ),
)


def test_all_that_filters_need_is_loaded_before_nothing_can_be() -> None:
    """Jinja's filters work in the process that has given up loading modules."""
    text = "".join(f"{{{{ ({each}) is defined }}}}" for each in FILTERS)
    assert b"True" * len(FILTERS) == filled([Template("x", "x.j2", text, Mark("p", 1, 1))], DATA, "en")["x"]


# what a template may not do -----------------------------------------------------------------------------------------


ATTACKS = (
    "{{ ''.__class__.__mro__ }}",
    "{{ ''['__class__'] }}",
    "{{ ()|attr('__class__') }}",
    "{{ [()]|map(attribute='__class__')|join }}",
    "{{ '{0.__class__}'.format(1) }}",
    "{{ '{0.__class__}'.format_map({'0': 1}) }}",
    "{{ cycler.__init__.__globals__ }}",
    "{{ joiner.__init__.__globals__.os }}",
    "{{ namespace.__init__ }}",
    "{{ self.__init__ }}",
    "{{ self._TemplateReference__context }}",
    "{{ bom.lines.append(1) }}",
    "{{ bom.update({}) }}",
    "{{ bom.pop('lines') }}",
    "{% macro a() %}{% endmacro %}{{ a.__globals__ }}{{ a._environment }}",
    "{{ (lambda: 1)() }}",
    "{{ lipsum.__globals__ }}",
    "{{ [1]|random }}",
    "{{ open('/etc/passwd') }}",
    "{{ url_for.__globals__ }}",
    "{% include '/etc/passwd' %}",
    "{% extends '/etc/passwd' %}",
    "{% import '/etc/passwd' as x %}",
    "{% from '/etc/passwd' import x %}",
    "{% if false %}{% include 'x' ignore missing %}{% endif %}",
    "{{ range(10 ** 9) | list }}",
    "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}",
    "{{ " + "(" * 100_000,
    "{{ " + "+".join("1" * 20_000) + " }}",
    "{{ " + "1" * 5000 + " }}",
)


@pytest.mark.parametrize("text", ATTACKS)
def test_the_sandbox_has_no_way_out(text: str) -> None:
    """Attributes of Python, files, changes of the data and bottomless recursion are errors that name a way out."""
    with pytest.raises(ValueError, match=r"^\d+: .+; .+ \[template(-syntax|-limit)?\]") as caught:
        given(text)
    assert "root:" not in str(caught.value)


def test_no_way_out_in_the_process_either() -> None:
    """Where nothing can be loaded, each is the same fault of its template."""
    left = [Template(f"t{n}", f"t{n}.j2", text, Mark(f"t{n}", 1, 1)) for n, text in enumerate(ATTACKS)]
    while left:
        with pytest.raises(PlanErrors) as caught:
            filled(left, DATA, "en")
        assert not any("its process" in problem.message for problem in caught.value.problems)
        faulty = {problem.mark.file.removesuffix(".j2") for problem in caught.value.problems}
        assert faulty == {template.name for template in left[: len(faulty)]}
        left = left[len(faulty) :]


@pytest.mark.parametrize(
    "text",
    [
        "{{ 'x' * 10 ** 10 }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '{:1000000000}'.format(1) }}",
        "{{ 'x' | center(10 ** 9) }}",
        "{% set n = namespace(x=['a' * 1000]) %}{% for i in range(99) %}{% set n.x = n.x + n.x %}{% endfor %}",
    ],
)
def test_memory_has_an_end(text: str) -> None:
    """What needs more memory than there is ends at its line."""
    expected = (
        f"x.txt.j2:2:1: error: not finished with {LIMITS.memory_bytes >> 20} MiB of memory; see docs/templates.md"
    )
    assert f"{expected} [template-limit]" == refused(f"\n{text}", LIMITS)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", marks=pytest.mark.deep
        ),
        "{{ 10 ** (10 ** 10) }}",
        "{{ range(99999) | map('string') | join | urlize | wordwrap(1) | urlize | length }}{{ 7 ** (7 ** 11) }}",
    ],
)
def test_processor_time_has_an_end(text: str) -> None:
    """Loops and single operations that take too long are ended."""
    assert re.search(
        r":(2:1|5:3): error: .*not finished after 1 s of processor time; .* \[template-limit\]$", refused(f"\n{text}")
    )


def test_the_clock_has_an_end() -> None:
    """A process that does not answer in time is ended, however little it works."""
    text = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    said = refused(text, LIMITS._replace(wall_seconds=1))
    assert "plan.yaml:5:3: error: x.txt.j2: not finished after 1 s; see docs/templates.md [template-limit]" == said


def test_a_result_of_a_gigabyte_is_not_waited_for() -> None:
    """The result has a longest length, and what goes beyond it is at its line."""
    said = refused("\n {% for i in range(1000) %}{{ 'x' * 10 ** 6 }}{% endfor %}")
    assert (
        "x.txt.j2:2:2: error: the result is longer than 16777216 bytes; see docs/templates.md [template-limit]" == said
    )
    assert b"x" * 10**6 == filled([Template("x", "x", "{{ 'x' * 10 ** 6 }}", Mark("p", 1, 1))], DATA, "en")["x"]


ESCAPED = """
import os, sys
import socket, subprocess
from bomgen.core.jobs import within_limits
from bomgen.output.user_templates import LIMITS
def held(attempt):
    try:
        return bool(attempt()) and False
    except (OSError, MemoryError):
        return True
attempts = (
    lambda: open("/etc/passwd"), lambda: open("here", "w"), lambda: os.open("/etc/passwd", 0), lambda: os.pipe(),
    lambda: os.listdir("/"), lambda: os.remove("here"), lambda: os.system("true"), lambda: os.fork(), lambda: os.dup(0),
    lambda: socket.socket(), lambda: subprocess.Popen(["true"]), lambda: __import__("ctypes"),
    lambda: bytearray(1 << 30), lambda: os.kill(os.getppid(), 0), lambda: os.mkdir("here"),
)
with within_limits(LIMITS, sealed=True):
    sys.stdout.write("".join(str(int(held(each))) for each in attempts))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems know fewer limits")
def test_whoever_gets_out_of_the_sandbox_has_nothing(tmp_path: Path) -> None:
    """Python code in the process can open, write, remove, start, connect, load and take nothing."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", ESCAPED], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ("1" * 15, "") == (done.stdout, done.stderr)
    assert [] == [*tmp_path.iterdir()]


def test_the_process_knows_nothing_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts in an empty folder, all that its environment names, and runs no start-up code of the user."""
    monkeypatch.setenv("SECRET", "1")
    monkeypatch.setattr(
        jobs,
        "PROGRAM",
        "import json, os, sys; "
        "own = os.path.samefile(os.environ['TMPDIR'], '.'); "
        "names = sorted(set(os.environ) - set(['LC_CTYPE'])); "
        "print(json.dumps(str((names, own, os.listdir('.'), sys.flags.isolated))))",
    )
    kept = sorted({name for name in jobs.NEEDED_VARIABLES if name in os.environ} | {"TMPDIR"})
    assert {"a": f"({kept}, True, [], 1)".encode()} == filled([Template("a", "a.j2", "", Mark("p", 1, 1))], DATA, "en")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import sys; sys.stdout.write('x' * 10 ** 6)", "wrote more than 1000 bytes; "),
        ("import os; os.abort()", "its process ended with SIGABRT, beyond 4 s or 512 MiB; "),
        ("import os, signal; os.kill(os.getpid(), signal.SIGXCPU)", "not finished after 4 s of processor time; "),
        ("raise SystemExit(10)", "not finished with 512 MiB of memory; "),
        ("raise SystemExit(11)", "not finished after 4 s of processor time; "),
        ("raise SystemExit(7)", "its process ended with exit code 7; "),
        ("print('half')", "its process ended early; "),
        ("print('[', end='')", "its process ended early; "),
    ],
)
def test_the_parent_relies_on_nothing(program: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the process does, its end is a fault of the template that it was at."""
    monkeypatch.setattr(jobs, "PROGRAM", program)
    assert f"plan.yaml:5:3: error: x.txt.j2: {said}see docs/templates.md [template-limit]" == refused(
        "", LIMITS._replace(output_bytes=1000)
    )


# what is said of faults ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\n{{ bmo }}", "2: there is no 'bmo'; did you mean 'bom'? [template]"),
        ("{{ xyz }}", "1: there is no 'xyz'; there are bom, plan [template]"),
        ("{{ plan.titel }}", "1: there is no 'titel'; did you mean 'title'? [template]"),
        ("{{ bom.totals.amont | money }}", "1: there is no 'amont'; did you mean 'amount'? [template]"),
        ("{{ plan.titel | csv }}{{ plan.titel | date }}", "1: there is no 'titel'; did you mean 'title'? [template]"),
        ("{{ bom.lines[9] }}", "1: list object has no element 9; "),
        ("{{ plan.customer.name }}", "1: 'None' has no attribute 'name'; "),
        ("{{ x | mony }}", "1: no filter 'mony'; did you mean 'money'? [template-syntax]"),
        ("{% if x is evn %}{% endif %}", "1: no test 'evn'; did you mean 'even'? [template-syntax]"),
        ("a\n\n{% if x %}", "3: not a valid template: Unexpected end of template."),
        ("{{ 1", "1: not a valid template: "),
        ("{{ 'x' | money }}", "1: 'x' is not a number; use a number, or text such as '12.50' [template]"),
        ("{{ true | number }}", "1: True is not a number; "),
        ("{{ 'x' | date }}", "1: 'x' is not a date; write it as 2026-11-20 [template]"),
        ("{{ 1 / 0 }}", "1: division by zero; "),
        ("{{ bom.items }}", "1: this builtin_function_or_method cannot be printed; "),
        ("{{ cycler('a') }}", "1: this Cycler cannot be printed; "),
        ("{{ [joiner()] }}", "1: this list cannot be printed; "),
        ("{{ [1] | map('string') }}", "1: this generator cannot be printed; "),
        ("{{ joiner() | money }}", "1: <jinja2.utils.Joiner object ... is not a number; "),
        ("{{ range.a.b }}", "1: 'function object' has no attribute 'a'; "),
        ("{{ range + 1 }}", "1: unsupported operand type(s) for +: 'function' and 'int'; "),
        ("{{ [1] | map('string') | length }}", "1: object of type 'generator' has no len(); "),
        (r"{{ '\ud800' }}", r"1: '\ud800' is not valid UTF-8; "),
        (
            "{% set x = '\\u202e' * 2000 %}{{ x | number }}",
            "... is not a number; use a number, or text such as '12.50'",
        ),
    ],
)
def test_faults_have_a_line_and_a_remedy(text: str, said: str) -> None:
    """What is wrong is said with the template's own line, and what would be right."""
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        given(text)
    assert "; " in str(caught.value)
    assert len(str(caught.value)) < 500


def test_faults_of_all_templates_are_shown(tmp_path: Path, run: Run) -> None:
    """`check` finds what is wrong without data in every template, at its column; the build says the rest."""
    (tmp_path / "a.txt.j2").write_text("ok\n   {{ x | mony }}\n{% include 'b' %}", encoding="utf-8")
    (tmp_path / "b.txt.j2").write_text("{% for %}", encoding="utf-8")
    (tmp_path / "c.txt.j2").write_text("{{ late }}", encoding="utf-8")
    setting = ("--set", "templates=[a.txt.j2, b.txt.j2, c.txt.j2]")
    said = run("check", "p.yaml", *setting).stderr.splitlines()
    places = [line.split(" error: ")[0] for line in said if " error: " in line]
    assert ["a.txt.j2:2:4:", "a.txt.j2:3:1:", "b.txt.j2:1:1:"] == places
    outcome = run("build", "p.yaml", *setting)
    assert (1, [*places, "c.txt.j2:1:1:"]) == (
        outcome.exit_code,
        [line.split(" error: ")[0] for line in outcome.stderr.splitlines() if " error: " in line],
    )
    assert not (tmp_path / "dist").exists()


# the command and the plan -------------------------------------------------------------------------------------------


def test_the_command_line_and_the_plan_name_templates(tmp_path: Path, run: Run) -> None:
    """All are written beside the formats asked for, and are inputs of the result; runs are equal to the byte."""
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "one.txt.j2").write_text("{{ plan.name }} {{ bom.lines | length }}\n", encoding="utf-8")
    (tmp_path / "below" / "单子.html.j2").write_text(
        "{{ bom.plan.inputs | map(attribute='name') | join(' ') }}{{ bom.lines | map(attribute='sku') | join }}",
        encoding="utf-8",
    )
    arguments = ("build", "below/p.yaml", "-f", "json", "--template", str(tmp_path / "below" / "单子.html.j2"))
    (tmp_path / "below" / "p.yaml").write_text(f"{PLAN}templates: one.txt.j2\n", encoding="utf-8")
    outcomes = [run(*arguments, "-o", folder) for folder in ("first", "second")]
    assert [0, 0] == [outcome.exit_code for outcome in outcomes]
    results = [
        {path.name: path.read_bytes() for path in (tmp_path / each / "small").iterdir()} for each in ("first", "second")
    ]
    assert {"bom.json", "one.txt", "单子.html"} == results[0].keys()
    assert results[0] == results[1]
    bom = json.loads(results[0]["bom.json"])
    assert ["one.txt.j2", "--template 单子.html.j2"] == [each["name"] for each in bom["plan"]["inputs"]]
    assert f"small {len(bom['lines'])}\n".encode() == results[0]["one.txt"]
    assert results[0]["单子.html"].decode().startswith("one.txt.j2 --template 单子.html.j2")
    assert "  first/small/one.txt\n" in outcomes[0].stdout


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["missing.txt.j2"], "<template>:1:1: error: the template 'missing.txt.j2' cannot be read (No such file"),
        (["a.txt.j2", "sub/A.TXT.j2"], "<template>:2:1: error: a.txt.j2 and sub/A.TXT.j2 both write A.TXT; "),
        (["sub"], "<template>:1:1: error: 'sub' does not end in .j2; "),
        (["sub/.j2"], "<template>:1:1: error: '' is not a valid file name; "),
        (["sub/a..j2"], "<template>:1:1: error: 'a.' is not a valid file name; "),
        (["sub/a\nb.j2"], "<template>:1:1: error: 'a\\nb' is not a valid file name; "),
        (["sub/folder.txt.j2"], "<template>:1:1: error: 'sub/folder.txt.j2' is not a file; "),
        (["sub/pipe.txt.j2"], "<template>:1:1: error: 'sub/pipe.txt.j2' is not a file; "),
        (["sub/Quote.HTML.j2"], "<template>:1:1: error: bomgen writes Quote.HTML itself; "),
        (["sub/fabric-x.svg.j2"], "<template>:1:1: error: bomgen writes fabric-x.svg itself; "),
        (["sub/latin.txt.j2"], "sub/latin.txt.j2:2:4: error: not UTF-8: byte 0xe9; "),
        (["sub/long.txt.j2"], "<template>:1:1: error: 'sub/long.txt.j2' is too long; "),
    ],
)
def test_templates_that_cannot_be_taken(given: list[str], said: str, tmp_path: Path, run: Run) -> None:
    """What has no name for its result, is no text or writes over another result is refused, and nothing is written."""
    (tmp_path / "a.txt.j2").write_text("a", encoding="utf-8")
    (tmp_path / "sub" / "folder.txt.j2").mkdir(parents=True)
    os.mkfifo(tmp_path / "sub" / "pipe.txt.j2")
    for name in ("A.TXT.j2", "Quote.HTML.j2", "fabric-x.svg.j2", "a..j2", ".j2", "a\nb.j2"):
        (tmp_path / "sub" / name).write_text("a", encoding="utf-8")
    (tmp_path / "sub" / "latin.txt.j2").write_bytes(b"a\ncaf\xe9")
    (tmp_path / "sub" / "long.txt.j2").write_bytes(b"a" * ((1 << 20) + 1))
    outcome = run("build", "p.yaml", "-f", "json", *(word for each in given for word in ("--template", each)))
    assert (1, True) == (outcome.exit_code, outcome.stderr.startswith(said)), outcome.stderr
    assert not (tmp_path / "dist").exists()


def test_links_out_of_the_root_are_refused(tmp_path: Path, run: Run) -> None:
    """A link below the root that leads out of it is no template of the plan; one that stays inside is, by its name."""
    (tmp_path / "out.txt.j2").write_text("secret", encoding="utf-8")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "real.txt.j2").write_text("inside", encoding="utf-8")
    (tmp_path / "in" / "link.txt.j2").symlink_to(tmp_path / "out.txt.j2")
    (tmp_path / "in" / "fine.txt.j2").symlink_to("real.txt.j2")
    (tmp_path / "in" / "p.yaml").write_text(f"{PLAN}templates: link.txt.j2\n", encoding="utf-8")
    outcome = run("build", "in/p.yaml", "-f", "json")
    assert (1, True) == (outcome.exit_code, "in/p.yaml:5:12: error: 'link.txt.j2' leads out" in outcome.stderr)
    assert not (tmp_path / "dist").exists()
    assert 0 == run("build", "in/p.yaml", "-f", "json", "--set", "templates=fine.txt.j2").exit_code
    assert "inside" == (tmp_path / "dist" / "small" / "fine.txt").read_text("utf-8")


def test_no_process_without_templates(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is started for a plan that names no template."""
    monkeypatch.setattr(templates, "run_limited", lambda *_: pytest.fail("a process was started"))
    assert (0, 0) == (run("check", "p.yaml").exit_code, run("build", "p.yaml", "-f", "json").exit_code)


# the page -----------------------------------------------------------------------------------------------------------


def test_the_page_states_the_limits() -> None:
    """docs/templates.md has the limits that are set."""
    rows = dict(re.findall(r"^\| ([a-z -]+) \| ([0-9]+ (?:s|MiB)) \|$", DOCS, re.MULTILINE))
    cpu, wall, memory, output, written = LIMITS
    assert written == 0  # the process writes no file
    together = {
        "processor time of all templates of a plan together": f"{cpu} s",
        "wall-clock time of all templates together": f"{wall} s",
        "results of all together": f"{output >> 20} MiB",
    }
    each = {"memory": f"{memory >> 20} MiB", "result": f"{RESULT_BYTES >> 20} MiB", "text": "1 MiB"}
    assert together | {f"{name} of each": limit for name, limit in each.items()} == rows


def test_the_page_names_all_that_is_there() -> None:
    """Every key of `plan`, every part of `bom` that is always there and every filter stands in docs/templates.md."""
    data = template_data(work_out(open_plan(str(ROOT / "plans" / "llama65b-linkx.yaml"), None)))
    assert {"bom", "plan"} == data.keys()
    parts = set(data["bom"]) - {"bomgen", "version", "plan", "alternatives"}
    names = {f"plan.{key}" for key in data["plan"]} | {f"bom.{key}" for key in parts} | {*writer("en", "USD")}
    assert [] == sorted(name for name in names if f"`{name}`" not in DOCS)
