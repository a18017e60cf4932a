"""A matrix over boards: each board takes the next run from a queue, makes it by itself, and its
bundle comes home verified."""

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

from suite.errors import SuiteError
from suite.execution.events import Notice, Progress, SweepRunKept, SweepRunStarted, silent
from suite.execution.request import Accelerator, RunOptions, RunRequest
from suite.experiments.before_runs import held, refuse_at_once, refuse_folder
from suite.experiments.board_task import REFUSED, SERVE, TAKEN, BoardTask
from suite.experiments.matrix_plan import MatrixDefinition, PlannedMatrix, plan_matrix
from suite.experiments.planned_runs import resolve_planned, say_left_over
from suite.experiments.sweep_runs import NOT_COMPARED, is_done
from suite.files.archive import unpack
from suite.files.paths import repository_root
from suite.files.tree import MAX_BYTES
from suite.launch.remote_shell import NO_INTERPRETER, NO_SUITE, module_script, remote_command
from suite.metrics.matrix_record import MATRICES, MATRIX, Matrix, analyse_matrix

MAX_TRIES = 3
"""Runs that fail on boards that are there: then the reason is the run's."""
MAX_LOSSES, RETRY_S = 3, 5.0
"""How often in a row a board may be lost before nothing more is asked of it, and the time
between."""
HEARTBEAT_TIMEOUT_S, GRACE_S = 60.0, 10.0
SCRATCH = ".from-board-"
_CHUNK_BYTES, _MAX_SAID = 2**20, 300


@dataclass(frozen=True)
class Boards:
    """Independent boards that make the runs of a matrix; ``agent`` starts commands there (None:
    ssh).

    A board of which nothing is heard for ``silence_s`` is lost.
    """

    hosts: tuple[str, ...]
    agent: str | None = None
    silence_s: float = HEARTBEAT_TIMEOUT_S

    def refuse_agent(self) -> None:
        """Raise SuiteError where the program that starts commands on boards is not installed."""
        if shutil.which(program := remote_command("", self.agent, "")[0]) is None:
            raise SuiteError(
                f"There is no program {program!r} here to start commands on the boards; install it,"
                " or name another --launch-agent."
            )


class _BoardLost(Exception):
    """The board, or the way to it, is gone."""


class _RunFailed(Exception):
    """The board is there, and the run failed or arrived damaged."""


