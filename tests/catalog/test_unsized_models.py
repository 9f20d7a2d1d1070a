"""Models that are not sized: told by their names from language models, misspelt ones too."""

from __future__ import annotations

import pytest

from bomgen.catalog.files import Catalog
from bomgen.catalog.models import kind_of_unsized


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("stable-diffusion-xl", "diffusion"),
        ("Stable Diffusion 3.5", "diffusion"),
        ("black-forest-labs/FLUX.1-dev", "diffusion"),
        ("Wan2.2", "diffusion"),
        ("openai/whisper-large-v3", "speech"),
        ("vit", "vision"),
        ("ViT_L-16", "vision"),
        ("vitis-7b", None),
        ("lama-2-7b", None),
    ],
)
def test_kinds(name: str, kind: str | None) -> None:
    """By the beginning of the name, without the publisher before it."""
    assert kind_of_unsized(name) == kind


def test_no_language_model_is_taken_for_another() -> None:
    """Neither by its id nor by one of its other names."""
    names = [name for record in Catalog().all("model") for name in (record.id, *record.names)]
    assert [name for name in names if kind_of_unsized(name)] == []
