"""Price books and values laid over plans, step by step in any order, beside a model of plain dictionaries."""

# ruff: noqa: SIM300

from __future__ import annotations

import json
import shutil
import tempfile
from copy import deepcopy
from decimal import Decimal
from pathlib import Path
from typing import Any

from depth import examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from written_plans import open_book

from bomgen.output.price_lists import written
from bomgen.output.writer import render
from bomgen.pricing.alternatives import varied
from bomgen.pricing.price_book import PriceBook, entries, find_price, price_book
from bomgen.results.result import digest
from bomgen.workflow.inputs import source_of
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

PARTS = ("a", "b-1", "=sum", 'ü, "x"')
QUANTITIES = (1, 2, 10, 1000)
AMOUNTS = st.one_of(st.integers(1, 10**6), st.integers(1, 10**12)).map(lambda cents: Decimal(cents).scaleb(-2))
FORMS = ("yaml", "csv", "xlsx")
Key = tuple[str, int]


class Books(RuleBasedStateMachine):
    """Books that are written in turn, read, changed, turned into other forms; the last one that has a price wins."""

    def __init__(self) -> None:
        super().__init__()
        self.model: list[dict[Key, dict[str, Any]]] = []
        self.files: list[tuple[bytes, str]] = []

    @initialize()
    def begin(self) -> None:
        """One empty book."""
        self.add_book()

    def read(self, at: int) -> PriceBook:
        """A book from its file."""
        content, name = self.files[at]
        return price_book(open_book(content, name))

    def write(self, at: int, form: str) -> None:
        """The model of a book as a file of a form; a table without rows is none, so an empty book stays YAML."""
        form = form if self.model[at] else "yaml"
        content = written([*self.model[at].values()], form)
        self.files[at] = content, f"book.{form}"

    @precondition(lambda self: len(self.model) < 3)
    @rule()
    def add_book(self) -> None:
        """A later book wins over those before."""
        self.model.append({})
        self.files.append((b"", ""))
        self.write(len(self.model) - 1, "yaml")

    @rule(
        at=st.integers(0, 2),
        part=st.sampled_from(PARTS),
        from_quantity=st.sampled_from(QUANTITIES),
        amount=AMOUNTS,
        spread=st.none() | st.integers(2, 5),
        currency=st.sampled_from(("USD", "EUR", "JPY")),
        form=st.sampled_from(("yaml", "csv")),
    )
    def put(
        self, at: int, part: str, from_quantity: int, amount: Decimal, spread: int | None, currency: str, form: str
    ) -> None:
        """A price from a quantity on, new or another one than before, alone or in a range."""
        at %= len(self.model)
        entry: dict[str, Any] = {"part": part, "price": amount}
        if spread:
            entry |= {"min": amount / 2, "max": amount * spread}
        entry |= {"from_quantity": from_quantity} if from_quantity > 1 else {}
        self.model[at][part, from_quantity] = entry | {"currency": currency}
        self.write(at, form)

    @precondition(lambda self: any(self.model))
    @rule(data=st.data(), day=st.sampled_from(("2020-01-31", "2026-12-31")))
    def expire(self, data: st.DataObject, day: str) -> None:
        """A price gets an end; it is still the price, which a quote warns about."""
        at, key = self.one(data)
        self.model[at][key] = {**self.model[at][key], "valid_until": day}
        self.write(at, "yaml")

    @precondition(lambda self: any(self.model))
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        """A price is taken out: the next smaller quantity or an earlier book has it now."""
        at, key = self.one(data)
        del self.model[at][key]
        self.write(at, "csv")

    @precondition(lambda self: any(self.model))
    @rule(data=st.data(), forms=st.lists(st.sampled_from(FORMS), min_size=1, max_size=3))
    def convert(self, data: st.DataObject, forms: list[str]) -> None:
        """A book goes from form to form and says the same."""
        at, _ = self.one(data)
        before = self.read(at)
        for form in forms:
            content, name = self.files[at]
            self.files[at] = written(entries(open_book(content, name)), form), f"book.{form}"
        assert [price.fields for price in before.prices] == [price.fields for price in self.read(at).prices]

    def one(self, data: st.DataObject) -> tuple[int, Key]:
        """A price of any book."""
        return data.draw(st.sampled_from([(at, key) for at, book in enumerate(self.model) for key in sorted(book)]))

    @invariant()
    def the_last_book_wins(self) -> None:
        """Every part at every quantity has the price of the model, or none."""
        books = [self.read(at) for at in range(len(self.model))]
        for part in PARTS:
            fewest = [
                min(key for key in book if key[0] == part) for book in self.model if any(key[0] == part for key in book)
            ]
            known = find_price(books, [part], None, "")
            assert (known and known[0].from_quantity) == (fewest[-1][1] if fewest else None)
            for quantity in (1, 2, 5, 10, 10**6):
                expected = self.expected(part, quantity)
                found = find_price(books, [part], quantity, "")
                assert (found is None) == (expected is None)
                if found and expected:
                    price, _ = found
                    assert expected["price"] == price.amount
                    assert expected.get("min", expected["price"]) == price.low
                    assert expected.get("max", expected["price"]) == price.high
                    assert expected["currency"] == price.currency
                    assert expected.get("valid_until") == price.valid_until

    def expected(self, part: str, quantity: int) -> dict[str, Any] | None:
        """What the model has for so many pieces of a part."""
        for book in reversed(self.model):
            reached = [key for key in book if key[0] == part and key[1] <= quantity]
            if reached:
                return book[max(reached)]
        return None


