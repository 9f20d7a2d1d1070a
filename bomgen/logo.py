"""The vendor's picture: what kind of file it is, told by its first bytes."""

from __future__ import annotations

import re

from bomgen.document import Logo

MOST_LOGO = 10**6
"""Bytes of a picture that every quote carries."""
_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
_SVG = re.compile(rb"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<svg[\s>]", re.DOTALL)


def logo(content: bytes) -> Logo | None:
    """A picture with its media type; None for what is no PNG, JPEG or SVG, or too large.

    An SVG is only ever shown as an image, where no script of it runs and nothing is fetched.
    """
    if len(content) > MOST_LOGO:
        return None
    if content.startswith(_PNG):
        return Logo("image/png", content)
    if content.startswith(_JPEG):
        return Logo("image/jpeg", content)
    return Logo("image/svg+xml", content) if _SVG.match(content) else None
