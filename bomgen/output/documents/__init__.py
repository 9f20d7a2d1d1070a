"""The documents of a quote: each module is a format (output/registry.py)."""
