"""Values of a request that are the same for every workload and machine where no option of `suite
run` names them."""

PREFETCH = 2
"""Mini-batches that each worker prepares ahead (--prefetch)."""
CPU_WORKERS = 0
"""Data-loading processes of a run on the CPU (--workers), where they would take the model's
cores."""
