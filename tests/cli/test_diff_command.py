"""`bomgen diff` as a user and a script see it: plans, results and git revisions, exit codes, problems."""

# ruff: noqa: SIM300

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result

from bomgen.cli import command as cli
from bomgen.core.language import language

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "schemas" / "diff.schema.json").read_text("utf-8"))
PLAN = """bomgen: 1
name: small
catalog: [parts]
cluster:
  gpu: h100-sxm
  servers: 16
fabrics:
  compute: {switch: my-switch}
quote: {price_book: ../prices.yaml, currency: USD}
"""
SWITCH = "name: My switch\nports: 64\nport_gbps: 400\n"
PRICES = "bomgen_prices: 1\nprices:\n- {part: my-switch, price: PRICE, currency: USD}\n"

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in an empty folder; whatever happens, it happens without a traceback."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))

    def command(*arguments: str, stdin: str | bytes | None = None) -> Result:
        outcome = CliRunner().invoke(cli.main, ["diff", *arguments], input=stdin)
        assert outcome.exception is None or isinstance(outcome.exception, SystemExit), repr(outcome.exception)
        assert "Traceback" not in outcome.output
        return outcome

    return command


def git(*arguments: str) -> str:
    """What git says in the current folder; nothing of the user's own settings counts."""
    who = {f"GIT_{role}_{what}": "test@example.com" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *arguments], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def write(path: str, text: str) -> None:
    """A file, and the folders above it."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text, "utf-8")


@pytest.fixture
def checkout(run: Run) -> Run:
    """The command in a git checkout whose first commit is called `old` and whose files have all changed since."""
    git("init", "-q", "-b", "main")
    write("plans/x.yaml", PLAN)
    write("plans/parts/switch/my-switch.yaml", SWITCH)
    write("prices.yaml", PRICES.replace("PRICE", "100"))
    git("add", ".")
    git("commit", "-qm", "one")
    git("tag", "old")
    git("branch", "topic/a")
    write("plans/x.yaml", PLAN.replace("16", "32"))
    write("plans/parts/switch/my-switch.yaml", SWITCH.replace("My switch", "Our switch"))
    write("prices.yaml", PRICES.replace("PRICE", "110"))
    return run


def data_of(outcome: Result) -> dict[str, Any]:
    """The JSON that was written, which keeps to its schema."""
    data: dict[str, Any] = json.loads(outcome.stdout)
    assert [] == [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(data)]
    return data


# revisions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["main", "old", "HEAD", "topic/a", "HEAD^{commit}", "HEAD^{/one}"])
def test_a_revision_has_its_own_files(name: str, checkout: Run) -> None:
    """The plan, its price book and its parts are read as they were: 6 switches at 100 became 12 at 110."""
    data = data_of(checkout(f"{name}:plans/x.yaml", "plans/x.yaml", "-f", "json"))
    leaf, spine = (
        next(each for each in data["lines"] if each["id"] == f"compute.switch.{tier}") for tier in ("leaf", "spine")
    )
    pieces = [each[side]["quantity"] for each in (leaf, spine) for side in ("old", "new")]
    assert [4, 8, 2, 4] == pieces
    assert ("600.00", "1320.00") == (data["money"]["old"], data["money"]["new"])
    parts = {key: value for key, value in data["money"]["parts"].items() if float(value)}
    assert {"quantity": "600.00", "price": "120.00"} == parts
    assert f"{name}:plans/x.yaml" == data["old"]["name"]


def test_a_path_counts_from_the_root_or_the_current_folder(checkout: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in git a path counts from the root of the checkout, with a dot in front from the folder; both are found."""
    monkeypatch.chdir("plans")
    for path in ("plans/x.yaml", "./x.yaml", "x.yaml", "../plans/x.yaml", str(Path("x.yaml").resolve())):
        assert 0 == checkout(f"old:{path}", f"main:{path}").exit_code, path


def test_a_file_of_that_name_comes_first(checkout: Run) -> None:
    """A file whose name has a colon in it is that file."""
    write("old:plans/x.yaml", PLAN.replace("16", "24").replace("[parts]", "[../plans/parts]"))
    assert "24" in checkout("old:plans/x.yaml", "plans/x.yaml").stdout


