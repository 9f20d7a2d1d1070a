"""Search in the words of customers: every word counts, and what the catalogue lacks is said with what is nearest."""

from __future__ import annotations

import pytest
from depth import few

from bomgen.catalog.files import Catalog
from bomgen.catalog.search import WORDS, search
from bomgen.core.resources import folder
from bomgen.core.yaml_source import own

CATALOG = Catalog()


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("CX8", ["cx8-2x400", "cx8-800", "cx8-c8220", "cx8-extension-card"]),
        ("connectx-8 c8180", ["cx8-800"]),
        ("LPO", ["lpo-800g-2dr4", "lpo-800g-dr8", "ruijie-400g-q112-dr4-l"]),
        ("800G LPO", ["lpo-800g-2dr4", "lpo-800g-dr8"]),
        ("ProSupport", ["dell-prosupport", "dell-prosupport-plus", "dell-prosupport-storage"]),
        ("昇腾910B", ["ascend-910b1", "ascend-910b2", "ascend-910b3", "ascend-910b4"]),
        ("１２８ x 400G of nothing", []),
        ("L4", ["l4", "pcie-8gpu-l4"]),
        ("33kW power shelf", ["power-shelf-33kw"]),
        ("GB200 NVL4", ["dell-xe8712"]),
        ("7060XE7-64PS", ["7060xe7-64ps"]),
        ("1.6T 2xDR4", ["1600g-2xdr4"]),
        ("Active Electrical Cable Amphenol", ["amphenol-aec-800g-2x400g"]),
    ],
)
def test_parts_have_every_word(text: str, ids: list[str]) -> None:
    """In names, makers, media and rates, whatever the case, hyphens and the width of signs; those of the name first."""
    found = [part.id for part in search(CATALOG, text).parts]
    assert found[: len(ids)] == ids
    assert ids or not found


def test_a_number_of_gpus_is_that_of_a_server() -> None:
    """`8xH200` is what servers of eight H200 are called."""
    assert {part.value("gpus") for part in search(CATALOG, "8xH200").parts} == {8}
    assert {part.value("gpu") for part in search(CATALOG, "8xH200").parts} == {"h200-sxm", "h200-nvl"}


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("H20 141GB", "h20"),
        ("1.6T AEC", "credo-zeroflap-800g"),
        ("N9364E-SG3", "cisco-n9364e-sg2"),
        ("Rubin Ultra", "rubin"),
        ("Maia 200", "trainium3"),
    ],
)
def test_what_the_catalogue_lacks_has_the_nearest(text: str, near: str) -> None:
    """By most of the words, by a similar name, or by what the file of words says."""
    found = search(CATALOG, text)
    assert not found.parts
    assert near in [part.id for part in found.nearest]


def test_what_is_not_sold_yet_is_said() -> None:
    """Roadmaps are asked for."""
    assert search(CATALOG, "rubin ultra").why.startswith("not sold yet")


def test_what_is_called_missing_is_not_there() -> None:
    """A part that is added ends the entry of the file; the nearest of each are parts."""
    for entry in own(folder("data") / WORDS, WORDS).data["missing"]:
        for name in few(entry["names"], 3):
            found = search(CATALOG, name)
            assert (found.parts, found.why) == ((), entry["why"])
            assert len(found.nearest) == len(entry["nearest"])
