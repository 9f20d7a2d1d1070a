"""A plan in the fragment of a link, which no server ever sees."""

from __future__ import annotations

import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

from bomgen.core.yaml_source import MAX_BYTES
from bomgen.serve.workspace import Refused


def pack(text: str) -> str:
    """Return a text compressed, in characters that an address may hold."""
    return urlsafe_b64encode(zlib.compress(text.encode("utf-8"), zlib.Z_BEST_COMPRESSION)).decode("ascii").rstrip("=")


def unpack(packed: str) -> str:
    """Return a text from `pack`. Raises Refused for other text, and for one that is longer than a plan may be."""
    try:
        unpacking = zlib.decompressobj()
        content = unpacking.decompress(urlsafe_b64decode(f"{packed}=="), MAX_BYTES)
        if not unpacking.eof:
            raise Refused("the link holds no whole plan; copy all of it")
        return content.decode("utf-8")
    except (ValueError, zlib.error):
        raise Refused("the link holds no plan; copy all of it") from None
