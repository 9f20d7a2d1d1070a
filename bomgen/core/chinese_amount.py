"""Amounts of yuan in Chinese capitals, as contracts and invoices in China write them.

The rules are those of the People's Bank of China for negotiable instruments (支付结算办法, 1997, annex 1).
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

CURRENCY = "CNY"
_DIGITS = "零壹贰叁肆伍陆柒捌玖"
_PLACES = ("", "拾", "佰", "仟")
_GROUPS = ("", "万", "亿", "万亿", "亿亿")
"""The names of the groups of four digits, from the right."""
_GROUP = 4
_CENT, _CENTS, _TENTH = Decimal("0.01"), 100, 10


def write_in_capitals(amount: Decimal) -> str:
    """An amount of yuan, 0 or more and below 10^20, in capitals: 1234.50 is 人民币壹仟贰佰叁拾肆元伍角."""
    yuan, cents = divmod(int(amount.quantize(_CENT, ROUND_HALF_UP) * _CENTS), _CENTS)
    tenths, hundredths = divmod(cents, _TENTH)
    whole = f"{_whole(yuan)}元" if yuan else ""
    if not cents:
        return f"人民币{whole or '零元'}整"
    # A nought between yuan and cents is written, be it of the yuan or of the tenths.
    gap = "零" if yuan and (not tenths or not yuan % _TENTH) else ""
    part = f"{_DIGITS[tenths]}角" if tenths else ""
    part += f"{_DIGITS[hundredths]}分" if hundredths else ""
    return f"人民币{whole}{gap}{part}"


def _whole(number: int) -> str:
    """A number of 1 or more in capitals: noughts in a row are written once, at the end not at all."""
    written, nought = "", False
    digits = str(number)
    for index, digit in enumerate(digits):
        place = len(digits) - 1 - index
        group, within = divmod(place, _GROUP)
        if digit == "0":
            nought = True
        else:
            written += ("零" if nought and written else "") + _DIGITS[int(digit)] + _PLACES[within]
            nought = False
        if not within and int(digits[max(0, index - _GROUP + 1) : index + 1]):
            # Noughts that end a group go unwritten before thousands, as the annex has it of 107 000.53.
            written += _GROUPS[group]
            nought = nought and digits[index + 1 : index + 2] == "0"
    return written
