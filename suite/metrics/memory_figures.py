"""Figures of a run's memory: its peak by part, and what was planned and measured in a memory
budget."""

from dataclasses import replace
from typing import Any, TypeGuard

from reference_impls.contract import Recomputation
from suite.bundle.layout import RUN
from suite.bundle.log import Log
from suite.bundle.reader import Bundle
from suite.bundle.request import Unreadable, read_request
from suite.metrics.figure import Figure, unknown_figure

LOG = "log.txt"
NOT_LOGGED = (
    "the log does not contain it: the run was not finished, or it used an accelerator, where"
    " the model's blocks are not timed"
)


def memory_figures(bundle: Bundle, log: Log) -> dict[str, Figure]:
    """Planned and measured peak, recompute factors and spilled bytes; nothing for a run without a
    budget."""
    planned = planned_recomputation(bundle)
    if planned is None:
        return {}
    counted = log.value("recomputation")
    counted = counted if isinstance(counted, dict) else {}
    return {
        "memory_budget_bytes": Figure(planned.budget_bytes, "B", RUN, 1),
        "planned_memory_bytes": Figure(planned.planned_bytes, "B", RUN, 1),
        "measured_memory_bytes": _logged(
            _peak_of_rank_0(log), "B", "highest resident set (VmHWM) of the training process"
        ),
        "planned_recompute_factor": Figure(planned.planned_factor, "ratio", RUN, 1),
        "recompute_factor": _factor(counted),
        "spilled_bytes": _logged(
            counted.get("spilled_bytes"), "B", "activations written to storage in all steps"
        ),
        "spill_s": _logged(
            counted.get("storage_s", 0 if counted else None),
            "s",
            "time of the passes in which activations were written to storage or read from it",
        ),
    }


PARTS = (
    (
        "memory_framework_bytes",
        "framework",
        "resident before the model was built: interpreter and libraries",
    ),
    (
        "memory_mapped_bytes",
        "mapped",
        "files mapped after the framework was loaded that still are after the run: code of kernels;"
        " memory_rest_bytes includes the mapped data set",
    ),
    ("memory_weights_bytes", "parameter", "weights"),
    (
        "memory_gradients_bytes",
        "parameter",
        "one gradient per weight, as many bytes as the weights",
    ),
    ("memory_state_bytes", "velocity", "velocities of the optimizer"),
    ("memory_statistics_bytes", "statistic", "running means and variances of batch normalisation"),
)
REST = (
    "peak of rank 0 minus the other parts: activations, mini-batches, the mapped data set, scratch"
    " memory of kernels, and gaps of the allocator"
)
OF_PART = (
    "one gradient per trained weight, as many bytes as the velocities; memory_rest_bytes includes"
    " the gradients of untrained weights"
)
UPDATED_IMMEDIATELY = (
    "with a memory budget, each weight is updated as soon as its gradient is computed;"
    " memory_rest_bytes includes that gradient"
)
OF_CGROUP = (
    "highest memory charged to the run's cgroup, including cached pages of files that no other"
    " cgroup had read before"
)
NO_CGROUP = (
    "the run had no cgroup of its own (a sweep's memory_mb gives one), or the kernel does not"
    " record its peak (memory.peak needs Linux 5.19)"
)
ON_GPU = "the training state is in the accelerator's memory"


def part_figures(log: Log) -> dict[str, Figure]:
    """The peak of rank 0's process by part, and that of its cgroup; nothing where the
    implementation logged none."""
    logged = log.value("memory_parts")
    if not isinstance(logged, dict):
        return {}
    group = _cgroup_peak(logged)
    if log.value("accelerator") != "cpu":
        return {**{name: unknown_figure("B", LOG, ON_GPU) for name, _, _ in PARTS}, **group}
    figures = {name: _logged(logged.get(part), "B", method) for name, part, method in PARTS}
    if log.value("trained") is not None:
        figures["memory_gradients_bytes"] = _logged(logged.get("velocity"), "B", OF_PART)
    if isinstance(log.value("recomputation"), dict):
        figures["memory_gradients_bytes"] = Figure(0, "B", LOG, 1, method=UPDATED_IMMEDIATELY)
    rest = _logged(_peak_of_rank_0(log), "B", REST)
    parts = [figure.value for figure in figures.values() if figure.value is not None]
    if len(parts) < len(figures):
        rest = unknown_figure("B", LOG, NOT_LOGGED)
    elif rest.value is not None:
        rest = replace(rest, value=float(rest.value) - sum(parts))
    return {**figures, "memory_rest_bytes": rest, **group}


def _cgroup_peak(logged: dict[str, Any]) -> dict[str, Figure]:
    """Nothing for logs of earlier versions, which do not say it."""
    if "cgroup_peak" not in logged:
        return {}
    figure = _logged(logged["cgroup_peak"], "B", OF_CGROUP)
    if figure.value is None:
        figure = replace(figure, reason=NO_CGROUP)
    return {"memory_cgroup_peak_bytes": figure}


def planned_recomputation(bundle: Bundle) -> Recomputation | None:
    """The schedule that the run's request has; None without one, and for one that cannot be
    read."""
    if not (bundle.path / RUN).is_file():
        return None  # an implementation without the harness
    try:
        return read_request(bundle.run(), RUN).recomputation
    except Unreadable:
        return None


def _peak_of_rank_0(log: Log) -> object:
    """The highest resident set of the training process; None where none was logged."""
    peaks = log.value("peak_rss_of_ranks")
    return peaks[0] if isinstance(peaks, list) and peaks else None


def _factor(counted: dict[str, Any]) -> Figure:
    """Time of the passes over that without the blocks that had run before, and without storage."""
    passes_s, again_s = counted.get("passes_s"), counted.get("again_s")
    storage_s = counted.get("storage_s", 0)
    if (
        not (_is_number(passes_s) and _is_number(again_s) and _is_number(storage_s))
        or min(again_s, storage_s) < 0
        or again_s + storage_s >= passes_s
    ):
        return unknown_figure("ratio", LOG, NOT_LOGGED)
    method = (
        "time of all forward and backward passes, divided by that time minus recomputation and"
        " transfers of activations to and from storage: the cost of the memory budget"
    )
    return Figure(passes_s / (passes_s - again_s - storage_s), "ratio", LOG, 1, method=method)


def _logged(value: object, unit: str, method: str) -> Figure:
    if not _is_number(value):
        return unknown_figure(unit, LOG, NOT_LOGGED)
    return Figure(value, unit, LOG, 1, method=method)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63
