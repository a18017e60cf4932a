"""``linpack_study.json``: LINPACK on one node and on several. Everything in it is computed from the
sealed records in its folder."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from suite.bundle.layout import LINPACK_RECORD, LINPACK_STUDY_RECORD, MANIFEST
from suite.catalog.devices import load_device
from suite.errors import FileError, SuiteError
from suite.files.digest import sha256
from suite.files.json_file import read_as
from suite.metrics.figure import Figure, mean_figure, unknown_figure
from suite.metrics.linpack_record import Linpack, Problem, read_linpack
from suite.metrics.sealed_record import SealedRecord

SCHEMA = 1
MAX_POINTS, MAX_RUNS = 1000, 100
NOTED_CORES = 0.05
NO_STREAM = (
    "the program has no STREAM, or the matrix was so small that STREAM's arrays fit the caches"
)
NO_SINGLE = "the study has no run on one node"


@dataclass(frozen=True)
class SealedLinpack:
    """A sealed LINPACK record of the study: its folder's name and the digest of its manifest."""

    folder: str
    manifest_sha256: str


@dataclass(frozen=True)
class LinpackPoint:
    """One number of nodes: means and spreads over its runs.

    ``gflops`` is of all nodes together, ``efficiency`` R(n) / (n R(1)) of the means, ``peak_share``
    the rate over the processors' double-precision peak, ``energy_j`` of solving on all nodes,
    ``triad_gb_s`` STREAM's bandwidth of one node. ``foreign_cores`` is the largest load by other
    programs during a run; None where a record has none.
    """

    nodes: int
    ranks: int
    problem: Problem
    gflops: Figure
    efficiency: Figure
    peak_share: Figure
    energy_j: Figure
    gflops_per_watt: Figure
    triad_gb_s: Figure
    foreign_cores: float | None
    records: tuple[SealedLinpack, ...]


@dataclass(frozen=True)
class LinpackStudy:
    """``linpack_study.json``: the machine and its points, fewest nodes first."""

    schema: int
    title: str
    device: str
    cpu_model: str | None
    points: tuple[LinpackPoint, ...]

    @property
    def sentence(self) -> str:
        """The study in a sentence, as published ones say it: rates on the fewest and the most
        nodes, and the efficiency."""
        first, last = self.points[0], self.points[-1]
        said = f"{_number(first.gflops)} GFLOPS on {_nodes(first.nodes)}"
        if last is not first:
            said += f", {_number(last.gflops)} on {last.nodes}"
        if last is not first and last.efficiency.value is not None:
            said += f", {100 * last.efficiency.value:.2g} %"
        return said

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the figures has to know: the load by other programs, and figures that
        are unknown, each with its reason."""
        busy = max((point.foreign_cores or 0.0 for point in self.points), default=0.0)
        figures = (
            getattr(point, name)
            for point in self.points
            for name in ("efficiency", "peak_share", "energy_j", "triad_gb_s")
        )
        notes = [f"Unknown: {figure.reason}." for figure in figures if figure.value is None]
        if busy > NOTED_CORES:
            notes.insert(
                0,
                f"Other programs used up to {busy:.2f} cores of the first node during the runs,"
                " which lowers the rates.",
            )
        return tuple(dict.fromkeys(notes))


def folder_name(nodes: int, repetition: int) -> str:
    """The folder of a run within the study; repetitions start at 1, and 0 is the run that block
    sizes and grids are tried in."""
    return f"n{nodes}-r{repetition}" if repetition else f"n{nodes}-tuning"


def analyse_linpack_study(
    directory: Path, title: str, nodes: Sequence[int], repetitions: int
) -> LinpackStudy:
    """The study of the records below ``directory``; raises SuiteError where one is missing,
    malformed, of another machine, or of SciPy's LU."""
    folders = {
        count: [directory / folder_name(count, number) for number in range(1, repetitions + 1)]
        for count in sorted(nodes)
    }
    records = {
        count: [read_linpack(folder) for folder in of_count] for count, of_count in folders.items()
    }
    every = [record for of_count in records.values() for record in of_count]
    if not every or len({(record.device, record.cpu_model) for record in every}) > 1:
        raise SuiteError(
            f"{directory} holds LINPACK records of several machines; use another --output for each."
        )
    if any(record.kind != "HPL" for record in every):
        raise SuiteError(
            f"{directory} holds rates of SciPy's LU, and this study is of HPL: install hpcc and use"
            " another --output."
        )
    single = [record.solution.gflops for record in records.get(1, ())]
    points = tuple(
        _point(count, of_count, folders[count], single) for count, of_count in records.items()
    )
    return LinpackStudy(SCHEMA, title, every[0].device, every[0].cpu_model, points)


