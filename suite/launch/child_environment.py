"""Environment variables of the processes that the suite starts."""

import os
import sys
from collections.abc import Mapping

from suite.errors import SuiteError

KEEP_FREED_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(sys.maxsize)}
"""glibc keeps the memory that a step frees for the next step. By default it returns large arrays to
the kernel, which clears every page again for the next step: a sixth of a step of MobileNetV3 in
Chainer, more with larger mini-batches (docs/decisions.md, 25)."""

RETURN_FREED_MEMORY = {
    "MALLOC_MMAP_THRESHOLD_": str(2**18),
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
}
"""In a memory budget glibc takes every array of 256 KiB and more from the kernel and returns it
when it is freed: no gaps between arrays remain. Huge pages, where the kernel has them, make the
clearing of returned pages cheaper (docs/memory.md)."""


WITHOUT_TF32 = {"NVIDIA_TF32_OVERRIDE": "0"}
"""No library of NVIDIA's computes in TF32, whatever a framework sets: Chainer has no switch for
it."""

SET_BY_CONTAINERS = ("NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE")
"""Variables that override a framework's switch of TF32; NVIDIA's containers of PyTorch set the
second one."""


def child_environment(
    threads: int, base: Mapping[str, str] = os.environ, in_budget: bool = False, tf32: bool = False
) -> dict[str, str]:
    """Environment of an implementation: thread counts of every BLAS and OpenMP, freed memory kept
    by the C library, unbuffered output, no TF32.

    ``in_budget``: freed memory is returned to the kernel. ``tf32``: the framework's own switch of
    TF32 decides.
    """
    counts = {
        name: str(threads)
        for name in (
            "OMP_NUM_THREADS",
            "OPENBLAS_NUM_THREADS",
            "MKL_NUM_THREADS",
            "NUMEXPR_NUM_THREADS",
        )
    }
    kept = {
        name: value
        for name, value in base.items()
        if not name.startswith("PYTHON") and name not in SET_BY_CONTAINERS
    }
    freed = RETURN_FREED_MEMORY if in_budget else KEEP_FREED_MEMORY
    return {
        **kept,
        **counts,
        **freed,
        **({} if tf32 else WITHOUT_TF32),
        "PYTHONUNBUFFERED": "1",
        "PYTHONHASHSEED": "0",
    }


SUITE_VARIABLES = frozenset(child_environment(1, {}))
"""Names of the variables that every implementation gets, on every host."""


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def refuse_threads(threads: int, option: str = "--threads", cores: int | None = None) -> None:
    """Raise SuiteError for a number of threads that is not 1 to ``cores`` (None: the usable ones),
    naming the option."""
    most = usable_cores() if cores is None else cores
    if not 1 <= threads <= most:
        raise SuiteError(
            f"{option} {threads} is not possible on {most} core{'s' * (most > 1)}; use a number"
            f" from 1 to {most}."
        )
