"""A matrix over boards: each board takes the next run from a queue, makes it by itself, and its
bundle comes home verified. In a fleet, a matrix that varies ``board``, each has a queue of its own.
"""

import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from suite.bundle.layout import MATRIX
from suite.bundle.study_mark import BOARD
from suite.errors import SuiteError
from suite.execution.events import Notice, Progress, SweepRunKept, SweepRunStarted, silent
from suite.execution.request import Accelerator, RunOptions, RunRequest
from suite.execution.run_records import local_redactor
from suite.experiments.before_runs import held_folder, refuse_at_once, refuse_folder
from suite.experiments.board_talk import BoardLost, Boards, RunFailed
from suite.experiments.board_task import BoardTask
from suite.experiments.matrix_plan import MatrixDefinition, PlannedMatrix, plan_matrix
from suite.experiments.planned import PlannedRun
from suite.experiments.planned_runs import resolve_planned, say_left_over
from suite.experiments.sweep_runs import NOT_COMPARED, is_done
from suite.files.archive import unpack_archive
from suite.files.counted import counted
from suite.files.json_file import read_json, write_json
from suite.metrics.matrix_record import MATRICES, Matrix, analyse_matrix

MAX_TRIES = 3
"""Runs that fail on boards that are there: then the reason is the run's."""
MAX_LOSSES, RETRY_S = 3, 5.0
"""How often in a row a board may be lost before it gets no more runs, and the time
between."""
SCRATCH, NUMBERS = ".from-board-", ".boards.json"
"""In the matrix's folder: what arrives, and each board's number by its name, which no record
has."""


@dataclass
class _Job:
    """A run that is missing: its number among all runs, what is planned, what it must be, the one
    ``host`` that may make it (None: any), and how often it failed."""

    number: int
    run: PlannedRun
    request: RunRequest
    host: str | None
    tries: int = 0


def plan_for_boards(definition: MatrixDefinition, options: RunOptions) -> PlannedMatrix:
    """The matrix, each of whose runs is on one board. Raises SuiteError for one that varies the
    number of nodes."""
    if (
        definition.vary.nodes
        or definition.fixed.nodes
        or any(point.nodes for point in definition.points)
    ):
        raise SuiteError(
            "With --boards every run uses one board: remove the setting `nodes`, or use"
            " --hostfile instead of --boards."
        )
    return plan_matrix(definition, options)


def run_on_boards(
    definition: MatrixDefinition,
    options: RunOptions,
    boards: Boards,
    directory: Path,
    *,
    command: tuple[str, ...] | None = None,
    progress: Progress = silent,
) -> Matrix:
    """Make every run of the matrix on the boards, and write ``matrix.json`` into ``directory``.
    Resumable: call it again to continue.

    The suite must have the same path on every board. Raises SuiteError for what any board refuses,
    before the first run; and for runs that failed, or remain because all boards were lost. Points
    of a fleet whose board was lost, or failed, have no runs and the reason.
    """
    matrix = plan_for_boards(definition, options)
    requests = resolve_planned(matrix, directory, to_show=True, elsewhere=True)
    refuse_at_once(
        [lambda: refuse_folder(directory, MATRIX, matrix.plan.variables), boards.refuse_agent]
    )
    numbers = board_numbers(directory, boards.hosts)
    hosts = [_host_of(run, numbers, boards) for run in matrix.runs]
    planned = zip(matrix.runs, requests, hosts, strict=True)
    wanted = [_Job(number, *each) for number, each in enumerate(planned, 1)]
    jobs = list(_not_done(wanted, options, progress))
    missing: Mapping[str, str] = {}
    if jobs:
        with held_folder(directory):
            _begin(directory, numbers if any(hosts) else {})
            say_left_over(matrix, directory, progress)
            task = BoardTask(definition, options, None, command or tuple(sys.argv))
            spread = _Spread(matrix, boards, directory, task, progress, any(hosts))
            missing = asyncio.run(spread.make(jobs))
    names = [(name, f"{BOARD} {number}") for name, number in numbers.items()]
    reasons = local_redactor((), names).value(missing)
    computed = analyse_matrix(directory, matrix.plan, reasons)
    MATRICES.write(directory, computed)
    return computed


def _begin(directory: Path, numbers: Mapping[str, int]) -> None:
    """Remove what a killed call left, and write down which board of a fleet has which number."""
    for left in directory.glob(f"{SCRATCH}*"):
        shutil.rmtree(left)
    if numbers:
        write_json(directory / NUMBERS, numbers)


