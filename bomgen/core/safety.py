"""Unsafe text and files: invisible characters, formulas in CSV, files of git.

A reader of a plan in git must see what bomgen reads. Characters that scripts need are allowed where those need them.
"""

from __future__ import annotations

import errno
import os
import re
import unicodedata
from pathlib import Path

DEVICES = frozenset(("con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in "0123456789")))
"""Names of Windows devices, which no file or folder may have there (Microsoft, Naming Files, Paths, and Namespaces)."""
TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Bidirectional controls: text between them reads as something else (CVE-2021-42574)."""
_ENDS = "\x85\u2028\u2029"
"""Line ends for some programs, ordinary characters for others."""
_JOINERS = "\u200b\u200c\u200d"
"""Separators and joiners of letters in some scripts: zero width space, non-joiner and joiner."""
_MARKS = "\u061c\u200e\u200f"
"""Direction marks, for neutral characters such as brackets in right-to-left text."""
_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
"""Variation selectors: they choose the form of a Chinese character in a name, or of a symbol."""
_MONGOLIAN = "\u180b-\u180f"
_UNSEEN = (
    "\xad\u034f\u115f\u1160\u17b4\u17b5\u2060-\u2065\u206a-\u206f\u2800\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
"""Invisible characters: soft hyphens, fillers, tags, operators that are not shown, and unassigned ones."""
_CONTROLS = "\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff"
"""Control codes except tabs and line ends, and lone surrogates."""
_SUSPECT = re.compile(f"[{_CONTROLS}{_ENDS}{_JOINERS}{_MARKS}{_SELECTORS}{_MONGOLIAN}{_UNSEEN}{TURNING}]|\r(?!\n)")
_WRITTEN_WITH_JOINERS = ((0x600, 0x1CFF), (0xA840, 0xABFF), (0x10A00, 0x11FFF), (0x16F00, 0x1E95F))
"""Arabic, Syriac, the scripts of India and South-East Asia, Mongolian (The Unicode Standard 17, chapters 9 to 16)."""
_SELECTOR, _OF_MONGOLIAN = re.compile(f"[{_SELECTORS}]"), re.compile(f"[{_MONGOLIAN}]")
_RIGHT_TO_LEFT = re.compile(
    "[\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001eeff]"
)
"""Hebrew, Arabic, Syriac, Thaana, N'Ko, Adlam and their neighbours (DerivedBidiClass.txt of Unicode 17)."""
_MONGOLIAN_LETTERS = range(0x1800, 0x18B0)
_NEAR = 40
"""Characters on either side among which right-to-left text must be for a direction mark to be of use."""
_LEAST_SELECTED = 0x2000
"""Characters from here on have variants: symbols, and Chinese characters."""


def find_invisible(text: str) -> int | None:
    """Return the index of the first invisible character in a text; None where there is none."""
    if text.isascii() and text.isprintable():
        return None
    return next((match.start() for match in _SUSPECT.finditer(text) if not _belongs(text, match.start())), None)


def describe_invisible(sign: str) -> str:
    """Return what is wrong with a character that a text may not hold, and how to fix it."""
    if sign in TURNING:
        return f"{name_character(sign)}, which reverses the text: the line reads as something else; remove it"
    if sign == "\r" or sign in _ENDS:
        return (
            f"{name_character(sign)}, which ends a line for some programs and not for others; end lines with LF or CRLF"
        )
    if unicodedata.category(sign) in ("Cc", "Cs"):
        return f"the control character {name_character(sign)}; remove it"
    return f"{name_character(sign)}, which is invisible here; remove it"


def name_character(sign: str) -> str:
    """Return the code point and name of a character: `U+0430 CYRILLIC SMALL LETTER A`."""
    return f"U+{ord(sign):04X} {unicodedata.name(sign, '')}".rstrip()


def quote(word: str, most: int = 0) -> str:
    """Return a user's word in quotes, cut to `most` characters, its non-ASCII characters named.

    Such a character may look like an ASCII one.
    """
    shown = f"'{word[:most]}...'" if most and len(word) > most else f"'{word}'"
    strange = next((sign for sign in word if not sign.isascii()), None)
    return shown if strange is None else f"{shown} ({strange} is {name_character(strange)})"


def _belongs(text: str, at: int) -> bool:
    """Return whether a suspect character is used as its script requires."""
    sign, before = text[at], text[at - 1] if at else " "
    kind = unicodedata.category(before)
    if sign in _JOINERS:
        if kind[0] in "LM" and any(first <= ord(before) <= last for first, last in _WRITTEN_WITH_JOINERS):
            return True
        return sign == "\u200d" and (kind in ("So", "Sk") or before == "\ufe0f")
    if sign in _MARKS:
        return kind != "Cf" and bool(_RIGHT_TO_LEFT.search(text, max(at - _NEAR, 0), at + _NEAR))
    if _SELECTOR.match(sign):
        return ord(before) >= _LEAST_SELECTED and kind[0] in "LS"
    return _OF_MONGOLIAN.match(sign) is not None and ord(before) in _MONGOLIAN_LETTERS and kind == "Lo"


# csv fields ---------------------------------------------------------------------------------------------------------
# Fields of CSV that no spreadsheet runs as a formula.

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Characters that begin a formula (OWASP, CSV Injection), also in full width, which a Japanese Excel reads alike."""
_INNER = re.compile("(?<=[;\t])(?=[=+@＝＋－＠-])")
"""The start of a formula in a field for a program that separates by semicolons or tabs."""


def escape_formula(value: object) -> object:
    """Return a value for a field of CSV; an apostrophe keeps a spreadsheet from running text as a formula.

    Booleans become words; the items of a list are joined with spaces.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        value = " ".join(map(str, value))
    if not isinstance(value, str):
        return value
    return _INNER.sub("'", f"'{value}" if value.startswith(FORMULA_STARTS) else value)


def printable(text: str) -> str:
    """Return a text without control characters: line ends and tabs become spaces, the others �."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else " " if sign.isspace() else "�" for sign in text)


# readable files -----------------------------------------------------------------------------------------------------
# Files that are never read, whatever refers to them.

GIT = ".git"
"""The private folder of git: its configuration may hold credentials."""


MAX_FILE = 5 * 10**6
"""Maximum size of a file, a workbook at most [bytes]; larger ones are not read at all."""


def read_sent(path: Path, most: int = MAX_FILE) -> bytes:
    """Return the bytes of a file that was received. Raises OSError for a file of git, and for one too large."""
    refuse_git_files(path)
    with path.open("rb") as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"Larger than {most} bytes", str(path))
    return content


def refuse_git_files(path: Path) -> None:
    """Raise OSError for a path that leads into a folder of git, also through links."""
    if GIT in Path(os.path.realpath(path)).parts:
        raise OSError(errno.EACCES, f"of {GIT} nothing is read", str(path))
