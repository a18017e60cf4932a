"""Bundles of schema 1 (suite 0.1.0): the same quantities under older names.

Their step tables are read under the current names (:mod:`suite.bundle.tables`). Their derived files
are not converted: figures are recomputed from the raw records, and the checker compares these with
the files, number by number. Explanatory text (``method``, ``reason``) is not compared.
"""

from collections.abc import Mapping
from typing import Any

from suite.metrics.event_counts import EPOCH_COUNTS, EVALUATION
from suite.metrics.figure import OPTIONAL
from suite.metrics.load_figures import LOAD_FIGURES

EPOCH_NAMES = {"fetch_stall_s": "fetch_s", "copy_s": "h2d_s", "communication_s": "comm_s"}
FIGURE_NAMES = {
    "samples_per_s": "throughput",
    "compute_share": "accelerator_utilisation",
    "resident_sum_max_bytes": "peak_rss_bytes",
}
RANK_NAMES = {"communication_s": "waited_s"}
ADDED_KEYS = (
    *OPTIONAL,
    "energies",
    "by_unit",
    "ratios_by_unit",
    "start_distance_s",
    "stop_distance_s",
    "is_whole",
    "worker_start_s",
)
ADDED_FIGURES = (
    "initialisation_s",
    "gross_time_s",
    "uncounted_s",
    "l1d_load_miss_ratio",
    "worker_start_s",
    "accelerator_utilisation",
    "peak_memory_bytes",
    *(name for name, *_ in EPOCH_COUNTS),
    *LOAD_FIGURES,
)
ADDED_EVENTS = ("l1d_loads", "l1d_load_misses")
TEXT_KEYS = ("method", "reason")


def summary_as_schema_1(summary: Mapping[str, Any]) -> dict[str, Any]:
    """A current summary under the names of schema 1, without text."""
    older: dict[str, Any] = {**summary, "schema": 1}
    older["epochs"] = [_renamed(epoch, EPOCH_NAMES) for epoch in summary["epochs"]]
    older["figures"] = _older_figures(summary["figures"])
    if "nodes" in summary:
        older["nodes"] = [
            {**node, "figures": _older_figures(node["figures"])} for node in summary["nodes"]
        ]
    if "ranks" in summary:
        older["ranks"] = [_renamed(rank, RANK_NAMES) for rank in summary["ranks"]]
    return dict(numbers_only(older))


def counters_as_schema_1(counters: Mapping[str, Any]) -> dict[str, Any]:
    """Current counters in schema 1, without text."""
    phases = {
        name: _older_phase(phase)
        for name, phase in counters["phases"].items()
        if not name.startswith(EVALUATION)
    }
    return dict(numbers_only({**counters, "phases": phases, "schema": 1}))


def _older_phase(phase: Mapping[str, Any]) -> dict[str, Any]:
    events = {name: event for name, event in phase["events"].items() if name not in ADDED_EVENTS}
    return {
        **phase,
        "events": events,
        "ratios": {
            name: value for name, value in phase["ratios"].items() if name not in ADDED_FIGURES
        },
    }


def numbers_only(value: Any) -> Any:
    """A JSON value without explanatory text and without keys that schema 1 did not have."""
    if isinstance(value, Mapping):
        return {
            key: numbers_only(each)
            for key, each in value.items()
            if key not in (*TEXT_KEYS, *ADDED_KEYS)
        }
    return [numbers_only(each) for each in value] if isinstance(value, list | tuple) else value


def _older_figures(figures: Mapping[str, Any]) -> dict[str, Any]:
    return _renamed(
        {name: figure for name, figure in figures.items() if name not in ADDED_FIGURES},
        FIGURE_NAMES,
    )


def _renamed(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in values.items()}
