"""The typeface of documents, drawings and the page: Inter, bundled, so that lines break alike on every machine.

Chinese is not bundled, because each weight takes several megabytes; the style sheets name the usual system fonts.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from unicodedata import east_asian_width

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
    return sum(widths.get(each, _WIDE if east_asian_width(each) in "WF" else _OTHER) for each in line) / _EM


@cache
def _widths() -> Mapping[str, Mapping[str, int]]:
    read: Mapping[str, Mapping[str, int]] = json.loads(text(face_folder() / "widths.json"))
    return read
