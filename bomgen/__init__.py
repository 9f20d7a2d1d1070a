"""bomgen: bills of materials for AI clusters from a short YAML plan."""

__version__ = "0.1.0"