def read_linpack_study(directory: Path) -> LinpackStudy:
    """Read ``linpack_study.json``; raises FileError where it is missing or malformed."""
    path = directory / LINPACK_STUDY_RECORD
    study = read_as(path, LinpackStudy, SCHEMA)
    counts = {point.nodes for point in study.points}
    runs = {len(point.records) for point in study.points}
    if len(study.points) > MAX_POINTS or len(runs) != 1 or not runs <= set(range(1, MAX_RUNS + 1)):
        raise FileError(
            path,
            f"must have 1 to {MAX_POINTS} points (one for each number of nodes), all with the same"
            f" number of runs (1 to {MAX_RUNS})",
        )
    if not counts <= set(range(1, MAX_POINTS + 1)):
        raise FileError(path, f"has a number of nodes that is not from 1 to {MAX_POINTS}")
    return study


def _sealed_files(folder: Path) -> list[Path]:
    records = (each.folder for point in read_linpack_study(folder).points for each in point.records)
    return [folder / LINPACK_STUDY_RECORD, *(folder / name / MANIFEST for name in records)]


def _computed(folder: Path) -> LinpackStudy:
    study = read_linpack_study(folder)
    counts = [point.nodes for point in study.points]
    return analyse_linpack_study(folder, study.title, counts, len(study.points[0].records))


LINPACK_STUDY = SealedRecord(
    LINPACK_STUDY_RECORD, "run `suite sweep --study linpack` again", _sealed_files, _computed
)


def _point(
    nodes: int, records: Sequence[Linpack], folders: Sequence[Path], single: Sequence[float]
) -> LinpackPoint:
    gflops = mean_figure(
        [record.solution.gflops for record in records], "GFLOPS", LINPACK_RECORD, "no run"
    )
    efficiency = unknown_figure("ratio", LINPACK_RECORD, NO_SINGLE)
    if single and gflops.value is not None:
        efficiency = _scaled(gflops, 1 / (nodes * sum(single) / len(single)), "ratio")
    foreign = [record.load.during for record in records if record.load is not None]
    return LinpackPoint(
        nodes=nodes,
        ranks=records[0].ranks,
        problem=records[0].solution.problem,
        gflops=gflops,
        efficiency=efficiency,
        peak_share=_peak_share(gflops, records[0].device, nodes),
        energy_j=_mean_figure([record.power.energy_j for record in records], "J", records),
        gflops_per_watt=_mean_figure(
            [record.power.gflops_per_watt for record in records], "GFLOPS/W", records
        ),
        triad_gb_s=_bandwidth(records),
        foreign_cores=max(foreign) if len(foreign) == len(records) else None,
        records=tuple(SealedLinpack(folder.name, sha256(folder / MANIFEST)) for folder in folders),
    )


def _peak_share(gflops: Figure, device: str, nodes: int) -> Figure:
    """The rate over the peak of the device's profile."""
    peak = None
    with suppress(SuiteError):
        cpu = load_device(device).cpu
        peak = None if cpu is None else cpu.peak_fp64_gflops
    if peak is None:
        return unknown_figure(
            "ratio", LINPACK_RECORD, f"the double-precision peak of {device[:60]!r} is not known"
        )
    return _scaled(gflops, 1 / (nodes * peak), "ratio")


def _bandwidth(records: Sequence[Linpack]) -> Figure:
    """Bandwidth of one node, all its ranks together."""
    found = [
        record.triad.together_gb_s * record.ranks / record.nodes
        for record in records
        if record.triad is not None
    ]
    return mean_figure(
        found if len(found) == len(records) else [], "GB/s", LINPACK_RECORD, NO_STREAM
    )


def _mean_figure(values: Sequence[float | None], unit: str, records: Sequence[Linpack]) -> Figure:
    known = [value for value in values if value is not None]
    reason = (
        next((record.power.reason for record in records if record.power.reason), None)
        or "a run has no energy"
    )
    return mean_figure(known if len(known) == len(values) else [], unit, LINPACK_RECORD, reason)


def _scaled(figure: Figure, factor: float, unit: str) -> Figure:
    value, spread = (
        None if number is None else number * factor for number in (figure.value, figure.spread)
    )
    return replace(figure, value=value, spread=spread, unit=unit)


def _number(figure: Figure) -> str:
    return "unknown" if figure.value is None else f"{figure.value:.3g}"


def _nodes(count: int) -> str:
    return "one node" if count == 1 else f"{count} nodes"
