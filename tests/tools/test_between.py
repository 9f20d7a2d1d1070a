"""Tools write into pages between their marks, and nowhere else."""

from __future__ import annotations

import pytest
from between import TRUST, filled


def test_what_stands_between_the_marks_is_exchanged() -> None:
    """The rest of the page stays as it is, other marks too; twice is the same as once."""
    page = "# A\n\n<!-- b -->\nold\n<!-- /b -->\n\n<!-- c -->\nkept\n<!-- /c -->\n"
    new = "# A\n\n<!-- b -->\n\nnew\n\n<!-- /b -->\n\n<!-- c -->\nkept\n<!-- /c -->\n"
    assert (new, new) == (filled(page, "b", "new\n"), filled(new, "b", "new\n"))


@pytest.mark.parametrize("page", ["", "<!-- b -->", "<!-- /b -->", "<!-- /b --><!-- b -->"])
def test_a_page_without_marks_is_left_alone(page: str) -> None:
    """Nothing of a page is lost where a mark is missing."""
    with pytest.raises(ValueError, match="no <!-- b -->"):
        filled(page, "b", "new")


@pytest.mark.parametrize("name", ["fuzzing", "mutation"])
def test_the_page_has_the_marks_of_the_tools(name: str) -> None:
    """docs/trust.md has a place for what each of them found."""
    assert filled(TRUST.read_text("utf-8"), name, "new\n")
