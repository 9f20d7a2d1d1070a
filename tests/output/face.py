"""The bundled typeface: `python tests/output/face.py FOLDER` makes it anew from Inter 4.1 in a folder.

The folder is `web` of the release (https://github.com/rsms/inter/releases/tag/v4.1). What is left out is other scripts,
hinting, and features that exchange letters without being asked, such as an arrow for `->`. The advance widths stand
apart, because the program that measures text has no library that reads compressed fonts.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from fontTools.subset import Options, Subsetter, load_font, parse_unicodes, save_font
from fontTools.ttLib import TTFont

FACE = Path(__file__).parents[2] / "bomgen" / "data" / "face"
RELEASED = {
    "400": ("Inter-Regular.woff2", "e06f6b1bc553aaea4e4668023ed0ab0a147129c3107f511bc7d03d361b0ae085"),
    "600": ("Inter-SemiBold.woff2", "5cb7103e4e605989afebc03d989c79201e54b21b5183db33981f70db9178a301"),
}
"""Name and SHA-256 of the released file of each weight."""
CHARACTERS = ",".join(
    (
        "20-7E,A0-24F,259,1E00-1EFF",  # Latin with Extended-A, Extended-B and Extended Additional
        "2BB-2BC,2C6-2C7,2D8-2DD,300-304,306-30C,323,326-328",  # accents
        "394,3A9,3BC,3C0,2126",  # Greek of units and formulas
        "2000-200A,2010-2015,2018-2022,2026,202F-2030,2032-2033,2039-203A,2044",  # punctuation
        "2070,2074-207E,2080-208E,2150-215E",  # raised and lowered digits, fractions
        "20A0-20C0,2113,2116,2122",  # currencies, litre, number, trade mark
        "2190-2199,2202,2206,220F,2211-2212,2215,2219-221A,221E,2248,2260,2264-2265",  # arrows, mathematics
        "25CB,25CF,2605-2606,2713,2717",  # circles, stars, check marks
    )
)
EM = 1000
FEATURES = ["ccmp", "kern", "locl", "mark", "mkmk", "tnum"]


def make(released: Path) -> None:
    """Write the two fonts and their widths."""
    for weight, (name, digest) in RELEASED.items():
        content = (released / name).read_bytes()
        if sha256(content).hexdigest() != digest:
            sys.exit(f"{name} is not that of Inter 4.1")
        options = Options(flavor="woff2", hinting=False, layout_features=FEATURES)
        font = load_font(BytesIO(content), options)
        subsetter = Subsetter(options)
        subsetter.populate(unicodes=parse_unicodes(CHARACTERS))
        subsetter.subset(font)
        save_font(font, FACE / f"inter-{weight}.woff2", options)
    lines = [f'"{weight}": {json.dumps(widths(weight), ensure_ascii=False)}' for weight in RELEASED]
    (FACE / "widths.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def widths(weight: str) -> dict[str, int]:
    """Return the width of each character in thousandths of an em, rounded up."""
    font = TTFont(FACE / f"inter-{weight}.woff2")
    advances, per_em = font["hmtx"].metrics, font["head"].unitsPerEm
    return {chr(code): -(-advances[glyph][0] * EM // per_em) for code, glyph in sorted(font.getBestCmap().items())}


if __name__ == "__main__":
    make(Path(sys.argv[1]))