BASE: dict[str, Any] = {"spares": {"cable": "1%", "switch": 1}, "quote": {"tax": "5%"}}
PLAN: dict[str, Any] = {
    "bomgen": 1,
    "name": "state",
    "extends": "base.yaml",
    "cluster": {"gpu": "h100-sxm", "servers": 4},
    "fabrics": {"compute": {"switch": "qm9700", "topology": "fat-tree"}},
    "quote": {"date": "2026-11-20"},
}
VALUES: dict[str, tuple[Any, ...]] = {
    "cluster.servers": (2, 3, 5, 8),
    "cluster.spare_servers": (0, 1),
    "fabrics.compute.oversubscription": (1, 2, "3:2"),
    "fabrics.compute.links.server-leaf.length": ("30 m", "50 m"),
    "fabrics.compute.links.leaf-spine": ({"length": "50 m"}, {"medium": "transceiver", "length": "30 m"}),
    "fabrics.storage": ("default",),
    "spares.cable": ("3%", 2),
    "spares.transceiver": ("2%", 1),
    "quote.tax": ("13%", 0.19),
    "quote.currency": ("EUR", "USD"),
    "title": ("one", "two: {x}"),
}
KEYS = st.sampled_from(sorted(VALUES)).flatmap(lambda key: st.tuples(st.just(key), st.sampled_from(VALUES[key])))
IN_ALTERNATIVES = ("cluster.servers", "spares.cable", "quote.tax", "fabrics.compute.oversubscription")


