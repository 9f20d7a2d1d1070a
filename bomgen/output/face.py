"""The typeface of documents, drawings and the page, and the width of text in it and in columns of type.

Inter is bundled, so that lines break alike on every machine. Chinese is not, because each weight takes several
megabytes; the style sheets name the usual system fonts.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from unicodedata import combining, east_asian_width

from bomgen.core.resources import content, folder, text

REGULAR, BOLD = 400, 600
FAMILY = "Inter Bundled"
"""A name of its own, because WeasyPrint prefers an installed Inter, whose letters may have other widths."""
FAMILIES = f"'{FAMILY}',Inter,'Noto Sans SC','Noto Sans CJK SC','PingFang SC','Microsoft YaHei',sans-serif"
"""The bundled face, an installed Inter for separate drawings, and the Chinese faces of the usual systems. No spaces
separate them, because WeasyPrint reads spaces in a drawing as part of the names."""
_EM = 1000
_WIDE, _OTHER = 1000, 600
"""Width of a Chinese character and of other letters that the face lacks, in thousandths of an em."""


def face_folder() -> Path:
    """Return the folder of the fonts, their widths and their licence."""
    return folder("data") / "face"


@cache
def face_rules(embedded: bool) -> str:
    """Return the rules that load and name the face: embedded in a document, or from an address next to the page's."""
    rules = [f":root{{--sans:{FAMILIES}}}\n"]
    for weight in (REGULAR, BOLD):
        name = f"inter-{weight}.woff2"
        data = b64encode(content(face_folder() / name)).decode() if embedded else ""
        address = f"data:font/woff2;base64,{data}" if embedded else name
        rules.append(f'@font-face{{font-family:"{FAMILY}";font-weight:{weight};src:url({address}) format("woff2")}}\n')
    return "".join(rules)


def width_in_ems(line: str, strong: bool = False) -> float:
    """Return the width of text in em, without kerning."""
    widths = _widths()[str(BOLD if strong else REGULAR)]
    return sum(widths.get(letter, _WIDE if is_wide(letter) else _OTHER) for letter in line) / _EM


def count_columns(text: str) -> int:
    """Return the columns of type that a text takes: two for a Chinese character, none for an accent."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(letter) else 1 + is_wide(letter) for letter in text)


def is_wide(letter: str) -> bool:
    """Return whether a letter takes two columns of type, as Chinese ones do (UAX 11)."""
    return east_asian_width(letter) in ("W", "F")


@cache
def _widths() -> Mapping[str, Mapping[str, int]]:
    read: Mapping[str, Mapping[str, int]] = json.loads(text(face_folder() / "widths.json"))
    return read