@dataclass
class _Job:
    """A run that is missing: its number among all runs, its name, what it must be, and how often it
    failed."""

    number: int
    label: str
    folder: str
    request: RunRequest
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
            "--boards makes each run on one board; leave nodes out, or use --hostfile."
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
    before the first run; and for runs that failed, or remain because all boards were lost.
    """
    matrix = plan_for_boards(definition, options)
    requests = resolve_planned(matrix, directory, to_show=True)
    refuse_at_once(
        [lambda: refuse_folder(directory, MATRIX, matrix.plan.variables), boards.refuse_agent]
    )
    machine = keys_of_the_machine(options)
    are_kept = [is_done(request.directory, request, machine) for request in requests]
    jobs = []
    for number, (run, request, kept) in enumerate(
        zip(matrix.runs, requests, are_kept, strict=True), start=1
    ):
        if kept:
            progress(SweepRunKept(number, len(requests), run.label))
        else:
            jobs.append(_Job(number, run.label, run.folder, request))
    if jobs:
        with held(directory):
            for left in directory.glob(f"{SCRATCH}*"):  # of a killed call
                shutil.rmtree(left)
            say_left_over(matrix, directory, progress)
            task = BoardTask(definition, options, None, command or tuple(sys.argv))
            asyncio.run(_Spread(matrix, boards, directory, task, progress).make(jobs))
    computed = analyse_matrix(directory, matrix.plan)
    MATRICES.write(directory, computed)
    return computed


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
    """One call: the queue of runs, and the boards that take from it."""

    matrix: PlannedMatrix
    boards: Boards
    directory: Path
    task: BoardTask
    progress: Progress
    queue: "asyncio.Queue[_Job]" = field(default_factory=asyncio.Queue)
    left: int = 0
    failed: list[str] = field(default_factory=list)
    took_s: list[float] = field(default_factory=list)

    async def make(self, jobs: Sequence[_Job]) -> None:
        """Ask every board whether it can make the runs, then make them all; raises SuiteError."""
        await self._validate()
        self.left = len(jobs)
        for job in jobs:
            self.queue.put_nowait(job)
        workers = [asyncio.ensure_future(self._work(host)) for host in self.boards.hosts]
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
        if self.failed:
            raise SuiteError("\n".join(self.failed))
        if self.left:
            raise SuiteError(
                f"All boards were lost, and {self.left} runs remain; rerun the same command to"
                " continue."
            )

    async def _validate(self) -> None:
        said = await asyncio.gather(*(self._refusal(host) for host in self.boards.hosts))
        if problems := [
            f"{host}: {why}" for host, why in zip(self.boards.hosts, said, strict=True) if why
        ]:
            raise SuiteError(
                "\n".join(
                    [
                        *problems,
                        "Bring these boards in order, or take them out of the file of --boards.",
                    ]
                )
            )

    async def _refusal(self, host: str) -> str | None:
        """Why a board cannot make the runs; None where it can."""
        try:
            await self._ask(host, self.task, None, Path(os.devnull))
        except (_BoardLost, _RunFailed) as error:
            return str(error)
        return None

    async def _work(self, host: str) -> None:
        """Make run after run on one board, until it was lost too often."""
        losses = 0
        while losses < MAX_LOSSES:
            job = await self.queue.get()
            began_s = time.monotonic()
            left_s = (
                self.left * sum(self.took_s) / len(self.took_s) / len(self.boards.hosts)
                if self.took_s
                else None
            )
            self.progress(
                SweepRunStarted(
                    job.number, len(self.matrix.runs), f"{job.label}, on {host}", left_s
                )
            )
            try:
                await self._fetch(host, job)
            except _BoardLost as lost:
                losses += 1
                self.queue.put_nowait(job)
                next_s = (
                    f"asked again in {RETRY_S:g} s"
                    if losses < MAX_LOSSES
                    else "nothing more is asked of it"
                )
                self.progress(
                    Notice(
                        f"{host} was lost ({lost}); {next_s}, and [{job.number}] is back in the"
                        " queue"
                    )
                )
                await asyncio.sleep(RETRY_S)
            except _RunFailed as failed:
                losses, job.tries = 0, job.tries + 1
                self._failed(host, job, str(failed))
            else:
                losses, self.left = 0, self.left - 1
                self.took_s.append(time.monotonic() - began_s)

    def _failed(self, host: str, job: _Job, why: str) -> None:
        """Put the run back into the queue, or give it up after MAX_TRIES."""
        self.progress(Notice(f"[{job.number}] failed on {host} ({why})"))
        if job.tries < MAX_TRIES:
            self.queue.put_nowait(job)
            return
        self.failed.append(f"{job.label} failed {MAX_TRIES} times, the last time on {host}: {why}")
        self.left -= 1

    async def _fetch(self, host: str, job: _Job) -> None:
        """Make the run on the board; its verified bundle then stands in the matrix's folder."""
        with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=self.directory) as name:
            await self._ask(
                host,
                replace(self.task, folder=job.folder),
                lambda archive: self._take(Path(name), archive, job),
                Path(name, "run.tar"),
            )

    def _take(self, scratch: Path, archive: Path, job: _Job) -> None:
        """Unpack and verify the bundle, and put it in its place; raises _RunFailed for one that is
        damaged, or of another run."""
        try:
            unpack(archive, scratch / "unpacked")
            found = scratch / "unpacked" / job.folder
            if not found.is_dir() or not is_done(
                found, job.request, keys_of_the_machine(self.task.options)
            ):
                raise _RunFailed("its bundle arrived damaged")
        except SuiteError as error:
            raise _RunFailed(str(error)) from error
        place = self.directory / job.folder
        if place.exists():  # of a call that was killed, and not whole
            shutil.rmtree(place)
        found.rename(place)

    async def _ask(
        self, host: str, task: BoardTask, take: Callable[[Path], None] | None, archive: Path
    ) -> None:
        """Send the task to the board, and give the archive that it sends to ``take`` (None: none is
        sent); raises _BoardLost and _RunFailed."""
        words = remote_command(
            host,
            self.boards.agent,
            module_script((Path(sys.executable),), "suite.experiments.board_task", SERVE),
        )
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *words, stdin=pipe, stdout=pipe, stderr=pipe, limit=2**20, start_new_session=True
        )
        assert (
            process.stdin is not None and process.stdout is not None and process.stderr is not None
        )
        said = _Said()
        listening = asyncio.ensure_future(said.listen(process.stderr, self.boards.silence_s))
        receiving = asyncio.ensure_future(
            _receive(process.stdout, archive, said, self.boards.silence_s)
        )
        try:
            await _write(process.stdin, task.to_line())
            await asyncio.wait([listening, receiving], return_when=asyncio.FIRST_COMPLETED)
            if said.is_silent:
                raise _BoardLost(f"nothing was heard of it for {self.boards.silence_s:g} s")
            if await receiving and take is not None:
                take(archive)
                await _write(process.stdin, TAKEN)
                return
            code = await process.wait()
            await listening
            _judge(code, said.last, is_expected=take is None)
        finally:
            listening.cancel()
            receiving.cancel()
            process.stdin.close()  # the board ends what it does, and its connection
            with suppress(ProcessLookupError):
                if said.is_silent:
                    os.killpg(process.pid, signal.SIGKILL)
            await _end(process)


