"""Environment variables of the processes that the suite starts."""

import os
import sys
from collections.abc import Mapping

KEEP_FREED_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(sys.maxsize)}
"""glibc keeps the memory that a step frees for the next step. By default it returns large arrays to the kernel, which clears every page again
for the next step: a sixth of a step of MobileNetV3 in Chainer, more with larger mini-batches (docs/models.md)."""


def child_environment(threads: int, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Environment of an implementation: thread counts of every BLAS and OpenMP, freed memory kept by the C library, unbuffered output."""
    counts = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")}
    kept = {name: value for name, value in base.items() if not name.startswith("PYTHON")}
    return {**kept, **counts, **KEEP_FREED_MEMORY, "PYTHONUNBUFFERED": "1", "PYTHONHASHSEED": "0"}


SUITE_VARIABLES = frozenset(child_environment(1, {}))
"""Names of the variables that every implementation gets, on every host."""
