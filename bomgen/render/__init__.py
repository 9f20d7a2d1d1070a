"""Documents as files: text, workbooks, data and drawings."""
