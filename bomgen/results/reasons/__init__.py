"""Why something was chosen, and which alternatives were not, with the reason."""