def _not_done(jobs: Sequence[_Job], options: RunOptions, progress: Progress) -> Iterator[_Job]:
    machine = keys_of_the_machine(options)
    for job in jobs:
        if is_done(job.request.directory, job.request, machine):
            progress(SweepRunKept(job.number, len(jobs), job.run.label))
        else:
            yield job


def board_numbers(directory: Path, hosts: Sequence[str]) -> dict[str, int]:
    """Each board's number: its place in the file, or the one that it has in a folder of an earlier
    call; further boards come after those."""
    file = directory / NUMBERS
    known = read_json(file) if file.is_file() else {}
    return {name: number for number, name in enumerate(dict.fromkeys((*known, *hosts)), start=1)}


def _host_of(run: PlannedRun, numbers: Mapping[str, int], boards: Boards) -> str | None:
    """The one board that a run of a fleet is made on; None: any."""
    if run.values.board is None:
        return None
    host = next((name for name in boards.hosts if numbers[name] == run.values.board), None)
    if host is None:
        there = ", ".join(f"{numbers[name]} is {name}" for name in boards.hosts)
        raise SuiteError(f"The --boards file has no board {run.values.board} ({there}).")
    return host


def keys_of_the_machine(options: RunOptions) -> frozenset[str]:
    """Keys of a request that a board chooses for itself: those that were not typed."""
    chosen = {
        "platform": options.device == "auto",
        "threads": options.threads is None,
        "accelerator": options.accelerator is Accelerator.AUTO,
        "loading": options.workers is None,
        "data": True,  # its folder
    }
    return frozenset(
        (*NOT_COMPARED, *(name for name, is_the_boards in chosen.items() if is_the_boards))
    )