@dataclass
class _Said:
    """What a board writes on standard error: its last line, and whether nothing came for too long.
    One that sends a bundle writes nothing else."""

    last: str = ""
    is_silent: bool = False
    is_sending: bool = False

    async def listen(self, stream: asyncio.StreamReader, silence_s: float) -> None:
        """Read until the stream ends, or nothing comes."""
        while True:
            try:
                line = await asyncio.wait_for(stream.readline(), silence_s)
            except asyncio.TimeoutError:
                self.is_silent = not self.is_sending
                if self.is_silent:
                    return
                continue
            except ValueError:  # a line that is too long
                continue
            if not line:
                return
            self.last = line.decode(errors="replace").strip()[:_MAX_SAID] or self.last


async def _write(stream: asyncio.StreamWriter, line: bytes) -> None:
    """Write to a process that may have ended: its exit code says more."""
    with suppress(OSError):
        stream.write(line)
        await stream.drain()


async def _receive(
    stream: asyncio.StreamReader, archive: Path, said: _Said, silence_s: float
) -> bool:
    """Write the archive that a board sends, its bytes verified; False if it sends none.

    Raises _BoardLost for one that was cut off, _RunFailed for other bytes.
    """
    line = await stream.readline()
    if not line:
        return False
    said.is_sending = True
    try:
        header = json.loads(line)
        size, expected = int(header["size"]), str(header["sha256"])
    except (ValueError, TypeError, KeyError):
        raise _RunFailed(
            "it sends something else than a bundle:"
            f" {line[:_MAX_SAID].decode(errors='replace').strip()!r}"
        ) from None
    if not 0 < size <= MAX_BYTES:
        raise _RunFailed(f"its bundle has {size} bytes")
    digest = sha256()
    with archive.open("wb") as out:
        while out.tell() < size:
            try:
                chunk = await asyncio.wait_for(
                    stream.read(min(_CHUNK_BYTES, size - out.tell())), silence_s
                )
            except asyncio.TimeoutError:
                chunk = b""
            if not chunk:
                raise _BoardLost(f"its bundle was cut off after {out.tell()} of {size} bytes")
            digest.update(chunk)
            out.write(chunk)
    if digest.hexdigest() != expected:
        raise _RunFailed("its bundle arrived with other bytes than were sent")
    return True


def _judge(code: int, said: str, *, is_expected: bool) -> None:
    """Raise _RunFailed or _BoardLost for a task that ended without a bundle, unless that is
    expected."""
    if code == REFUSED:
        raise _RunFailed(said or "it gives no reason")
    if code == NO_SUITE:
        raise _BoardLost(
            f"{repository_root()} is missing there; the suite needs the same path on every board"
        )
    if code == NO_INTERPRETER:
        raise _BoardLost(
            f"{sys.executable} is missing there; the suite needs the same path on every board"
        )
    if code != 0 or not is_expected:
        raise _BoardLost(f"exit code {code}: {said or 'no output'}")


async def _end(process: asyncio.subprocess.Process) -> None:
    """Wait for the end of the connection, whose standard input is closed; end it where it does not
    end by itself."""
    for ending in (None, signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError, asyncio.TimeoutError):
            if ending is not None:
                os.killpg(process.pid, ending)
            await asyncio.wait_for(process.wait(), GRACE_S)
        if process.returncode is not None:
            return
