"""Documents for readers: the report in chapters, the quote, comparisons, differences, searches.

The input is reports; the output is documents of sections and tables, in a form that any renderer can write.
"""
