"""Formats of the documents of `bomgen build`: each module declares one (output/registry.py)."""
