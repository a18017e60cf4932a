"""The runs of a study: planned from its definition, those that are there already told from those still to be made."""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle
from suite.catalog.studies import StudyDefinition, Variable
from suite.catalog.workloads import load_workload
from suite.compliance.checker import check_bundle
from suite.errors import SuiteError
from suite.execution.request import RunOptions, RunRequest, choose_data
from suite.launch.placement import Placement
from suite.metrics.scaling_model import Scaling
from suite.metrics.study import StudyPlan, folder_name

OF_A_RUN = ("output_directory", "cache_cleared")
"""Keys of a request that say nothing of what was asked."""

INTACT = frozenset(("run-complete", "bundle-readable", "manifest", "log-readable", "log-chain", "summary-recomputes", "counters-recompute"))
"""Rules that a bundle keeps as long as it is whole."""


@dataclass(frozen=True)
class PlannedRun:
    """One run of a study: of which value, which repetition (from 1), in which folder of the study's, and what is asked of `suite run`."""

    value: str
    repetition: int
    options: RunOptions

    @property
    def folder(self) -> str:
        """Its place in the study's folder."""
        return folder_name(self.value, self.repetition)


@dataclass(frozen=True)
class Sweep:
    """A study that is to be made, its runs ordered so that repetitions of a value lie far apart in time."""

    plan: StudyPlan
    runs: tuple[PlannedRun, ...]


def plan(definition: StudyDefinition, options: RunOptions, hosts: tuple[str, ...], scaling: Scaling | None) -> Sweep:
    """Every run of the study. ``options`` hold what the person typed; what they leave open is as the study, then the workload says.

    ``hosts`` are those that nodes are taken from, none meaning ranks on this machine. Raises SuiteError for values that no run can have.
    """
    if (definition.variable is Variable.NODES) != (scaling is not None):
        raise SuiteError(f"--weak and --strong belong to studies of nodes; {definition.name!r} varies {definition.variable.value}.")
    steps = definition.fixed.steps if options.steps is None else options.steps
    if steps is not None and steps <= definition.warm_up_steps:
        raise SuiteError(f"The first {definition.warm_up_steps} steps count in no figure; ask for more --steps than that.")
    base = _with_fixed(definition, options)
    if scaling is not None:
        base = replace(base, threads=base.threads or _threads(base, definition, hosts))
    planned = tuple(
        PlannedRun(value, repetition, replace(_with_value(base, definition.variable, value, hosts, scaling), seed=base.seed + repetition - 1))
        for repetition in range(1, definition.repetitions + 1)
        for value in definition.values
    )
    data = choose_data(load_workload(base.workload), base.data).name
    framework = ", ".join(definition.values) if definition.variable is Variable.FRAMEWORK else base.framework
    names = (definition.name, definition.title, definition.variable, scaling, definition.values, definition.repetitions, definition.warm_up_steps)
    return Sweep(StudyPlan(*names, base.workload, framework, data, len(hosts)), planned)


def _with_fixed(definition: StudyDefinition, options: RunOptions) -> RunOptions:
    """What the person left open, as the study fixes it."""
    fixed = {name: value for name, value in asdict(definition.fixed).items() if value is not None and getattr(options, name) is None}
    return replace(options, **fixed)


def _with_value(options: RunOptions, variable: Variable, value: str, hosts: tuple[str, ...], scaling: Scaling | None) -> RunOptions:
    if variable is Variable.FRAMEWORK:
        return replace(options, framework=value)
    number = _whole(value, 0 if variable is Variable.WORKERS else 1)
    if variable is not Variable.NODES:
        changes: Mapping[str, Any] = {variable.value: number}
        return replace(options, **changes)
    batch_size = options.batch_size or load_workload(options.workload).batch_size
    placed = replace(options, placement=_placement(options.placement, number, hosts))
    return replace(placed, batch_size=batch_size * number if scaling is Scaling.WEAK else batch_size)


def _placement(asked: Placement, number: int, hosts: tuple[str, ...]) -> Placement:
    """The first hosts; without any, so many ranks on this machine."""
    if not hosts:
        return replace(asked, ranks_per_node=number)
    if number > len(hosts):
        raise SuiteError(f"The hostfile names {len(hosts)} hosts, fewer than the {number} nodes asked for.")
    return replace(asked, hosts=hosts[:number])


def _threads(options: RunOptions, definition: StudyDefinition, hosts: tuple[str, ...]) -> int | None:
    """The same for every point: on one machine the cores that the largest number of ranks leaves to each; on hosts as for any run."""
    if hosts:
        return None
    most = max(_whole(value, 1) for value in definition.values)
    return load_workload(options.workload).threads or max(1, len(os.sched_getaffinity(0)) // most)


def _whole(value: str, least: int) -> int:
    try:
        number = int(value)
    except ValueError:
        raise SuiteError(f"{value!r} is no whole number; values are given as 1,2,4.") from None
    if number < least:
        raise SuiteError(f"The value {number} is too small; {least} is the least.")
    return number


def is_done(path: Path, request: RunRequest) -> bool:
    """A whole, sealed bundle of this very request lies at ``path``; a broken or unfinished one is to be made again.

    Raises SuiteError where a whole bundle of another request lies there: it is somebody's result.
    """
    from reference_impls.contract import request_to_dict

    if not (path / RUN).is_file():
        return False
    try:
        verdict, found = check_bundle(path), Bundle(path).run().request
    except SuiteError:
        return False
    if any(finding.rule in INTACT for finding in verdict.findings):
        return False
    asked = request_to_dict(request.training)
    different = sorted(key for key in {*asked, *found} - {*OF_A_RUN} if asked.get(key) != found.get(key))
    if different:
        raise SuiteError(f"{path} holds another run (it differs in {', '.join(different)}); choose another --output, or take that folder away.")
    return True
