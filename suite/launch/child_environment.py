"""Environment variables of the processes that the suite starts."""

import os
import sys
from collections.abc import Mapping

KEPT_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(sys.maxsize)}
"""glibc keeps what a step frees for the next one. By default it gives large arrays back to the kernel, which clears every page again when the
next step asks for them: a sixth of a step of MobileNetV3 in Chainer, more with larger mini-batches (docs/models.md)."""


def child_environment(threads: int, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Environment of an implementation: thread counts of every BLAS and OpenMP, memory kept by the C library, output unbuffered."""
    counts = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")}
    kept = {name: value for name, value in base.items() if not name.startswith("PYTHON")}
    return {**kept, **counts, **KEPT_MEMORY, "PYTHONUNBUFFERED": "1", "PYTHONHASHSEED": "0"}


SUITE_VARIABLES = frozenset(child_environment(1, {}))
"""Names of the variables that every implementation gets, on whichever host."""