def test_the_checkout_stays_as_it_is(checkout: Run) -> None:
    """Nothing is checked out, staged or left behind."""
    before = git("status", "--porcelain")
    assert 0 == checkout("old:plans/x.yaml", "plans/x.yaml").exit_code
    assert before == git("status", "--porcelain")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mian:plans/x.yaml", "no revision 'mian' in this checkout; did you mean 'main'?"),
        ("zzzz:plans/x.yaml", "no revision 'zzzz' in this checkout; fetch it"),
        ("-h:plans/x.yaml", "no revision '-h'"),
        ("^main:plans/x.yaml", "no revision '^main'"),
        ("old:plans/y.yaml", "no file 'plans/y.yaml' at old; did you mean 'plans/x.yaml'?"),
        ("old:plans", "'plans' is a folder at old"),
        ("old:../x.yaml", "no file '../x.yaml' at old"),
        ("nothing.yaml", "No such file or directory"),
        ("plans", "Is a directory"),
        ("C:\\x.yaml", "No such file or directory"),
        ("x" * 5000, "File name too long"),
    ],
)
def test_what_cannot_be_read_is_wrong_usage(name: str, said: str, checkout: Run) -> None:
    """One line says what is not there, and what would be."""
    outcome = checkout("--", name, "plans/x.yaml")
    assert (2, 1) == (outcome.exit_code, len(outcome.stderr.splitlines()))
    assert said in outcome.stderr


def test_no_checkout(run: Run) -> None:
    """Outside of a checkout there are no revisions."""
    write("x.yaml", PLAN)
    outcome = run("main:x.yaml", "x.yaml")
    assert 2 == outcome.exit_code
    assert "is in no git checkout" in outcome.stderr


