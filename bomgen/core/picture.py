"""The vendor's picture: what kind of file it is, told by its first bytes."""

from __future__ import annotations

import re
from typing import NamedTuple

MOST_LOGO = 10**6
"""Bytes of a picture that every quote carries."""
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
_SVG = re.compile(
    rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?((?><!--.*?-->|<!DOCTYPE[^>\[]*>)\s*)*+<svg(\s[^<]*)?>", re.DOTALL
)
"""Comments are not gone back into: of a thousand of them there are more ways to read than time for it."""
_PNG_SIZE = slice(16, 24)
"""Where a PNG holds its width and height, four bytes each."""
_MOST_PIXELS = 10**4
"""Of width and height."""


class Logo(NamedTuple):
    """A picture of the vendor."""

    media_type: str
    content: bytes


def logo(content: bytes) -> Logo | None:
    """A picture with its media type; None for what is no PNG, JPEG or SVG, or too large.

    An SVG is only ever shown as an image, where no script of it runs and nothing is fetched.
    """
    if len(content) > MOST_LOGO:
        return None
    if content.startswith(_PNG):
        return Logo("image/png", content) if _has_size(content) else None
    if content.startswith(_JPEG):
        return Logo("image/jpeg", content)
    return Logo("image/svg+xml", content) if _SVG.match(content) else None


def _has_size(png: bytes) -> bool:
    """Whether a PNG tells a width and a height that a page can show."""
    size = png[_PNG_SIZE]
    half = len(size) // 2
    numbers = [int.from_bytes(side, "big") for side in (size[:half], size[half:])]
    return all(0 < number <= _MOST_PIXELS for number in numbers)
