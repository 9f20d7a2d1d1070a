"""Training and fine-tuning: FLOPs, rates, days, memory, parallelism and interruptions."""