@dataclass
class _Spread:
    """One call: the boards, the queue that each takes runs from, the board that each machine is,
    and the runs that are given up, with the reason."""

    matrix: PlannedMatrix
    boards: Boards
    directory: Path
    task: BoardTask
    progress: Progress
    is_fleet: bool
    queues: "dict[str, asyncio.Queue[_Job]]" = field(default_factory=dict)
    machines: dict[str, str] = field(default_factory=dict)
    left: int = 0
    given_up: list[tuple[_Job, str]] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)

    async def make(self, jobs: Sequence[_Job]) -> dict[str, str]:
        """Ask every board whether it can make the runs, then make them all; returns the points of a
        fleet that lack runs, with the reason. Raises SuiteError."""
        shared = asyncio.Queue[_Job]()
        needed = [job.host for job in jobs if job.host] or self.boards.hosts
        self.queues = {host: asyncio.Queue() if self.is_fleet else shared for host in needed}
        lost = await self._validate()
        self.left = len(jobs)
        for job in jobs:
            (self.queues[job.host] if job.host else shared).put_nowait(job)
        workers = [
            asyncio.ensure_future(self._work(host, host not in lost)) for host in self.queues
        ]
        try:
            while self.left and not all(worker.done() for worker in workers):
                await asyncio.wait(
                    [worker for worker in workers if not worker.done()],
                    timeout=1.0,
                    return_when=asyncio.FIRST_COMPLETED,
                )
        finally:
            for worker in workers:
                worker.cancel()
            ended = await asyncio.gather(*workers, return_exceptions=True)
        broken = next((error for error in ended if isinstance(error, Exception)), None)
        if broken is not None:
            raise broken
        return self._missing()

    def _missing(self) -> dict[str, str]:
        """The points of a fleet that lack runs, with the reason; raises SuiteError where another
        matrix lacks any, or a fleet has none."""
        missing = {job.run.point: f"its run {why}" for job, why in self.given_up}
        if missing and (not self.is_fleet or len(missing) == len(self.matrix.plan.points)):
            raise SuiteError("\n".join(f"{job.run.label} {why}" for job, why in self.given_up))
        if self.left:
            raise SuiteError(
                f"All boards were lost, with {counted(self.left, 'run')} still to make: repair the"
                " boards, then rerun the same command."
            )
        return missing

    async def _validate(self) -> set[str]:
        """The boards that do not answer now. Raises SuiteError for what the others refuse, for two
        names of one board in a fleet, and where none answers."""
        asked = (self.boards.admitted(host, self.task) for host in self.queues)
        answers = dict(
            zip(self.queues, await asyncio.gather(*asked, return_exceptions=True), strict=True)
        )
        lost = {host for host, answer in answers.items() if isinstance(answer, BoardLost)}
        problems = list[str]()
        nobody = len(lost) == len(self.boards.hosts)
        for host, answer in answers.items():
            if isinstance(answer, RunFailed) or nobody:
                problems.append(f"{host}: {answer}")
            elif isinstance(answer, BaseException) and host not in lost:
                raise answer
            elif host not in lost:
                try:
                    self._refuse_twin(host, str(answer))
                except RunFailed as twin:
                    problems.append(f"{host}: {twin}")
        if problems:
            advice = "Repair these boards, or remove them from the --boards file."
            raise SuiteError("\n".join([*problems, advice]))
        return lost

    def _refuse_twin(self, host: str, machine: str) -> None:
        """Raise RunFailed for a board of a fleet that has another name in it, too."""
        other = self.machines.setdefault(machine, host)
        if self.is_fleet and other != host:
            raise RunFailed(f"it is the same machine as {other}")

    async def _work(self, host: str, is_admitted: bool) -> None:
        """Make run after run on one board, until it was lost too often or refuses them."""
        losses, why = 0, ""
        while losses < MAX_LOSSES:
            job = None
            try:
                if not is_admitted:
                    self._refuse_twin(host, await self.boards.admitted(host, self.task))
                    is_admitted = True
                job = await self.queues[host].get()
                await self._make(host, job)
            except BoardLost as lost:
                losses, why = losses + 1, f"was lost ({lost})"
                await self._lost(host, job, losses, why)
            except RunFailed as failed:
                if job is None:
                    why = f"refuses the runs ({failed})"
                    self.progress(Notice(f"{host} {why}; it gets no more runs"))
                    break
                losses, job.tries = 0, job.tries + 1
                self._failed(host, job, str(failed))
            else:
                losses = 0
        while self.is_fleet and not self.queues[host].empty():
            self._give_up(self.queues[host].get_nowait(), f"was not made: {host} {why}")

    async def _make(self, host: str, job: _Job) -> None:
        began_s, total = time.monotonic(), len(self.matrix.runs)
        left_s = (
            self.left * sum(self.took_s) / len(self.took_s) / len(self.queues)
            if self.took_s
            else None
        )
        self.progress(SweepRunStarted(job.number, total, f"{job.run.label}, on {host}", left_s))
        await self._fetch(host, job)
        self.left -= 1
        self.took_s.append(time.monotonic() - began_s)

    async def _lost(self, host: str, job: _Job | None, losses: int, why: str) -> None:
        """Put the run back, say what is next, and wait before the board is asked again."""
        is_last = losses == MAX_LOSSES
        said = "it gets no more runs" if is_last else f"it is tried again in {RETRY_S:g} s"
        if job is not None:
            self.queues[host].put_nowait(job)
            said += f", and run {job.number} is back in the queue"
        self.progress(Notice(f"{host} {why}; {said}"))
        await asyncio.sleep(0 if is_last else RETRY_S)

    def _failed(self, host: str, job: _Job, why: str) -> None:
        """Put the run back into the queue, or give it up after MAX_TRIES."""
        self.progress(Notice(f"[{job.number}] failed on {host} ({why})"))
        if job.tries < MAX_TRIES:
            self.queues[host].put_nowait(job)
        else:
            self._give_up(job, f"failed {MAX_TRIES} times, the last time on {host}: {why}")

    def _give_up(self, job: _Job, why: str) -> None:
        self.given_up.append((job, why))
        self.left -= 1

    async def _fetch(self, host: str, job: _Job) -> None:
        """Make the run on the board; its verified bundle then stands in the matrix's folder."""
        with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=self.directory) as name:
            await self.boards.ask(
                host,
                replace(self.task, folder=job.run.folder),
                lambda archive: self._take(Path(name), archive, job),
                Path(name, "run.tar"),
            )

    def _take(self, scratch: Path, archive: Path, job: _Job) -> None:
        """Unpack and verify the bundle, and put it in its place; raises RunFailed for one that is
        damaged, or of another run."""
        try:
            unpack_archive(archive, scratch / "unpacked")
            found = scratch / "unpacked" / job.run.folder
            if not found.is_dir() or not is_done(
                found, job.request, keys_of_the_machine(self.task.options)
            ):
                raise RunFailed("its bundle arrived damaged")
        except SuiteError as error:
            raise RunFailed(str(error)) from error
        place = self.directory / job.run.folder
        if place.exists():  # of a call that was killed, and not whole
            shutil.rmtree(place)
        found.rename(place)
