"""A sweep over GPUs, days and topologies, cell by cell: editors and Jupyter (by jupytext) open it as a notebook."""

# %% [markdown]
# # How large a cluster, on which GPU, and how soon?
# A plan is plain data here; every cell can be run by itself after those above it.

# %%
from itertools import product

from bomgen import PlanErrors, build

PLAN = {
    "bomgen": 1,
    "name": "sweep",
    "workload": {
        "training": {
            "model": "llama-3.1-70b",
            "tokens": "2T",
            "target_days": 30,
            "mfu": "40%",
            "sequence": 8192,
            "recompute": "selective",
        }
    },
    "cluster": {"gpu": "h100-sxm"},
    "fabrics": {"compute": {"topology": "fat-tree", "switch": "qm9700"}},
}

# %% [markdown]
# ## GPUs and days

# %%
print(f"{'GPU':12} {'days':>5} {'GPUs':>6} {'switches':>8} {'modules':>8} {'MW':>6}")
for gpu, days in product(("h100-sxm", "h200-sxm", "b200-sxm"), (15, 30, 60)):
    result = build(PLAN, set={"cluster.gpu": gpu, "workload.training.target_days": days})
    gpus, switches, modules, watts = (
        result.number(path)
        for path in (
            "cluster.gpus",
            "fabrics.compute.switches.total",
            "fabrics.compute.transceivers.total",
            "cluster.power_w",
        )
    )
    print(f"{gpu:12} {days:5} {gpus:6} {switches:8} {modules:8} {float(watts) / 1e6:6.2f}")

# %% [markdown]
# ## Topologies

# %%
for topology, servers in product(("single-switch", "fat-tree", "rail-optimized"), (8, 128, 512)):
    fabric = {"topology": topology, "switch": "qm9700"}
    cluster = {"gpu": "h100-sxm", "servers": servers}
    try:
        result = build({"bomgen": 1, "name": "sweep", "cluster": cluster, "fabrics": {"compute": fabric}})
    except PlanErrors as errors:
        print(f"{topology:15} {servers:4} servers: {errors.problems[0].message}")
        continue
    tiers = result.data["fabrics"]["compute"]["switches"]
    hops, modules = result.number("fabrics.compute.hops"), result.number("fabrics.compute.modules_per_gpu.800G")
    size = f"{tiers['total']} switches, {hops} hops, {modules:.2f} 800G modules a GPU"
    print(f"{topology:15} {servers:4} servers: {size}")

# %% [markdown]
# ## Why so many leaves?

# %%
result = build(PLAN)
print(result.explain("fabrics.compute.switches.leaf", depth=2))

# %% [markdown]
# ## The bill, as a notebook shows it

# %%
result  # noqa: B018 - a notebook shows what stands on the last line of a cell
