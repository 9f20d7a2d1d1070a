"""The vendor's picture on the cover: its size is read from its first bytes, so no library of pictures is needed."""

from __future__ import annotations

import struct

from openpyxl.drawing.image import Image
from openpyxl.utils.units import pixels_to_points

from bomgen.core.document import Logo
from bomgen.output.xlsx.sheet import Sheet

_MOST_HIGH, _MOST_WIDE = 45, 320
"""[pixels]"""
_GAP = 6
"""Below the picture [points]."""
_PNG_SIZE, _PNG_SIZE_AT = struct.Struct(">4sII"), 12
"""The kind of the first chunk, width and height; the signature of the file and the length of the chunk come before."""
_PNG_HEADER = b"IHDR"
_JPEG_SEGMENT, _JPEG_FIRST = struct.Struct(">BBH"), 2
"""A segment begins with this byte, its kind and its length; the first one follows the mark of the file's start."""
_JPEG_FRAME, _JPEG_SIZE_AT = struct.Struct(">HH"), 5
"""Height and width, behind kind, length and precision of a segment that tells how a frame is coded."""
_MARKER = 0xFF
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""The kinds of segments that begin a frame (ITU-T T.81, table B.1): the others of that range are tables."""
_FORMATS = {"image/png": "png", "image/jpeg": "jpeg"}
"""Excel shows an SVG only beside a picture of another kind."""


class _Picture(Image):
    """A picture as openpyxl writes it, made without the library that openpyxl would read its size with."""

    def __init__(self, content: bytes, format: str, size: tuple[int, int]) -> None:
        self.format = format
        self.width, self.height = size
        self._content = content

    def _data(self) -> bytes:
        return self._content


def logo(sheet: Sheet, given: Logo | None) -> None:
    """Put a picture into a row of its own and go on below it; one that the sheet cannot show is left out."""
    size = shown_size(given) if given else None
    if given is None or size is None:
        return
    sheet.page.add_image(_Picture(given.content, _FORMATS[given.media_type], size), f"A{sheet.row}")
    sheet.page.row_dimensions[sheet.row].height = pixels_to_points(size[1]) + _GAP
    sheet.row += 1


def shown_size(given: Logo) -> tuple[int, int] | None:
    """Width and height that a picture is shown in [pixels]; None where nobody can tell or it is of another kind."""
    if given.media_type not in _FORMATS:
        return None
    try:
        width, height = _png(given.content) if _FORMATS[given.media_type] == "png" else _jpeg(given.content)
    except (struct.error, ValueError):
        return None
    if not width or not height:
        return None
    scale = min(1, _MOST_HIGH / height, _MOST_WIDE / width)
    return max(round(width * scale), 1), max(round(height * scale), 1)


def _png(content: bytes) -> tuple[int, int]:
    """Width and height of a PNG. Raises ValueError or struct.error where it does not begin as one does."""
    kind, width, height = _PNG_SIZE.unpack_from(content, _PNG_SIZE_AT)
    if kind != _PNG_HEADER:
        raise ValueError("no header")
    return width, height


def _jpeg(content: bytes) -> tuple[int, int]:
    """Width and height of a JPEG. Raises ValueError or struct.error where its segments do not lead to them."""
    at = _JPEG_FIRST
    while True:
        marker, kind, length = _JPEG_SEGMENT.unpack_from(content, at)
        if marker != _MARKER:
            raise ValueError("no segment")
        if kind in _FRAMES:
            height, width = _JPEG_FRAME.unpack_from(content, at + _JPEG_SIZE_AT)
            return width, height
        # Any number of fill bytes may stand before the kind.
        at += 1 if kind == _MARKER else 2 + length
