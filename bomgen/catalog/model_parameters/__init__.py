"""Parameter counts of transformers, matrix by matrix.

A model is assumed to be of the Llama family unless its record says otherwise: gated feed-forward blocks, an RMS norm
before each block and one at the end, no biases, rotary positions, a separate output embedding. Matrices have the names
of the target modules of adapters (Hugging Face PEFT). A mixture of experts has gate_proj, up_proj and down_proj twice
when some of its layers are dense: in those layers, and in the experts.
"""
