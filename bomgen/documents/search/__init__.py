"""The result of a search: designs with what they come to, the best of them, and why others are none of these."""
