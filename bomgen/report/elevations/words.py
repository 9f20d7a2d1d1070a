"""What drawings and tables both say of a rack."""

from __future__ import annotations

from bomgen.core.language import Language
from bomgen.report.elevations.types import HungPdu, dealt_text

ANY = "PDU"
"""What a PDU is called that nobody counts one by one."""


def pdu_words(language: Language, pdu: HungPdu) -> str:
    """A PDU of equal racks, in the first and in the last of them, with its feed."""
    name = dealt_text(pdu.name, pdu.second) if pdu.name else ANY
    return language.word("ui-pdu-on-feed", name=name, feed=pdu.feed) if pdu.feed else name
