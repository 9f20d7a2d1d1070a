"""The time of a training step, predicted from published measurements: its terms, what was fitted, how sure it is."""
