"""The predicted time of a training step: its terms, the fitted prediction coefficients, and its error."""
