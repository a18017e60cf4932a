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
from suite.experiments.linpack_run import (
    LinpackRequest,
    measure_linpack,
    planned_problems,
    refuse_other_first_host,
    smallest_available_bytes,
)
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
SHARE_OF_FREE = 0.95
"""What a matrix by memory may take: between the runs of a study the free memory changes."""
SIMILAR = 0.8
"""An earlier run with at least this share of the wanted order is of the same study: without --size,
and where block sizes were tried."""


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
    refuse_other_first_host(sweep.placement)
    directory.mkdir(parents=True, exist_ok=True)
    for nodes in sweep.definition.nodes:
        placement = replace(sweep.placement, hosts=sweep.placement.hosts[:nodes])
        order = _order(sweep, placement, directory)
        tuning = round(order * sweep.definition.tuning_share)
        whole = LinpackRequest(
            placement,
            blocks=sweep.definition.blocks,
            every_grid=True,
            size=tuning,
            with_scipy=False,
            allow_busy=sweep.allow_busy,
        )
        best = _kept_or_made(
            directory / folder_name(nodes, 0),
            whole,
            f"{counted(nodes, 'node')}: trying block sizes and process grids, matrix order"
            f" {tuning}",
            say,
        ).solution.problem
        grid = best.rows, best.columns
        one = replace(whole, blocks=(best.block,), every_grid=False, grid=grid, size=order)
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


def _order(sweep: LinpackSweep, placement: Placement, directory: Path) -> int:
    """A given order is one node's, and grows with the memory of all nodes, by its root. Else it is
    as large as the smallest node's memory allows, or that of the study's earlier runs."""
    available = smallest_available_bytes(placement) * placement.nodes
    if sweep.size is not None:
        size = round(sweep.size * placement.nodes**0.5)
        return hpl.plan_problem(placement.ranks, available, size).size
    fits = hpl.plan_problem(placement.ranks, int(SHARE_OF_FREE * available)).size
    begun = (
        -(-read_linpack(folder).solution.problem.size // hpl.BLOCK) * hpl.BLOCK
        for number in range(1, sweep.definition.repetitions + 1)
        if ((folder := directory / folder_name(placement.nodes, number)) / MANIFEST).is_file()
    )
    return next((order for order in begun if order >= SIMILAR * fits), fits)


def _kept_or_made(folder: Path, request: LinpackRequest, what: str, say: Say) -> Linpack:
    """The record in the folder if it was sealed before, else a new one; what an interrupted run
    left is replaced. Raises SuiteError for the record of another run."""
    if (folder / MANIFEST).is_file():
        kept = read_linpack(folder)
        _refuse_other(folder, kept, request, what)
        say(f"{what}: finished before, kept")
        return kept
    say(what)
    shutil.rmtree(folder, ignore_errors=True)
    return measure_linpack(folder, request)


def _refuse_other(folder: Path, kept: Linpack, request: LinpackRequest, what: str) -> None:
    """Raise SuiteError for a record of another kind, problem or number of ranks."""
    found, wanted = kept.solution.problem, planned_problems(request, 2**62)
    is_wanted = found in wanted or (request.every_grid and found.size >= SIMILAR * wanted[0].size)
    if kept.kind != "HPL" or kept.ranks != request.placement.ranks or not is_wanted:
        raise SuiteError(
            f"{folder} holds another run ({kept.kind}, matrix order {found.size}, block"
            f" {found.block}, grid {found.rows} x {found.columns}) than this study's ({what});"
            " choose another --output, or move that folder away."
        )
