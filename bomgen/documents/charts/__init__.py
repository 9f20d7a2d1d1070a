"""Contents of the report's charts: numbers of a result in drawing order, each with its text."""
