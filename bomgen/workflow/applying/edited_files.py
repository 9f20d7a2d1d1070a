"""The files that hold the edits: the plan's text with nothing else touched, and its own price book beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from bomgen.core.yaml_edit import append_item, remove_item, set_value
from bomgen.core.yaml_source import SUFFIXES, decoded, read
from bomgen.output.price_lists.yaml import write
from bomgen.pricing.price_book import check
from bomgen.workflow.applying.proposal import Base, Edit, value_at
from bomgen.workflow.base_plans import BOOKS
from bomgen.workflow.plan_files import PlanFile, content_of, inside

BOOK_SUFFIX = ".prices.yaml"


class EditedFile(NamedTuple):
    """A file to write beside the plan."""

    name: str
    before: bytes
    """Empty where there is none."""
    after: bytes


def edit_files(
    file: PlanFile, base: Base, edits: Iterable[Edit], prices: Mapping[str, Decimal]
) -> tuple[PlanFile, list[EditedFile]]:
    """The plan with edits and prices, as if it were written, and the files that hold it. Raises NotEditable."""
    text, own = file.content.decode("utf-8"), FilePath(file.name).name
    for edit in edits:
        text = _edit_text(text, base.source.data, edit)
    files = list[EditedFile]()
    if prices:
        book = _price_book(file, base, _book_name(own), prices)
        text = _name_book(text, base.source.data, book.name)
        files.append(book)
        file = file._replace(unwritten=((file.folder / book.name, book.after),))
    content = text.encode()
    if content != file.content:
        files.insert(0, EditedFile(own, file.content, content))
    return file._replace(content=content), files


def _edit_text(text: str, whole: Any, edit: Edit) -> str:
    """The plan's text with an edit; a list that another file gives is written into the plan as a whole first."""
    own = read(text, "").data
    for depth in range(1, len(edit.path) + 1):
        path = edit.path[:depth]
        given = value_at(whole, path)
        if isinstance(given, list) and value_at(own, path) is None:
            text = set_value(text, path, given)
            break
    if edit.action == "remove":
        return remove_item(text, edit.path)
    if edit.action == "set":
        return set_value(text, edit.path, edit.value)
    if value_at(read(text, "").data, edit.path):
        return append_item(text, edit.path, edit.value)
    return set_value(text, edit.path, [edit.value])


def _book_name(plan: str) -> str:
    """The price book of a plan's own: `plan.prices.yaml` beside `plan.yaml`."""
    place = FilePath(plan)
    return (place.stem if place.suffix in SUFFIXES else place.name) + BOOK_SUFFIX


def _name_book(text: str, whole: Any, name: str) -> str:
    """The plan's text with its own price book as the last one, which wins."""
    given = value_at(whole, BOOKS)
    named = [given] if isinstance(given, str) else list(given or ())
    if named and named[-1] == name:
        return text
    if name in named:
        return set_value(text, BOOKS, [*(each for each in named if each != name), name])
    if isinstance(value_at(read(text, "").data, BOOKS), list):
        return append_item(text, BOOKS, name)
    return set_value(text, BOOKS, [*named, name] if named else name)


def _price_book(file: PlanFile, base: Base, name: str, prices: Mapping[str, Decimal]) -> EditedFile:
    """The plan's own price book with prices; those of other parts stay as they are."""
    quote = base.report.plan.quote
    place = inside(file, name, quote.mark, ".".join(map(str, BOOKS)))
    before = content_of(place) if place.exists() else b""
    lead_days = {
        line.line.names[0]: line.price.lead_days
        for line in base.report.quote.lines
        if line.line.names and line.price and line.price.lead_days
    }
    entries = list[dict[str, Any]]()
    for part, price in prices.items():
        entry = {"part": part, "price": price, "currency": quote.currency, "date": quote.date}
        entry["lead_time"] = f"{lead_days[part]} days" if part in lead_days else None
        entries.append({key: value for key, value in entry.items() if value is not None})
    if not before:
        return EditedFile(name, before, write(entries, f"edited quote {base.report.plan.name}"))
    text = decoded(before, name)
    book = read(text, name)
    check(book)
    parts = [str(entry["part"]).strip().lower() for entry in book.data["prices"]]
    for entry in entries:
        places = [at for at, part in enumerate(parts) if part == entry["part"]]
        for at in places:
            text = set_value(text, ("prices", at, "price"), entry["price"])
        if not places:
            own = {key: value for key, value in entry.items() if book.data.get(key) != value}
            text = append_item(text, ("prices",), own)
    return EditedFile(name, before, text.encode())
