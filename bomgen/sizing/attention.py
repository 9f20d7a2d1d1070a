"""FLOPs of attention: of the scores and of their product with the values, which 6 N D leaves out.

Published utilisations differ by 4 to 21 % in whether they count them, and whether half of them under a causal mask.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from bomgen import shape
from bomgen.figures import Cited, Figure, Given, Reference, formula
from bomgen.plan import Training
from bomgen.problems import Infeasible

NONE = "none"
_PALM = Reference("Chowdhery et al. 2022, PaLM, appendix B", "https://arxiv.org/abs/2204.02311", "2026")
CAUSAL_SHARE = Fraction(1, 2)
"""Half of the score matrix is computed under a causal mask."""
ATTENTION_SHARES = {NONE: Fraction(0), "causal": CAUSAL_SHARE, "full": Fraction(1)}
PASS_FLOPS = 6
"""Training FLOPs a token, head, position of context and unit of width of the scores, and again of the values.

Forward and backward, both together 12 for equal widths (PaLM, arXiv 2204.02311, appendix B).
"""
KERNEL_SHARE = Fraction(1, 6)
"""One matrix product of the six that attention takes forward and backward."""
BACKWARD_SHARE = 3
"""Forward and backward pass are three times the forward pass."""
CONVENTIONS = {
    name: Figure(name, "word", Cited("convention of counting attention FLOPs", (_PALM,), "high"))
    for name in ATTENTION_SHARES
}


@formula("positions")
def positions_met(attention: str, layers: int, sequence: int) -> Fraction:
    """Positions of context that a token meets, over all layers."""
    return ATTENTION_SHARES[attention] * layers * sequence


@formula("positions")
def positions_met_in_windows(attention: str, layers: int, sequence: int, window_layers: int, window: int) -> Fraction:
    """Positions of context that a token meets, over all layers, where some see no further than a window."""
    return ATTENTION_SHARES[attention] * (layers - window_layers) * sequence + window_layers * (
        min(window, sequence) - (attention == "causal") * Fraction(min(window, sequence) ** 2, 2 * sequence)
    )


@formula("FLOPs", source="Chowdhery et al. 2022, arXiv 2204.02311, appendix B: 12 L H Q T a token")
def attention_flops(positions: Fraction, heads: int, head_dim: int, value_dim: int, tokens: int, epochs: int) -> int:
    """Forward and backward FLOPs of the attention scores and of their product with the values."""
    return ceil(PASS_FLOPS * heads * (head_dim + value_dim) * positions * tokens * epochs)


@formula("FLOPs", source="Korthikanti et al. 2022, arXiv 2205.05198; Dao 2023, arXiv 2307.08691, section 4.1")
def recomputed_attention(recompute: str, flash_attention: str, attention_part: int) -> Fraction:
    """FLOPs of attention computed a second time.

    Either mode of recomputation runs its forward pass again, a third of forward and backward; the backward pass of
    FlashAttention computes the scores again, one of the six matrix products of both passes.
    """
    return attention_part * ((recompute != NONE) / Fraction(BACKWARD_SHARE) + (flash_attention == "yes") * KERNEL_SHARE)


@formula("share")
def mfu_of_convention(mfu: Fraction, model_flops: int, flops_of_convention: int) -> Fraction:
    """The same speed as a share of the peak, with model FLOPs counted by another convention."""
    return Fraction(mfu) * flops_of_convention / model_flops


def known(training: Training) -> bool:
    """Whether attention can be counted, and by a length of sequence that somebody asked for."""
    sequence = training.sequence
    return sequence is not None and isinstance(sequence.origin, Given) and _shape(training) is not None


def flops(training: Training, convention: Figure) -> Figure:
    """Attention FLOPs of a run by a convention: causal or full.

    Raises Infeasible when the model's shape or the sequence is not known.
    """
    known_shape = _shape(training)
    if training.sequence is None or known_shape is None:
        message = (
            f"attention FLOPs of {training.model.identity.name} need layers, heads, head_dim and `sequence`; "
            "give them, name a catalogue model, or leave `attention: none`"
        )
        raise Infeasible(message, because=training.attention, rule="unknown-shape")
    layers, window = known_shape["layers"], known_shape.get("window")
    if window:
        narrow = known_shape.get("window_layers", layers)
        positions = positions_met_in_windows(convention, layers, training.sequence, narrow, window)
    else:
        positions = positions_met(convention, layers, training.sequence)
    return attention_flops(
        positions,
        known_shape["heads"],
        known_shape["head_dim"],
        known_shape.get("v_head_dim", known_shape["head_dim"]),
        training.tokens,
        training.epochs,
    )


def _shape(training: Training) -> dict[str, Figure] | None:
    """The model's shape with the width of its heads; None when it is not known."""
    found, width = dict(training.model.shape), shape.head_dim(training.model)
    if width:
        found["head_dim"] = width
    return found if {"layers", "heads", "head_dim"} <= found.keys() else None
