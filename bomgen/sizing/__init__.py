"""Sizing: the GPUs and servers for a workload, whether the model fits, and the duration of the run.

The input is the workload and the cluster of a plan; the output is FLOPs, GPUs, servers, days, memory per GPU,
parallelism, throughput and storage, every number with its formula.
"""
