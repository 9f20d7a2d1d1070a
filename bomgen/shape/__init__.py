"""What a transformer's shape says of its weights: every matrix, and with them how many parameters there are.

A model is taken for one of the Llama family unless its record says otherwise: gated feed-forward blocks, an RMS norm
before each block and one at the end, no biases, rotary positions, an output embedding of its own. Matrices are called
as the target modules of adapters (Hugging Face PEFT) are. A mixture of experts has gate_proj, up_proj and down_proj
twice when some of its layers are dense: of those layers, and of the experts.
"""

from __future__ import annotations

from bomgen.shape.blocks import GATED, NO_BIAS, PLAIN, Matrix, head_dim, kv_heads, matrices, missing, wrong
from bomgen.shape.counts import RMS, active_parameters, embeddings, none, parameters, tied_embedding

__all__ = [
    "GATED",
    "NO_BIAS",
    "PLAIN",
    "RMS",
    "Matrix",
    "active_parameters",
    "embeddings",
    "head_dim",
    "kv_heads",
    "matrices",
    "missing",
    "none",
    "parameters",
    "tied_embedding",
    "wrong",
]
