"""`bomgen init`: what it writes is a plan that can be built, in a folder that holds nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner, Result
from depth import few

from bomgen.cli import command
from bomgen.core.yaml_source import read
from bomgen.plan import schema as plan_schema
from bomgen.workflow import starters
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import open_plan

ROOT = Path(__file__).parents[2]
Init = Callable[..., Result]


@pytest.fixture
def init(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Init:
    """`bomgen init` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(command.main, ["init", *arguments])


def blocks(text: str) -> Iterator[tuple[int, int]]:
    """The lines of every block that is commented out: `#key`, and what follows as `#  key` at the same column."""
    lines = text.splitlines()
    for first, line in enumerate(lines):
        if found := re.match(r"( *)#[a-z]", line):
            last = first + 1
            while last < len(lines) and re.match(f"{found[1]}#  +[a-z]", lines[last]):
                last += 1
            yield first, last


def uncommented(text: str, first: int, last: int) -> str:
    """The text with one block made part of it."""
    lines = text.splitlines()
    lines[first:last] = [line.replace("#", "", 1) for line in lines[first:last]]
    return "\n".join(lines) + "\n"


STARTER = starters.starter("own")
BLOCKS = list(blocks(STARTER))


def test_the_starter_can_be_built_without_a_word(init: Init) -> None:
    """It is written, builds at once in every format of `build`, and nothing but the age of indications is warned of."""
    assert init("own").stdout == "own.yaml\n"
    done = CliRunner().invoke(command.main, ["build", "own.yaml"])
    assert done.exit_code == 0
    assert all(line.endswith("[old-price]") for line in done.stderr.splitlines())
    assert re.search(r"Indicative total, not an offer: [\d,.]+ to [\d,.]+( million)? USD\n", done.stdout)
    assert sorted(path.name for path in Path("dist/own").iterdir()) == [
        *("bom.csv", "bom.json", "quote.html", "quote.md", "quote.xlsx", "report.html", "report.md", "report.xlsx")
    ]


def test_the_starter_says_its_own_name() -> None:
    """Commands in its comments name the file as it is called."""
    assert "bomgen build own.yaml" in STARTER
    assert starters.STARTER_NAME not in STARTER


def test_the_starter_has_the_usual_gpu() -> None:
    """That of a new plan on the page, in its usual server."""
    cluster = read(STARTER, "plan").data["cluster"]
    assert (cluster["gpu"], cluster["server"]) == (starters.USUAL_GPU, starters.server_of(starters.USUAL_GPU)[0])


def test_the_starter_has_what_can_be_switched_on() -> None:
    """The blocks of every kind are there: options of a workload, networks, storage, site, running, quote."""
    keys = {STARTER.splitlines()[first].strip().removeprefix("#").partition(":")[0] for first, _ in BLOCKS}
    assert {"goodput", "storage", "in_band", "out_of_band", "site", "operation", "spares", "tax"} <= keys
    assert len(STARTER.splitlines()) <= 70


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: STARTER.splitlines()[block[0]].strip()[:24])
def test_each_block_is_valid_by_itself(block: tuple[int, int], tmp_path: Path) -> None:
    """A block without its # makes a plan that can be built, and changes what the plan says."""
    text = uncommented(STARTER, *block)
    assert read(text, "plan").data != read(STARTER, "plan").data
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    work_out(open_plan(str(tmp_path / "own.yaml"), None))


def test_all_blocks_together_are_valid(tmp_path: Path) -> None:
    """Nobody has to choose between the blocks."""
    text = STARTER
    for first, last in BLOCKS:
        text = uncommented(text, first, last)
    (tmp_path / "own.yaml").write_text(text, encoding="utf-8")
    work_out(open_plan(str(tmp_path / "own.yaml"), None))


