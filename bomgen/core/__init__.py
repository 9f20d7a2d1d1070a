"""What every room uses: numbers with their reason, problems at a line, units, money, languages, documents.

Nothing here knows what a GPU or a switch is. In come texts and plain values; out come `Figure`s that carry their
formula and source, `Problem`s with file, line and column, exact amounts, and the `Document` that the outputs write.
"""
