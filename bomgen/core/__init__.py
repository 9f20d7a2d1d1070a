"""Shared building blocks: figures with their derivation, problems at a line, units, money, languages, documents.

Nothing here knows what a GPU or a switch is. The input is text and plain values; the output is `Figure`s that carry
their formula and source, `Problem`s with file, line and column, exact amounts, and the `Document` that the outputs
write.
"""
