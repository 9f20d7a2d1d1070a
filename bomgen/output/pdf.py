"""A page as PDF, set by WeasyPrint: real fonts, an outline, page numbers, and no browser.

The extra `pdf` installs WeasyPrint. The page needs no other file, and none is fetched: who wrote the plan may have
written an address into it.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Sequence

from bomgen.core.resources import is_out_of_memory

INSTALL = "pip install 'bomgen[pdf]'"
ALLOWED = ("data",)
"""What a page may refer to: pictures that it holds whole."""
NO_GLYPH = ".notdef"
"""The beginning of what WeasyPrint says of a character that no font has."""


FONTS = (
    (re.compile("CJK|HIRAGANA|KATAKANA|HANGUL|BOPOMOFO|IDEOGRAPHIC|FULLWIDTH|HALFWIDTH"), "fonts-noto-cjk"),
    (re.compile(".*(FACE|EMOJI|SIGN OF|HEART)"), "fonts-noto-color-emoji"),
)
"""By the beginning of characters' names: the package of Debian and Ubuntu whose font has them."""
USUAL_FONTS = "fonts-noto-core"
SHOWN = 5
"""Characters without a font that the message names."""


class NotPrinted(Exception):
    """WeasyPrint, the library that it draws text with, or a font is not installed."""


class _MissingGlyphs(logging.Handler):
    """Takes what WeasyPrint says of characters that no font has, which it draws as empty boxes."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.characters: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Note the character of a message about one."""
        if record.msg.startswith(NO_GLYPH) and isinstance(record.args, tuple):
            self.characters[str(record.args[0])] = None


def pdf(page: bytes) -> bytes:
    """An HTML page that needs no other file in, the bytes of its PDF out.

    Raises NotPrinted when WeasyPrint is not installed, and for characters that no font of the machine has.
    """
    try:
        from weasyprint import HTML
        from weasyprint.text.ffi import ffi, fontconfig
        from weasyprint.urls import URLFetcher
    except ImportError as error:
        if is_out_of_memory(error):
            raise
        raise NotPrinted(f"a PDF takes WeasyPrint, which is not installed: {INSTALL}") from None
    except OSError as error:
        if is_out_of_memory(error):
            raise
        raise NotPrinted(f"a PDF takes Pango, which WeasyPrint does not find; install it: {error}") from None
    # Without a single font Pango ends the whole process.
    fonts = ffi.gc(fontconfig.FcInitLoadConfigAndFonts(), fontconfig.FcConfigDestroy)
    if not fontconfig.FcConfigGetFonts(fonts, fontconfig.FcSetSystem).nfont:
        raise NotPrinted(f"a PDF takes fonts, and none is installed; install one, such as the package {USUAL_FONTS}")
    document = HTML(string=page.decode("utf-8"), url_fetcher=URLFetcher(allowed_protocols=ALLOWED))
    logger, missing = logging.getLogger("weasyprint"), _MissingGlyphs()
    logger.addHandler(missing)
    try:
        content: bytes = document.write_pdf()
    finally:
        logger.removeHandler(missing)
    if missing.characters:
        raise NotPrinted(_explain(list(missing.characters)))
    return content


def _explain(missing: Sequence[str]) -> str:
    """Return a message that names characters without a font, and the packages that have one."""
    more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
    packages = dict.fromkeys(map(_package, missing))
    shown = " ".join(missing[:SHOWN]) + more
    return f"no installed font has {shown}; install one, such as the package {', '.join(packages)}"


def _package(character: str) -> str:
    name = unicodedata.name(character, "")
    return next((package for names, package in FONTS if names.match(name)), USUAL_FONTS)