def test_no_git(checkout: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git files can be compared, and revisions cannot."""
    monkeypatch.setenv("PATH", "")
    assert 0 == checkout("plans/x.yaml", "plans/x.yaml").exit_code
    outcome = checkout("old:plans/x.yaml", "plans/x.yaml")
    assert 2 == outcome.exit_code
    assert "git is not installed" in outcome.stderr


def test_problems_of_a_revision_stand_at_its_own_line(checkout: Run) -> None:
    """An error of the old plan shows the line that it had then, and one of an old price book the file of then."""
    write("plans/x.yaml", PLAN.replace("servers: 16", "servers: [16]"))
    write("prices.yaml", "bomgen_prices: 1\nprices:\n- {part: x, price: -1, currency: USD}\n")
    git("commit", "-qam", "wrong")
    write("plans/x.yaml", PLAN)
    write("prices.yaml", PRICES.replace("PRICE", "1"))
    outcome = checkout("HEAD:plans/x.yaml", "plans/x.yaml")
    assert 1 == outcome.exit_code
    assert outcome.stderr.startswith("HEAD:plans/x.yaml:6:12: error: ")
    assert "  6 |   servers: [16]" in outcome.stderr
    git("show", "HEAD:prices.yaml")
    write("plans/x.yaml", PLAN)
    git("add", "plans")
    git("commit", "-qm", "right plan, wrong prices")
    git("commit", "-q", "--allow-empty", "-m", "same")
    write("prices.yaml", "bomgen_prices: 1\nprices:\n- {part: x, price: -1, currency: USD}\n")
    git("add", "prices.yaml")
    git("commit", "-q", "--allow-empty", "-m", "wrong prices")
    write("prices.yaml", PRICES.replace("PRICE", "1"))
    outcome = checkout("HEAD:plans/x.yaml", "plans/x.yaml")
    assert 1 == outcome.exit_code
    assert outcome.stderr.startswith("HEAD:prices.yaml:3:20: error: ")
    assert "  3 | - {part: x, price: -1, currency: USD}" in outcome.stderr


def test_paths_of_a_revision_stay_in_the_checkout(checkout: Run) -> None:
    """A plan of a revision reads no file of the machine, by its path or by a link."""
    write("plans/x.yaml", PLAN.replace("../prices.yaml", "../../secret.yaml"))
    Path("plans/link.yaml").symlink_to("/etc/hostname")
    git("add", ".")
    git("commit", "-qm", "out")
    outcome = checkout("HEAD:plans/x.yaml", "old:plans/x.yaml")
    assert (1, True) == (outcome.exit_code, "[outside-root]" in outcome.stderr)
    assert 2 == checkout("HEAD:plans/link.yaml", "old:plans/x.yaml").exit_code


def hand_made_tree(*entries: tuple[str, str, str]) -> str:
    """The id of a tree with entries of mode, name and id, which git itself would not write."""
    content = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(of.strip()) for mode, name, of in entries)
    Path("tree").write_bytes(content)
    return git("hash-object", "-t", "tree", "--literally", "-w", "tree")


@pytest.mark.parametrize("way", ["dots", "link"])
def test_a_tree_made_by_hand_writes_nothing_outside(way: str, checkout: Run, tmp_path: Path) -> None:
    """A tree with `..` for a name, or with a link and a folder of one name, leads out of where its files are laid."""
    aim = tmp_path / "aim"
    aim.mkdir()
    write("content", "name: Planted\nports: 64\nport_gbps: 400\n")
    write("plan", PLAN.replace("[parts]", "[aimed]"))
    write("link", str(aim))
    part, plan, link = (git("hash-object", "-w", name) for name in ("content", "plan", "link"))
    below = hand_made_tree(("100644", "planted.yaml", part))
    if way == "dots":
        depth = 12
        climbing = hand_made_tree(("40000", aim.relative_to("/").as_posix().split("/")[-1], below))
        for name in (*reversed(aim.parent.relative_to("/").parts), *[".."] * depth):
            climbing = hand_made_tree(("40000", name, climbing))
        aimed = [("40000", "aimed", climbing)]
    else:
        aimed = [("120000", "aimed", link), ("40000", "aimed", below)]
    top = hand_made_tree(*aimed, ("100644", "x.yaml", plan))
    commit = git("commit-tree", top.strip(), "-m", "made").strip()
    outcome = checkout(f"{commit}:x.yaml", "old:plans/x.yaml")
    assert [] == [*aim.iterdir()]
    assert (2, True) == (outcome.exit_code, "has a path that git does not check out, 'aimed" in outcome.stderr)


def test_links_inside_the_checkout_are_followed(checkout: Run) -> None:
    """A price book that is a link to another file of the checkout is that file."""
    Path("prices.yaml").rename("prices-of-today.yaml")
    Path("prices.yaml").symlink_to("prices-of-today.yaml")
    git("add", "-A")
    git("commit", "-qm", "link")
    assert data_of(checkout("HEAD:plans/x.yaml", "plans/x.yaml", "-f", "json"))["changed"] is False


def test_a_result_of_a_revision(checkout: Run) -> None:
    """A bom.json that was committed is compared as it is."""
    CliRunner().invoke(cli.main, ["build", "plans/x.yaml", "-f", "json", "-o", "out"])
    git("add", "-A")
    git("commit", "-qm", "result")
    outcome = checkout("HEAD:out/small/bom.json", "plans/x.yaml")
    assert "No change" in outcome.stdout
    assert 0 == outcome.exit_code


def test_a_link_to_nothing_and_a_file_that_git_lost(checkout: Run) -> None:
    """A link of a revision that leads nowhere, and a file whose object is gone, are said to be that."""
    Path("plans/link.yaml").symlink_to("nowhere.yaml")
    git("add", ".")
    git("commit", "-qm", "link")
    outcome = checkout("HEAD:plans/link.yaml", "plans/x.yaml")
    assert (2, True) == (outcome.exit_code, "'plans/link.yaml' at HEAD is a link to nothing" in outcome.stderr)
    lost = git("rev-parse", "HEAD:prices.yaml").strip()
    (Path(".git/objects") / lost[:2] / lost[2:]).unlink()
    outcome = checkout("HEAD:plans/x.yaml", "plans/x.yaml")
    assert (2, True) == (outcome.exit_code, "git does not have 'prices.yaml' at HEAD; fetch it" in outcome.stderr)


def test_bases_of_a_revision_are_read_as_they_were(checkout: Run) -> None:
    """What a plan extends, and what that extends, is read at the revision; errors name it there."""
    write(
        "plans/x.yaml", PLAN.replace("name: small", "name: small\nextends: shared/seller.yaml").partition("quote:")[0]
    )
    write("plans/shared/seller.yaml", "extends: [../../currency]\nquote:\n  price_book: ../../prices.yaml\n")
    write("currency", "quote: {currency: USD}\n")
    write("prices.yaml", PRICES.replace("PRICE", "100"))
    git("add", ".")
    git("commit", "-qm", "bases")
    write("plans/shared/seller.yaml", "quote: {price_book: ../../prices.yaml, discount: {switch: 10%}}\n")
    write("prices.yaml", PRICES.replace("PRICE", "200"))
    data = data_of(checkout("HEAD:plans/x.yaml", "plans/x.yaml", "-f", "json"))
    # 8 leaves and 4 spines at 100, then at 200 less 10 %
    assert ("600.00", "1080.00") == (data["money"]["old"], data["money"]["new"])
    changed = {each["key"]: each["place"] for each in data["plan"]}
    assert "plans/shared/seller.yaml:1" == changed["quote.discount"]
    assert "HEAD:currency:1" == changed["quote.currency"]
    write("plans/shared/seller.yaml", "quote:\n  discount: {switch: 200%}\n")
    git("add", ".")
    git("commit", "-qm", "wrong base")
    write("plans/shared/seller.yaml", "quote: {discount: {switch: 10%}}\n")
    outcome = checkout("HEAD:plans/x.yaml", "plans/x.yaml")
    assert 1 == outcome.exit_code
    assert outcome.stderr.startswith("HEAD:plans/shared/seller.yaml:2:22: error: ")
    assert "  2 |   discount: {switch: 200%}" in outcome.stderr


def test_a_lock_of_a_revision_holds_its_prices(checkout: Run) -> None:
    """The lock that lay beside the plan gives the prices, not the book; a wrong one is shown where it lay."""
    write("plans/x.yaml", PLAN)
    write("plans/parts/switch/my-switch.yaml", SWITCH)
    write("prices.yaml", PRICES.replace("PRICE", "100"))
    assert 0 == CliRunner().invoke(cli.main, ["lock", "plans/x.yaml"]).exit_code
    write("prices.yaml", PRICES.replace("PRICE", "200"))
    git("add", ".")
    git("commit", "-qm", "locked at 100, the book says 200")
    Path("plans/x.lock").unlink()
    data = data_of(checkout("HEAD:plans/x.yaml", "plans/x.yaml", "-f", "json"))
    assert ("600.00", "1200.00") == (data["money"]["old"], data["money"]["new"])
    data = data_of(checkout("HEAD:plans/x.yaml", "HEAD:plans/x.yaml", "-f", "json"))
    assert (False, "600.00") == (data["changed"], data["money"]["new"])
    write("plans/x.lock", "bomgen_lock: 1\nnothing: 1\n")
    git("add", ".")
    git("commit", "-qm", "wrong lock")
    Path("plans/x.lock").unlink()
    outcome = checkout("HEAD:plans/x.yaml", "plans/x.yaml")
    assert 1 == outcome.exit_code
    assert outcome.stderr.startswith("HEAD:plans/x.lock:")
    assert "  1 | bomgen_lock: 1" in outcome.stderr


def test_a_plan_that_is_only_written_otherwise(run: Run) -> None:
    """A key that changes nothing of the result is said to be no more than that."""
    write("x.yaml", "bomgen: 1\nname: x\ncluster: {gpu: h100-sxm, servers: 4}\n")
    write("y.yaml", "bomgen: 1\nname: x\ncluster: {gpu: h100-sxm, servers: 4, server: dgx-h100}\n")
    outcome = run("x.yaml", "y.yaml")
    assert "The result is the same; only the text of the plan differs" == outcome.stdout.splitlines()[1]


def test_machines_that_stand_elsewhere_are_counted(run: Run) -> None:
    """Where racks are drawn, an expansion leaves machines where they are; it says how many must move nevertheless."""
    plan = str(ROOT / "plans" / "llama65b-quote.yaml")
    more = ("--set", "site.layout=auto", "--set-new", "workload.training.target_days=15")
    lower = ("--set-new", "site.rack.power=15kW")
    assert "on the floor plan" not in run(plan, plan, *more).stdout
    assert "machines move on the floor plan" in run(plan, plan, *more, *lower).stdout


# files --------------------------------------------------------------------------------------------------------------


def test_plans_results_and_standard_input_are_alike(checkout: Run) -> None:
    """A plan and its bom.json are the same result, from wherever they are read."""
    CliRunner().invoke(cli.main, ["build", "plans/x.yaml", "-f", "json", "-o", "out"])
    bom = Path("out/small/bom.json").read_bytes()
    for old, new, stdin in (
        ("plans/x.yaml", "out/small/bom.json", None),
        ("-", "out/small/bom.json", bom),
        ("out/small/bom.json", "-", bom),
    ):
        outcome = checkout(old, new, stdin=stdin)
        assert (0, "No change: both give the same result") == (outcome.exit_code, outcome.stdout.splitlines()[1])
    outcome = checkout("-", "-")
    assert (2, True) == (outcome.exit_code, "only one side" in outcome.stderr)


def test_a_broken_result_is_an_error(checkout: Run) -> None:
    """A bom.json that cannot be read ends with exit code 1 and says why."""
    write("bom.json", '{"bomgen": 7, "lines": []}')
    outcome = checkout("bom.json", "plans/x.yaml")
    assert 1 == outcome.exit_code
    assert outcome.stderr.startswith("bom.json:1:1: error: a bom.json of format 7")


def test_settings_are_laid_over_both_sides_or_the_new_one(checkout: Run) -> None:
    """--set changes both, --set-new the new one; a result cannot be changed."""
    path = "plans/x.yaml"
    assert "No change" in checkout(path, path, "--set", "cluster.servers=8").stdout
    data = data_of(checkout(path, path, "--set", "cluster.servers=8", "--set-new", "cluster.servers=9", "-f", "json"))
    assert [{"key": "cluster.servers", "old": "8", "new": "9", "place": "--set"}] == data["plan"]
    CliRunner().invoke(cli.main, ["build", path, "-f", "json", "-o", "out"])
    outcome = checkout("out/small/bom.json", "out/small/bom.json", "--set", "a=1")
    assert (2, True) == (outcome.exit_code, "both sides are results" in outcome.stderr)


def test_a_setting_may_name_a_file_of_the_revision(checkout: Run) -> None:
    """A price book that an option names is read at the revision as well."""
    write("other.yaml", PRICES.replace("PRICE", "7"))
    git("add", "other.yaml")
    git("commit", "-qm", "other")
    arguments = ("HEAD:plans/x.yaml", "plans/x.yaml", "--set", "quote.price_book=../other.yaml", "-f", "json")
    data = data_of(checkout(*arguments))
    assert ["42.00", "84.00"] == [data["money"][key] for key in ("old", "new")]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 0),
        (("--max-increase", "200%"), 0),
        (("--max-increase", "5%"), 4),
        (("--max-increase", "200%", "--max-increase", "1"), 4),
        (("--fail-on-change",), 4),
        (("--max-increase", "much"), 2),
    ],
)
def test_exit_codes(options: tuple[str, ...], code: int, run: Run) -> None:
    """Changes are no failure unless a threshold says so; the reason goes to standard error."""
    plan = "bomgen: 1\nname: x\ncluster: {gpu: h100-sxm, gpus: COUNT}\nquote: {price_book: prices.yaml}\n"
    for name, count in (("old.yaml", "8"), ("new.yaml", "16")):
        write(name, plan.replace("COUNT", count))
    write("prices.yaml", PRICES.replace("my-switch", "dgx-h100").replace("PRICE", "10"))
    outcome = run("old.yaml", "new.yaml", *options)
    assert code == outcome.exit_code, outcome.output
    assert (code == 4) == ("threshold passed" in outcome.stderr)
    if options == ("--max-increase", "5%"):
        said = "10.00 USD more (+100.0 %) than before; at most 5 % is allowed"
        assert f"bomgen: threshold passed: {said}\n" == outcome.stderr


def test_formats_and_files(checkout: Run) -> None:
    """Every format goes to standard output or to a file, without colours there."""
    for form, out in (("text", "out.txt"), ("md", "out.md"), ("json", "out")):
        shown = checkout("old:plans/x.yaml", "plans/x.yaml", "-f", form)
        outcome = checkout("old:plans/x.yaml", "plans/x.yaml", "-f", form, "-o", out)
        assert (f"{out}\n", 0) == (outcome.stdout, outcome.exit_code)
        assert shown.stdout == Path(out).read_text("utf-8")
        assert "\x1b" not in shown.stdout


def test_every_line_is_shown_when_asked(checkout: Run) -> None:
    """--all shows the numbers that are only counted otherwise."""
    short = checkout("old:plans/x.yaml", "plans/x.yaml").stdout
    long = checkout("old:plans/x.yaml", "plans/x.yaml", "--all").stdout
    assert "use --all to show them" in short
    assert "use --all to show them" not in long
    assert len(long.splitlines()) > len(short.splitlines())


def test_the_cost_book_is_never_shown(checkout: Run) -> None:
    """A seller's cost book that is new, another or gone is no change that anybody reads of."""
    write("costs-secret.yaml", PRICES.replace("PRICE", "3"))
    write(
        "plans/y.yaml",
        Path("plans/x.yaml").read_text().replace("quote: {", "quote: {cost_book: ../costs-secret.yaml, "),
    )
    for form in ("text", "md", "json"):
        for names in (
            ("plans/x.yaml", "plans/y.yaml"),
            ("plans/y.yaml", "plans/x.yaml"),
            ("old:plans/x.yaml", "plans/y.yaml"),
        ):
            outcome = checkout(*names, "-f", form, "--set-new", "quote.cost_book=../costs-secret.yaml")
            assert 0 == outcome.exit_code
            assert "cost" not in outcome.output.replace("cost per GPU-hour", "")
    assert "No change" in checkout("plans/x.yaml", "plans/y.yaml").stdout


# the plans of the project -------------------------------------------------------------------------------------------


def test_three_units_become_four(run: Run) -> None:
    """The SuperPOD of three scalable units grows to four: 95 to 127 servers, 24 to 32 compute leaves (RA-11333-001)."""
    plan = str(ROOT / "plans" / "superpod-h100-4su.yaml")
    data = data_of(run(plan, plan, "--set", "cluster.servers=95", "--set-new", "cluster.servers=127", "-f", "json"))
    numbers = {each["path"]: (each["old"], each["new"]) for each in data["numbers"]}
    assert (760, 1016) == numbers["cluster.gpus"]
    assert (24, 32) == numbers["fabrics.compute.switches.leaf"]
    order = {each["part"]: each["pieces"] for each in data["expansion"]["order"]}
    assert 32 == order["dgx-h100"]
    compute = {each["kind"]: each for each in data["expansion"]["moves"]["cables"] if each["fabric"] == "compute"}
    assert (760, 760) == (compute["server-leaf"]["old"], compute["server-leaf"]["stay"])


ONE = """bomgen: 1
name: grown
cluster: {gpu: h100-sxm, servers: 32}
fabrics: {compute: {topology: rail-optimized, switch: qm9700}}
"""
SEVERAL = """bomgen: 1
name: grown
clusters:
  - {name: other, gpu: a100-sxm-80, servers: 4}
  - {name: first, gpu: h100-sxm, servers: 64, fabrics: {compute: {topology: rail-optimized, switch: qm9700}}}
"""


def test_a_cluster_becomes_one_of_several(run: Run) -> None:
    """One scalable unit becomes two (RA-11333-001: 8 leaves a unit) beside a new pool: lines keep their place."""
    write("one.yaml", ONE)
    write("several.yaml", SEVERAL)
    data = data_of(run("one.yaml", "several.yaml", "-f", "json"))
    assert [{"old": "", "new": "first"}] == data["clusters"]["renamed"]
    assert ["other"] == [each["name"] for each in data["clusters"]["added"]]
    lines = {each["id"]: each for each in data["lines"]}
    assert "compute.switch.leaf" == lines["first.compute.switch.leaf"]["old_id"]
    assert ("server", 32) == (lines["first.server"]["old_id"], lines["first.server"]["pieces"])
    assert ["other.server"] == [each["id"] for each in data["lines"] if each["old"] is None]
    assert [] == [each["id"] for each in data["lines"] if each["new"] is None]
    numbers = {each["path"]: (each["old"], each["new"]) for each in data["numbers"]}
    assert (256, 544) == numbers["cluster.gpus"]
    assert (256, 512) == numbers["clusters.first.cluster.gpus"]
    assert (8, 16) == numbers["clusters.first.fabrics.compute.switches.leaf"]
    assert not [path for path in numbers if path.startswith("clusters.other")]
    keys = {each["key"]: (each["old"], each["new"]) for each in data["plan"]}
    assert ("32", "64") == keys["clusters.1.servers"]
    assert {"clusters.1.name", "clusters.1.servers", "clusters.0"} == set(keys)
    order = {each["part"]: each["pieces"] for each in data["expansion"]["order"]}
    assert (32, 4) == (order["dgx-h100"], order["dgx-a100-640"])
    moved = {each["kind"]: each for each in data["expansion"]["moves"]["cables"] if each["old"]}
    assert {"first.compute"} == {each["fabric"] for each in moved.values()}
    assert (256, 256) == (moved["server-leaf"]["old"], moved["server-leaf"]["stay"])
    back = data_of(run("several.yaml", "one.yaml", "-f", "json"))
    assert (["other"], None) == ([each["name"] for each in back["clusters"]["removed"]], back["expansion"])
    assert {"cluster.name", "cluster.servers", "clusters.0"} == {each["key"] for each in back["plan"]}


def test_one_of_several_clusters_grows(run: Run) -> None:
    """An expansion of one cluster is an order, and leaves the numbers and cables of the other as they are."""
    write("several.yaml", SEVERAL)
    data = data_of(run("several.yaml", "several.yaml", "--set-new", "clusters.1.servers=96", "-f", "json"))
    groups = {each["group"] for each in data["numbers"]}
    assert {"cluster", "site", "clusters.first.cluster", "clusters.first.fabrics.compute"} <= groups
    assert not [group for group in groups if group.startswith("clusters.other")]
    assert {"first"} == {each["cluster"] for each in data["lines"]}
    assert 32 == {each["part"]: each["pieces"] for each in data["expansion"]["order"]}["dgx-h100"]
    assert ["first.compute"] == sorted({each["fabric"] for each in data["expansion"]["moves"]["cables"]})
    text = run("several.yaml", "several.yaml", "--set-new", "clusters.1.servers=96").stdout
    assert "first: Fabric compute" in text
    fewer = ("--set-new", "clusters.1.servers=96", "--set-new", "clusters.0.servers=2", "-f", "json")
    assert data_of(run("several.yaml", "several.yaml", *fewer))["expansion"] is None


@pytest.mark.parametrize("plan", sorted((ROOT / "plans").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_is_equal_to_itself(plan: Path, run: Run) -> None:
    """A plan compared with itself is no change, whatever it uses."""
    outcome = run(str(plan), str(plan), "--fail-on-change")
    said = language("zh" if "language: zh" in plan.read_text("utf-8") else "en").word("diff-same")
    assert (0, said) == (outcome.exit_code, outcome.stdout.splitlines()[1])


def test_a_bill_that_is_too_large_is_not_read_to_its_end(run: Run, tmp_path: Path) -> None:
    """Whoever sends a terabyte gets the limit, as from `xray`."""
    with (tmp_path / "bill.csv").open("wb") as bill:
        bill.truncate(1 << 40)
    (tmp_path / "plan.yaml").write_text("bomgen: 1\nname: plan\ncluster: {gpu: h100-sxm, servers: 16}\n", "utf-8")
    outcome = run("bill.csv", "plan.yaml")
    assert (outcome.exit_code, outcome.stderr) == (2, "Error: cannot read 'bill.csv': Larger than 5000000 bytes\n")