@pytest.mark.parametrize("design", few(starters.designs(), 3))
def test_a_design_can_be_built_where_nothing_else_is(design: str, tmp_path: Path) -> None:
    """A copy has the name, keeps comments, names no file, and has the numbers of the design."""
    path = tmp_path / "copy.yaml"
    path.write_text(starters.started_from(design, "copy"), encoding="utf-8")
    report = work_out(open_plan(str(path), None))
    original = (ROOT / "plans" / f"{design}.yaml").read_text("utf-8")
    assert report.plan.name == "copy"
    assert [entry.name for entry in report.inputs] == []
    lines = original.splitlines()
    assert lines[0].startswith("# yaml-language-server: $schema=../")
    assert path.read_text("utf-8").splitlines()[0] == lines[1]
    before = work_out(open_plan(str(ROOT / "plans" / f"{design}.yaml"), str(ROOT)))
    assert [(line.part, line.pieces) for line in report.bill.lines] == [
        (line.part, line.pieces) for line in before.bill.lines
    ]


def test_a_new_plan_is_of_today() -> None:
    """Price ages are measured against the date: that of a design's quote is replaced."""
    asked = starters.Inquiry({"gpu": "h200-sxm", "servers": 4}, {}, {})
    for text in (starters.started_from("meta-24k", "copy"), starters.starter("new"), starters.inquired("new", asked)):
        assert read(text, "plan").data["quote"]["date"] == date.today().isoformat()


@pytest.mark.parametrize("design", starters.designs())
def test_a_copy_has_no_title(design: str) -> None:
    """Its quote is headed by its name: `256 H200 in PowerEdge XE9680` would stay when the number of servers changes."""
    text = starters.started_from(design, "copy")
    title = read((ROOT / "plans" / f"{design}.yaml").read_text("utf-8"), "plan").data["title"]
    assert "title" not in read(text, "plan").data
    assert f"#title: TITLE    # of your quote; the design had {title}\n" in text


@pytest.mark.parametrize("design", starters.designs())
def test_a_copy_is_nobodys_quote(design: str) -> None:
    """Customer, seller and number of the example are placeholders, each on one line that can be switched on."""
    quote = read(starters.started_from(design, "copy"), "plan").data.get("quote") or {}
    assert not quote.keys() & {"customer", "vendor", "number"}


def test_a_party_left_behind_is_named() -> None:
    """On one line, whatever the design says of it."""
    text = starters.started_from("meta-24k", "copy")
    assert "  #customer: NAME    # of your quote; the design had Example Research\n" in text
    assert "  #vendor: NAME    # of your quote; the design had Example Systems\n" in text
    block = "quote:\n  vendor:\n    name: A\n    address: [B]\n  currency: USD\n"
    cut = starters._comment_own(f"bomgen: 1\nname: a\n{block}")
    assert cut.endswith("quote:\n  #vendor: NAME    # of your quote; the design had A\n  currency: USD\n")


def test_a_file_left_behind_is_named() -> None:
    """Who copies a design sees which price book it had, and switches one of his own on by taking away the #."""
    text = starters.started_from("superpod-h100-4su", "copy")
    assert "  #price_book: FILE    # one of your own, relative to this plan" in text
    named = text.replace("#price_book: FILE", "price_book: prices.csv")
    assert read(named, "plan").data["quote"]["price_book"] == "prices.csv"


ASKED = ("--gpu", "h200-sxm", "--servers", "32", "--topology", "rail-optimized", "--switch", "sn5600")


def test_an_inquiry_becomes_a_plan_that_builds(init: Init) -> None:
    """What is asked for stands in the plan in its words, and the seller's file and price book are read."""
    assert init("--seller").stdout == "seller.yaml\n"
    Path("list.csv").write_text("part,price,currency\nsn5600,40000,USD\n", encoding="utf-8")
    done = init("acme", *ASKED, "--extends", "seller.yaml", "--price-book", "list.csv", "--customer", "Acme #1, Inc.")
    assert (done.exit_code, done.stdout) == (0, "acme.yaml\n"), done.stderr
    data = read(Path("acme.yaml").read_text("utf-8"), "plan").data
    assert data["cluster"] == {"gpu": "h200-sxm", "servers": 32}
    assert data["fabrics"] == {"compute": {"topology": "rail-optimized", "switch": "sn5600"}}
    day = date.today().isoformat()
    assert data["quote"] == {"customer": "Acme #1, Inc.", "price_book": "list.csv", "date": day}
    report = work_out(open_plan("acme.yaml", None))
    assert report.plan.quote.vendor is not None
    assert [line.unit.amount is not None for line in report.quote.lines if line.line.part == "sn5600"] == [True, True]


