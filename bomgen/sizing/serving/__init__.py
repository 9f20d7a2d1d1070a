"""Inference: memory of replicas, requests in flight, and a roofline of their throughput."""
