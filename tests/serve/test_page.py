"""The files of the page load nothing from elsewhere, hold no inline script, and speak both languages."""

from __future__ import annotations

import re

import pytest

from bomgen.serve.server import INDEX, PAGE

OWN = sorted(path for path in PAGE.rglob("*.*") if path.suffix in (".js", ".css", ".html") and path.name != "editor.js")
NAMESPACE = "http://www.w3.org/2000/svg"


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.name)
def test_no_address_outside_the_page(path) -> None:
    """Look at each file that is written by hand."""
    assert not re.findall(r"(?:https?|wss?):?//", path.read_text("utf-8").replace(NAMESPACE, ""))


def test_no_inline_script_or_style() -> None:
    """Look at the frame of the page."""
    text = (PAGE / INDEX).read_text("utf-8")
    assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", text)


def test_both_languages_have_the_same_words() -> None:
    """Compare the keys; those of the editor are English by themselves."""
    files = [(PAGE / "words" / f"{code}.js").read_text("utf-8").partition("editor:")[0] for code in ("en", "zh")]
    english, chinese = (re.findall(r'(?:^|[{,] ?)\s*"?([a-z-]+)"?: ', text, re.MULTILINE) for text in files)
    assert english == chinese


def test_every_word_of_the_frame_is_known() -> None:
    """Look for the words that the frame names."""
    words = (PAGE / "words" / "en.js").read_text("utf-8")
    used = re.findall(r'data-(?:word|label)="([\w-]+)"', (PAGE / INDEX).read_text("utf-8"))
    assert used
    assert not [word for word in used if not re.search(rf'\b"?{word}"?: ', words)]
