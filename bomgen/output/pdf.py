"""Pages as PDF, typeset by WeasyPrint with the bundled face, outline and page numbers, without a browser.

The extra `pdf` installs WeasyPrint. The page is self-contained, and no address is fetched: the author of a plan may
have written one into it, and a logo that takes hours to draw. It is therefore printed in a limited child.
"""

from __future__ import annotations

import gc
import logging
import re
import sys
import unicodedata
import warnings
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import BytesIO, StringIO
from typing import Any

from bomgen.core.diagnostics import OutputError
from bomgen.core.jobs import COLLECT_AFTER, Limits, run_limited, within_limits
from bomgen.core.resources import is_out_of_memory
from bomgen.output.face import face_rules

INSTALL = "pip install weasyprint"
LIBRARIES = "apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"
"""The packages that WeasyPrint names for Debian; they bring GLib, Fontconfig and a font."""
ALLOWED = ("data",)
"""Address schemes that a page may use: embedded images and fonts."""
NO_GLYPH = ".notdef"
"""Prefix of WeasyPrint's message about a character without a font."""
NOT_DRAWN = "Failed to render SVG image"
"""Prefix of its message about a picture that it leaves out, also for want of time or memory."""


FONTS = (
    (re.compile("CJK|HIRAGANA|KATAKANA|HANGUL|BOPOMOFO|IDEOGRAPHIC|FULLWIDTH|HALFWIDTH"), "fonts-noto-cjk"),
    (re.compile(".*(FACE|EMOJI|SIGN OF|HEART)"), "fonts-noto-color-emoji"),
)
"""Debian and Ubuntu font packages, by the beginning of character names."""
USUAL_FONTS = "fonts-noto-core"
LIMITS = Limits(cpu_seconds=30, wall_seconds=300, memory_bytes=1 << 30, output_bytes=64 << 20, file_bytes=1 << 20)
"""A quote takes 2 s and 150 MiB; WeasyPrint writes each weight of the bundled face, 100 KiB, into a file for Pango."""
OF_FONTS = (
    *("HOME", "XDG_DATA_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"),
    *("FONTCONFIG_FILE", "FONTCONFIG_PATH", "FONTCONFIG_SYSROOT"),
)
"""Environment variables by which fontconfig finds fonts."""
PDF = b"%PDF-"
LAYOUTS = (
    "",
    "section > figure:first-of-type { break-before: page }",
    "section:last-of-type { break-before: page }",
    "#section-bill { break-before: page }",
    "figure svg { max-height: 100mm !important }",
    "figure svg { max-height: 70mm !important }",
)
"""Layouts of a quote, of which the first without a nearly empty page is taken. The drawings that end it are below the
text, on a page of their own, or on one with their tables; the bill begins a page; or tall drawings are smaller, which
makes their words smaller, too."""
TABLE = "table-"
"""Prefix of the ids of tables."""
WELL_FILLED = 0.46
"""Part of its emptiest page that a document should fill: half of what is between the margins. A document of more than
`FEW_PAGES` is laid out only once."""
FEW_PAGES = 8
SHOWN = 5
"""Characters without a font that a message lists."""


class NotPrinted(OutputError):
    """WeasyPrint, a library that it needs, or a font is not installed, or the page takes too much to print."""


class _Omissions(logging.Handler):
    """Log handler for WeasyPrint's messages about characters drawn as empty boxes, and pictures that are left out."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.characters: dict[str, None] = {}
        self.picture = False

    def emit(self, record: logging.LogRecord) -> None:
        """Record the character or picture of such a message."""
        if record.msg.startswith(NOT_DRAWN):
            self.picture = True
        if record.msg.startswith(NO_GLYPH) and isinstance(record.args, tuple):
            self.characters[str(record.args[0])] = None


def pdf(page: bytes) -> bytes:
    """Return the PDF of a self-contained HTML page. Raises NotPrinted as `print_page`, and beyond the limits."""
    printed = run_limited("bomgen.output.pdf", (), page, LIMITS, OF_FONTS)
    if printed.reason:
        advice = "" if printed.failed else "; use a simpler logo, or fewer lines"
        raise NotPrinted(f"WeasyPrint: {printed.reason}{advice}")
    if not printed.answer.startswith(PDF):
        raise NotPrinted(printed.answer.decode())
    return printed.answer


def main() -> None:
    """Print the page on standard input; write the PDF, or why there is none."""
    gc.set_threshold(COLLECT_AFTER)
    with within_limits(LIMITS, sealed=False):  # WeasyPrint reads and writes fonts
        try:
            answer = print_page(sys.stdin.buffer.read())
        except NotPrinted as error:
            answer = str(error).encode()
        sys.stdout.buffer.write(answer)
    gc.freeze()  # all memory goes with the process


def print_page(page: bytes) -> bytes:
    """Return the PDF of a self-contained HTML page.

    Raises NotPrinted if WeasyPrint is not installed, and for characters without an installed font or an SVG that cannot
    be drawn.
    """
    try:
        # WeasyPrint prints several lines about a missing library, and warns where no font is installed.
        with redirect_stdout(StringIO()), warnings.catch_warnings(action="ignore"):
            from weasyprint import HTML
        from weasyprint.urls import URLFetcher
    except ImportError as error:
        if is_out_of_memory(error):
            raise
        raise NotPrinted(f"PDF output requires WeasyPrint, which is not installed: {INSTALL}") from None
    except OSError as error:
        if is_out_of_memory(error):
            raise
        raise NotPrinted(f"PDF output requires Pango, which is not installed: {LIBRARIES}") from None
    html = HTML(string=page.decode("utf-8"), url_fetcher=URLFetcher(allowed_protocols=ALLOWED))
    logger, missing = logging.getLogger("weasyprint"), _Omissions()
    logger.addHandler(missing)
    try:
        # Pango ends the whole process if no font is installed.
        documents: list[Any] = []
        for layout in LAYOUTS if b"<figure" in page else (layout for layout in LAYOUTS if "figure" not in layout):
            rules = f"{face_rules(True)}@media print {{ {layout} }}"
            documents.append(html.render(stylesheets=[BytesIO(rules.encode())], pdf_tags=True))
            if _emptiest(documents[-1]) >= WELL_FILLED or len(documents[0].pages) > FEW_PAGES:
                break
        content: bytes = max(documents, key=_emptiest).write_pdf(pdf_tags=True)
    finally:
        logger.removeHandler(missing)
    if missing.picture:
        raise NotPrinted("the logo cannot be drawn, or takes too much time or memory; use a simpler one")
    if missing.characters:
        raise NotPrinted(_explain(list(missing.characters)))
    return content


def _emptiest(document: Any) -> float:
    """Return how far down the emptiest page behind the first is filled, as a part of its height.

    What goes on on the next page and is no table seems to reach the end of its page.
    """
    following = [page.anchors for page in document.pages[2:]]
    ends = (
        max((box[-1] for name, box in page.anchors.items() if name not in after or name.startswith(TABLE)), default=0.0)
        for page, after in zip(document.pages[1:], [*following, {}], strict=False)
    )
    return min((end / document.pages[0].height for end in ends), default=1.0)


def _explain(missing: Sequence[str]) -> str:
    """Return a message that names characters without a font, and the packages that have one."""
    more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    names = (unicodedata.name(character, "") for character in missing)
    packages = dict.fromkeys(
        next((package for pattern, package in FONTS if pattern.match(name)), USUAL_FONTS) for name in names
    )
    shown = " ".join(missing[:SHOWN]) + more
    return f"no installed font has {shown}; install one, such as the package {', '.join(packages)}"
