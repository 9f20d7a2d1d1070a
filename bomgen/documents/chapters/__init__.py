"""The report, chapter by chapter, in the language of the quote."""