@pytest.mark.parametrize(
    ("asked", "code", "said"),
    [
        (("--gpu", "h200-sxm"), 2, "one of --gpus, --servers and --racks"),
        (("--gpu", "h200-sxm", "--gpus", "8", "--racks", "1"), 2, "one of --gpus, --servers and --racks"),
        (("--servers", "4"), 2, "specify the GPU"),
        (("--gpu", "h200-sxm", "--servers", "4", "--topology", "mesh"), 2, "specify the switch"),
        ((*ASKED, "--from", "llama65b"), 2, "choose one"),
        (("--gpu", "h200-sxn", "--servers", "4"), 1, "did you mean 'h200-sxm'"),
        ((*ASKED, "--extends", "nobody.yaml"), 1, "nobody.yaml"),
        (("--gpu", "gb300", "--servers", "8"), 1, "write `racks: 8`"),
    ],
)
def test_an_inquiry_that_cannot_be_built_writes_nothing(
    init: Init, asked: tuple[str, ...], code: int, said: str
) -> None:
    """Options that contradict each other, and plans that are wrong, are said as those of `check`."""
    done = init("acme", *asked)
    assert (done.exit_code, list(Path().iterdir())) == (code, [])
    assert said in done.stderr


def test_kept_prices_are_asked_before_the_indications(init: Init) -> None:
    """`prices LIST --keep` collects lists, the newest price of a part with its day, and a new plan names the book."""
    for list_ in (
        "part,price,currency\nsn5600,40000,USD\nqm9700,30000,USD\n",
        "part,price,currency\nsn5600,41000,USD\n",
    ):
        Path("list.csv").write_text(list_, encoding="utf-8")
        assert CliRunner().invoke(command.main, ["prices", "list.csv", "--keep", "-q"]).exit_code == 0
    assert init("acme", *ASKED).exit_code == 0
    quote = work_out(open_plan("acme.yaml", None)).quote
    assert {line.unit.amount for line in quote.lines if line.line.part == "sn5600"} == {41000}
    kept = read(Path("own-prices.yaml").read_text("utf-8"), "own").data
    assert (kept["date"], len(kept["prices"])) == (date.today().isoformat(), 2)


def test_an_inquiry_without_a_price_book_has_indicative_prices(init: Init) -> None:
    """Unless it extends a file, whose price books they would replace."""
    assert init("--seller").exit_code == 0
    for name, more in (("alone", ()), ("based", ("--extends", "seller.yaml"))):
        assert init(name, *ASKED, *more).exit_code == 0
        quote = read(Path(f"{name}.yaml").read_text("utf-8"), "plan").data.get("quote", {})
        assert quote.get("price_book") == (None if more else "indicative")


def test_a_seller_is_no_plan(init: Init) -> None:
    """`--seller` stands alone, and never writes over a file."""
    assert init("acme", "--seller").exit_code == 2
    assert init("--seller").exit_code == 0
    assert "already exists" in init("--seller").stderr


def test_the_list_has_every_design(init: Init) -> None:
    """Each with its GPUs, those of the published design, and its title; nothing is written."""
    done = init("--list")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["Design", *starters.designs()]
    assert re.search(r"superpod-b300-xdr-8su +4,608 x B300 .* 576 DGX B300", done.stdout)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("name", ["123", "1e5", "null", "true", "0x1f"])
