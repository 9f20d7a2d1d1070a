"""What people read of results: the report in chapters, the quote, comparisons, differences, searches.

In come reports; out come documents of sections and tables, which any output writes.
"""
