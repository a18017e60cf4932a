"""Runs the LINPACK study: per number of nodes one run over block sizes and process grids, then
repetitions with the fastest. Resumable."""

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from suite.bundle.layout import MANIFEST
from suite.catalog.linpack_definition import LinpackDefinition
from suite.errors import SuiteError
from suite.experiments import hpl
from suite.experiments.linpack_run import LinpackRequest, measure_linpack, smallest_available_bytes
from suite.files.counted import counted
from suite.launch.placement import Placement
from suite.metrics.linpack_record import Linpack, read_linpack
from suite.metrics.linpack_study_record import (
    LINPACK_STUDY,
    LinpackStudy,
    analyse_linpack_study,
    folder_name,
)

Say = Callable[[str], None]


@dataclass(frozen=True)
class LinpackSweep:
    """A planned study: the numbers of nodes are of the first hosts of ``placement``, ``size`` is
    the order of one node's matrix (None: by memory)."""

    definition: LinpackDefinition
    placement: Placement
    size: int | None = None
    allow_busy: bool = False


def planned_nodes(
    definition: LinpackDefinition, placement: Placement, chosen: tuple[int, ...] | None
) -> LinpackDefinition:
    """The definition with the numbers of nodes that were chosen, or else those of its own that
    there are hosts for; raises SuiteError."""
    if chosen is None:
        return replace(
            definition, nodes=tuple(count for count in definition.nodes if count <= placement.nodes)
        )
    if not chosen or min(chosen) < 1 or max(chosen) > placement.nodes:
        raise SuiteError(
            f"--nodes {','.join(map(str, chosen))}: choose numbers from 1 to the number of hosts,"
            f" {placement.nodes}."
        )
    return replace(definition, nodes=tuple(sorted(set(chosen))))


def run_linpack_study(sweep: LinpackSweep, directory: Path, say: Say) -> LinpackStudy:
    """Make every run that is missing below ``directory`` and write the study; raises SuiteError as
    :func:`suite.experiments.linpack_run.measure_linpack`."""
    directory.mkdir(parents=True, exist_ok=True)
    for nodes in sweep.definition.nodes:
        placement = replace(sweep.placement, hosts=sweep.placement.hosts[:nodes])
        order = _order(sweep, placement)
        tuning = round(order * sweep.definition.tuning_share)
        whole = LinpackRequest(
            placement,
            blocks=sweep.definition.blocks,
            every_grid=True,
            size=tuning,
            allow_busy=sweep.allow_busy,
        )
        best = _kept_or_made(
            directory / folder_name(nodes, 0),
            whole,
            f"{counted(nodes, 'node')}: trying block sizes and process grids, matrix order"
            f" {tuning}",
            say,
        ).solution.problem
        one = replace(
            whole,
            blocks=(best.block,),
            every_grid=False,
            grid=(best.rows, best.columns),
            size=order,
        )
        for number in range(1, sweep.definition.repetitions + 1):
            what = (
                f"{counted(nodes, 'node')}, run {number} of {sweep.definition.repetitions}: order"
                f" {order}, block {best.block}, grid {best.rows} x {best.columns}"
            )
            _kept_or_made(directory / folder_name(nodes, number), one, what, say)
    study = analyse_linpack_study(
        directory, sweep.definition.title, sweep.definition.nodes, sweep.definition.repetitions
    )
    LINPACK_STUDY.write(directory, asdict(study))
    return study


def _order(sweep: LinpackSweep, placement: Placement) -> int:
    """As large as the smallest node's memory allows; a given order is one node's, and grows with
    the memory of all nodes, by its root."""
    size = None if sweep.size is None else round(sweep.size * placement.nodes**0.5)
    return hpl.plan_problem(
        placement.ranks, smallest_available_bytes(placement) * placement.nodes, size
    ).size


def _kept_or_made(folder: Path, request: LinpackRequest, what: str, say: Say) -> Linpack:
    """The record in the folder if it was sealed before, else a new one; what an interrupted run
    left is replaced."""
    if (folder / MANIFEST).is_file():
        say(f"{what}: finished before, kept")
        return read_linpack(folder)
    say(what)
    shutil.rmtree(folder, ignore_errors=True)
    return measure_linpack(folder, request)
