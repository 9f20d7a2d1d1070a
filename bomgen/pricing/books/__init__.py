"""Price books: their files, their tables, and the price of a part for a quantity."""
