"""How many GPUs and servers a workload takes, whether the model fits, and how long it runs.

In come the workload and the cluster of a plan; out come FLOPs, GPUs, servers, days, memory per GPU, parallelism,
throughput and storage, every number with its formula.
"""
