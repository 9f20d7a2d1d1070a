"""Files from other parties as data: price lists, bills and quotes in any layout.

The input is the bytes of a workbook or of delimited text; the output is tables of cells with their places, and what was
recognised in them.
"""
