"""Finds the benchmarks: every module of ``benchmarks/`` and ``benchmarks/speed/`` that is not
declared a helper here."""

import importlib
from pathlib import Path

from benchmarks.runner.benchmark import Benchmark
from suite.errors import SuiteError
from suite.files.paths import repository_root

HELPERS = {
    "benchmarks.__init__": "the package",
    "benchmarks.__main__": "the command line that runs all benchmarks",
    "benchmarks.loss_curves": "draws the losses of given runs; it measures nothing",
    "benchmarks.predict_family": (
        "draws laws of simulated boards, which benchmarks.predict_modes judges by"
    ),
    "benchmarks.predict_modes": "judges predictions of modes; its figures are no ratios of times",
    "benchmarks.predict_widths": (
        "learns how wide intervals of predictions must be; it measures no time"
    ),
    "benchmarks.target_scatter": (
        "trains many seeds, and says when they reached a target; it measures no time"
    ),
    "benchmarks.speed.__init__": "the package",
    "benchmarks.speed.loops": "what the three benchmarks of speed/ have in common",
}
"""Modules beside the benchmarks that are none, with the reason."""

HELPER_ROOMS = {
    "benchmarks.predict_laws": "laws of simulated boards, by which predictions are judged",
    "benchmarks.runner": "the interface, and what finds, runs and reports benchmarks",
    "benchmarks.workers": "programs that benchmarks start in another environment",
}
"""Packages without benchmarks, with the reason."""


def modules(root: Path | None = None) -> tuple[str, ...]:
    """The dotted name of every module under ``benchmarks/``, helpers included."""
    root = root or repository_root()
    paths = sorted((root / "benchmarks").rglob("*.py"))
    return tuple(".".join(path.relative_to(root).with_suffix("").parts) for path in paths)


def is_helper(module: str) -> bool:
    """True for a module that is declared a helper, by itself or with its package."""
    return module in HELPERS or module.rpartition(".")[0] in HELPER_ROOMS


def short_name(module: str) -> str:
    """A benchmark's name: its module without the package ``benchmarks``."""
    return module.removeprefix("benchmarks.")


def discover() -> dict[str, Benchmark]:
    """Every benchmark by name; raises SuiteError for a module that is neither a benchmark nor a
    declared helper."""
    return {short_name(module): _load(module) for module in modules() if not is_helper(module)}


def _load(module: str) -> Benchmark:
    found = getattr(importlib.import_module(module), "BENCHMARK", None)
    if not isinstance(found, Benchmark):
        raise SuiteError(
            f"{module} defines no BENCHMARK; define one as benchmarks/runner/benchmark.py shows, or"
            " declare the module in HELPERS of benchmarks/runner/discovery.py with the reason."
        )
    return found
