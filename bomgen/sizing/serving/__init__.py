"""Inference: memory of replicas, their speed at a load, and replicas for a load."""
