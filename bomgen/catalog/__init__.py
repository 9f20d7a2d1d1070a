"""Which parts and models there are, and what is known of each.

In come the YAML records of `data/` and of a plan's own part folders; out come immutable records of GPUs, servers, NICs,
switches, modules, cables, racks and models, every figure with its source.
"""
