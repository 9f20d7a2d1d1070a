"""What others send, as data: price lists, bills and quotes of any layout.

In come the bytes of a workbook or of a text with separators; out come tables of cells, each with its place, and what
was recognised in them.
"""
