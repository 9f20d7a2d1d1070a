"""The result of a search: designs with their measures, the best of them, and why others are excluded."""