def put(data: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """Plain data with a value at a dotted key."""
    found = deepcopy(data)
    holder: Any = found
    *above, last = key.split(".")
    for step in above:
        if holder.get(step) is None:
            holder[step] = {}
        holder = holder[step]
    holder[last] = deepcopy(value)
    return found


def laid(under: Any, over: Any) -> Any:
    """Plain data over other data: mappings key by key."""
    if not isinstance(under, dict) or not isinstance(over, dict):
        return deepcopy(over)
    found = {key: laid(value, over[key]) if key in over else value for key, value in under.items()}
    return found | {key: value for key, value in over.items() if key not in under}


class Settings(RuleBasedStateMachine):
    """A plan that extends another, changed in its file, in the one it extends, and by settings that lie over both."""

    def __init__(self) -> None:
        super().__init__()
        self.base, self.plan, self.settings = deepcopy(BASE), deepcopy(PLAN), list[tuple[str, Any]]()
        self.folder = Path(tempfile.mkdtemp(prefix="bomgen-state-"))

    @rule(given=KEYS)
    def set(self, given: tuple[str, Any]) -> None:
        """A setting more; of two for one key the last wins."""
        self.settings.append(given)

    @precondition(lambda self: self.settings)
    @rule(data=st.data())
    def take_back(self, data: st.DataObject) -> None:
        """A setting less."""
        self.settings.pop(data.draw(st.integers(0, len(self.settings) - 1)))

    @rule(given=KEYS)
    def write(self, given: tuple[str, Any]) -> None:
        """A value in the plan's own file."""
        self.plan = put(self.plan, *given)

    @rule(given=KEYS.filter(lambda given: given[0].startswith(("spares", "quote.tax"))))
    def share(self, given: tuple[str, Any]) -> None:
        """A value in the file that the plan extends."""
        self.base = put(self.base, *given)

    @rule(
        values=st.lists(
            KEYS.filter(lambda given: given[0] in IN_ALTERNATIVES), min_size=1, unique_by=lambda given: given[0]
        )
    )
    def offer(self, values: list[tuple[str, Any]]) -> None:
        """An alternative that sets values."""
        self.plan["quote"]["alternatives"] = [{"name": "other", "set": dict(values)}]

    def file(self, plan: dict[str, Any], **more: dict[str, Any]) -> PlanFile:
        """The files of a plan."""
        for name, data in more.items():
            (self.folder / f"{name}.yaml").write_text(json.dumps(data), encoding="utf-8")
        return PlanFile("plan.yaml", json.dumps(plan, indent=1).encode(), self.folder, self.folder)

    def texts(self) -> list[str]:
        """The settings as the command line has them."""
        return [f"{key}={json.dumps(value)}" for key, value in self.settings]

    def expected(self) -> dict[str, Any]:
        """What the plan is with everything laid over it."""
        found: dict[str, Any] = laid(self.base, self.plan)
        for key, value in self.settings:
            found = put(found, key, value)
        return found

    @invariant()
    def the_model_is_read(self) -> None:
        """The data are those of the model; settings of other keys may come in any order; so do alternatives."""
        file, texts = self.file(self.plan, base=self.base), self.texts()
        source = source_of(file, texts)
        assert plain(self.expected()) == plain(source.data)
        last = dict(self.settings)
        if len(last) == len(self.settings) and not any(other.startswith(f"{key}.") for key in last for other in last):
            assert plain(source.data) == plain(source_of(file, [*reversed(texts)]).data)
        for key in last:
            assert "<set>" == source.mark(tuple(key.split("."))).file
        if "alternatives" in source.data["quote"]:
            [alternative] = self.plan["quote"]["alternatives"]
            other = self.expected()
            for key, value in alternative["set"].items():
                other = put(other, key, value)
            del other["quote"]["alternatives"]
            assert plain(other) == plain(varied(source, 0).data)

    def teardown(self) -> None:
        """What the steps came to is built."""
        try:
            self.built()
        finally:
            shutil.rmtree(self.folder)

    def built(self) -> None:
        """The result is that of a plan with the values written into it; its inputs tell of files and settings."""
        report = work_out(self.file(self.plan, base=self.base), self.texts())
        alone = work_out(self.file({key: value for key, value in self.expected().items() if key != "extends"}))
        one, other = (json.loads(render(each, ("json",))["bom.json"]) for each in (report, alone))
        for key in ("cluster", "fabrics", "lines", "totals", "alternatives"):
            assert without_places(one[key]) == without_places(other[key]), key
        inputs = {each["name"]: each["sha256"] for each in one["plan"]["inputs"]}
        assert digest(json.dumps(self.base).encode()) == inputs["base.yaml"]
        assert {f"--set {text}": digest(text.encode()) for text in self.texts()} == {
            name: value for name, value in inputs.items() if name.startswith("--set ")
        }
        assert other["plan"]["inputs"] == [each for each in one["plan"]["inputs"] if each["name"] in names(other)]


def without_places(data: Any) -> Any:
    """Parts of a result without the lines of files that they rest on."""
    if isinstance(data, dict):
        return {key: without_places(value) for key, value in data.items() if key not in ("explain", "warnings")}
    return [without_places(each) for each in data] if isinstance(data, list) else data


def names(data: dict[str, Any]) -> list[str]:
    """The inputs of a result by name."""
    return [each["name"] for each in data["plan"]["inputs"]]


def plain(data: Any) -> Any:
    """Data with numbers as floats, in any order of keys."""
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    if isinstance(data, list):
        return [plain(value) for value in data]
    return data if isinstance(data, str | bool) or data is None else float(data)


TestBooks = Books.TestCase
TestBooks.settings = settings(max_examples=examples(12), stateful_step_count=10)
TestSettings = Settings.TestCase
TestSettings.settings = settings(max_examples=examples(8), stateful_step_count=6)
