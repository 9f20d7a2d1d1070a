"""How many parameters a transformer has, matrix by matrix.

A model is taken for one of the Llama family unless its record says otherwise: gated feed-forward blocks, an RMS norm
before each block and one at the end, no biases, rotary positions, an output embedding of its own. Matrices are called
as the target modules of adapters (Hugging Face PEFT) are. A mixture of experts has gate_proj, up_proj and down_proj
twice when some of its layers are dense: of those layers, and of the experts.
"""
