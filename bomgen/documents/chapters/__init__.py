"""The document that readers get, chapter by chapter, in the language of the quote."""