def test_a_name_that_yaml_reads_otherwise_is_quoted(name: str) -> None:
    """The name is the text that was asked for."""
    for text in (starters.starter(name), starters.started_from("llama65b", name)):
        source = read(text, "plan")
        assert source.data["name"] == name
        assert not plan_schema.check_plan_schema(source)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Big Cluster", "'big-cluster'"),
        ("plans/one.yaml", "'one'"),
        ("-x", "'x'"),
        ("a_b", "'a-b'"),
        ("a" * 65, "'aaa"),
        ("nul", "no device of Windows"),
        ("com1.yaml", "no device of Windows"),
    ],
)
def test_a_wrong_name_is_wrong_usage(name: str, near: str, init: Init) -> None:
    """The message has the rule and a name that would do; nothing is written."""
    done = init("--", name)
    assert done.exit_code == 2
    assert "lower-case letters, digits and hyphens" in done.stderr
    assert near in done.stderr
    assert list(Path().iterdir()) == []


def test_what_is_near_a_name_is_one() -> None:
    """The name that would do does; of signs alone none is made."""
    assert starters.is_name(starters.nearest_name("A" * 63 + " b") or "")
    assert starters.nearest_name("...") is None


def test_nothing_is_written_over(init: Init) -> None:
    """A file that is there stays as it is, also one that a link without a target stands for: wrong usage."""
    Path("own.yaml").write_text("mine", encoding="utf-8")
    Path("link.yaml").symlink_to("nowhere")
    for name in ("own", "link"):
        done = init(name)
        assert done.exit_code == 2
        assert f"{name}.yaml already exists" in done.stderr
    assert Path("own.yaml").read_text("utf-8") == "mine"
    assert not Path("nowhere").exists()


def test_a_folder_that_takes_no_file(init: Init, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be written is exit code 3, with the reason."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    done = init("own")
    assert done.exit_code == 3
    assert done.stderr == "bomgen: not written: own.yaml: No such file or directory\n"


def test_an_unknown_design_is_wrong_usage(init: Init) -> None:
    """Close names are offered, else all."""
    assert "did you mean 'meta-24k'" in init("own", "--from", "meta-24").stderr
    assert "there are 1000P-dense, " in init("own", "--from", "zzz").stderr
    assert init("own", "--from", "zzz").exit_code == 2
    assert init().exit_code == 2


def test_the_schema_beside_is_named(init: Init) -> None:
    """Editors are led to the schema where it lies beside the plan, and only there."""
    init("before")
    Path("bomgen.schema.json").write_text(json.dumps(plan_schema.document("plan")), encoding="utf-8")
    init("after")
    init("copy", "--from", "llama65b")
    first = {name: Path(f"{name}.yaml").read_text("utf-8").splitlines()[0] for name in ("before", "after", "copy")}
    assert first["after"] == first["copy"] == "# yaml-language-server: $schema=bomgen.schema.json"
    assert "yaml-language-server" not in Path("before.yaml").read_text("utf-8")


def test_designs_are_completed() -> None:
    """A shell completes the name of a design."""
    shell = ShellComplete(command.main, {}, "bomgen", "_BOMGEN_COMPLETE")
    found = shell.get_completions(["init", "own", "--from"], "superpod-h")
    assert [item.value for item in found] == ["superpod-h100-4su", "superpod-h100-floor"]


def test_an_inquiry_without_a_server_says_which_one_it_takes(init: Init) -> None:
    """The default of a GPU is the DGX; whoever asked for an HGX sees its id."""
    done = init("pod", "--gpu", "b300-sxm", "--servers", "16")
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("server: ")]
    assert said.startswith("server: dgx-b300, the default; --server takes another: ")
    assert "hgx-b300-8-generic" in said
    assert (
        "server: " not in init("hgx", "--gpu", "b300-sxm", "--servers", "16", "--server", "hgx-b300-8-generic").stderr
    )
    assert init("quiet", "--gpu", "b300-sxm", "--servers", "16", "-q").stderr == ""
