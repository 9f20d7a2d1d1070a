"""FLOPs of attention: of the scores and of their product with the values, which 6 N D leaves out.

Published utilisations differ by 4 to 21 % in whether they count them, and whether half of them under a causal mask.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from bomgen.catalog.model_parameters import matrices
from bomgen.catalog.parts import Model
from bomgen.core.diagnostics import Infeasible
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Given, Reference, formula
from bomgen.plan.types import Training

NONE = "none"
_KORTHIKANTI = Reference(
    "Korthikanti et al. 2022, Reducing Activation Recomputation in Large Transformer Models, section 5",
    "https://arxiv.org/abs/2205.05198",
    "2026",
)
_DAO = Reference("Dao 2023, FlashAttention-2, section 4.1", "https://arxiv.org/abs/2307.08691", "2026")
_PALM = Reference("Chowdhery et al. 2022, PaLM, appendix B", "https://arxiv.org/abs/2204.02311", "2026")
CAUSAL_SHARE = Fraction(1, 2)
"""Half of the score matrix is computed under a causal mask."""
ATTENTION_SHARES = {"causal": CAUSAL_SHARE, "full": Fraction(1)}
PASS_FLOPS = Figure(
    6,
    "FLOPs",
    Cited(
        message("attention-training-flops"),
        (_PALM,),
        "high",
        "12 for both together where they are equally wide",
    ),
)
FORWARD_SHARE = Figure(Fraction(1, 3), "share", Cited(message("attention-forward-share"), (_KORTHIKANTI,), "high"))
KERNEL_SHARE = Figure(
    Fraction(1, 6),
    "share",
    Cited(message("attention-recomputed-share"), (_DAO,), "high", "1 of 6 products"),
)


CONVENTIONS = {
    name: Figure(name, "word", Cited(message("attention-convention"), (_PALM,), "high"))
    for name in (NONE, *ATTENTION_SHARES)
}


@dataclass(frozen=True, slots=True)
class Heads:
    """The attention heads of a model and their windows."""

    layers: Figure
    count: Figure
    width: Figure
    value_width: Figure
    """Width of the values, which differs only in latent attention."""
    window: Figure | None
    """Sliding window in tokens; None: every layer attends to all tokens."""
    window_layers: Figure
    """Layers with the sliding window, where there is one."""


def attention_heads(model: Model) -> Heads | None:
    """The attention heads of a model; None when its shape is not known."""
    layers, heads, width = model.shape.get("layers"), model.shape.get("heads"), matrices.head_dim(model)
    if layers is None or heads is None or width is None:
        return None
    return Heads(
        layers=layers,
        count=heads,
        width=width,
        value_width=model.shape.get("v_head_dim", width),
        window=model.shape.get("window"),
        window_layers=model.shape.get("window_layers", layers),
    )


def positions(heads: Heads, convention: Figure, sequence: Figure) -> Figure:
    """Positions that a token of a sequence attends to, summed over all layers, by a convention."""
    if heads.window is None:
        return positions_met(convention, heads.layers, sequence)
    return positions_met_in_windows(convention, heads.layers, sequence, heads.window_layers, heads.window)


@formula("positions")
def positions_met(attention: str, layers: int, sequence: int) -> Fraction:
    """Positions that a token attends to, summed over all layers."""
    return ATTENTION_SHARES[attention] * layers * sequence


@formula("positions")
def positions_met_in_windows(attention: str, layers: int, sequence: int, window_layers: int, window: int) -> Fraction:
    """Positions that a token attends to, summed over all layers, of which some have a sliding window."""
    return ATTENTION_SHARES[attention] * (layers - window_layers) * sequence + window_layers * (
        min(window, sequence) - (attention == "causal") * Fraction(min(window, sequence) ** 2, 2 * sequence)
    )


@formula("FLOPs", source="Chowdhery et al. 2022, arXiv 2204.02311, appendix B: 12 L H Q T a token")
def attention_flops(
    positions: Fraction, pass_per_unit: int, heads: int, head_dim: int, value_dim: int, tokens: int, epochs: int
) -> int:
    """Forward and backward FLOPs of the attention scores and of their product with the values."""
    return ceil(pass_per_unit * heads * (head_dim + value_dim) * positions * tokens * epochs)


@formula("FLOPs")
def recomputed_share(attention_part: int, share: Fraction) -> Fraction:
    """Attention FLOPs that are recomputed, by recomputation of activations or by the kernel."""
    return attention_part * share


@formula("share")
def sum_of_shares(forward: Fraction, kernel: Fraction) -> Fraction:
    """Share of attention FLOPs that recomputation and FlashAttention recompute."""
    return forward + kernel


@formula("share")
def mfu_of_convention(mfu: Fraction, model_flops: int, flops_of_convention: int) -> Fraction:
    """The same speed as a share of the peak, with model FLOPs counted by another convention."""
    return Fraction(mfu) * flops_of_convention / model_flops


def recomputed_attention(training: Training, attention_part: Figure) -> Figure | None:
    """Attention FLOPs that a run recomputes; None: none.

    Both modes of recomputation repeat the forward pass of attention; the backward pass of FlashAttention repeats the
    scores.
    """
    again = training.recompute.value != NONE
    if training.flash_attention.value == "yes":
        share = sum_of_shares(FORWARD_SHARE, KERNEL_SHARE) if again else KERNEL_SHARE
    elif again:
        share = FORWARD_SHARE
    else:
        return None
    return recomputed_share(attention_part, share)


def can_count_attention(training: Training) -> bool:
    """Whether attention FLOPs can be counted for a sequence length that the plan gives."""
    sequence = training.sequence
    return sequence is not None and isinstance(sequence.origin, Given) and attention_heads(training.model) is not None


def attention_flops_of_run(training: Training, convention: Figure) -> Figure:
    """Attention FLOPs of a run by a convention: causal or full.

    Raises Infeasible when the model's shape or the sequence is not known.
    """
    heads = attention_heads(training.model)
    if training.sequence is None or heads is None:
        message = (
            f"attention FLOPs of {training.model.identity.name} need layers, heads, head_dim and `sequence`; "
            "give them, name a catalogue model, or leave `attention: none`"
        )
        raise Infeasible(message, because=training.attention, rule="unknown-shape")
    return attention_flops(
        positions(heads, convention, training.sequence),
        PASS_FLOPS,
        heads.count,
        heads.width,
        heads.value_width,
        training.tokens,
        training.epochs,
    )
