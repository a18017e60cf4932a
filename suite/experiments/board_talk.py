"""Talks to a board over ssh: sends it a task of suite.experiments.board_task, and receives the
bundle that it made."""

import asyncio
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from suite.errors import SuiteError
from suite.experiments.board_task import MACHINE, REFUSED, SERVE, TAKEN, BoardTask
from suite.files.paths import repository_root
from suite.files.tree import MAX_BYTES
from suite.launch.remote_shell import NO_INTERPRETER, NO_SUITE, module_script, remote_command

HEARTBEAT_TIMEOUT_S, GRACE_S = 60.0, 10.0
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

    async def admitted(self, host: str, task: BoardTask) -> str:
        """The identity of a board that can make all runs of the task; raises as :meth:`ask`."""
        said = await self.ask(host, task, None, Path(os.devnull))
        return said.partition(MACHINE)[2]

    async def ask(
        self, host: str, task: BoardTask, take: Callable[[Path], None] | None, archive: Path
    ) -> str:
        """Send the task to the board, and give the archive that it sends to ``take`` (None: none is
        sent); returns the last line that it said. Raises BoardLost and RunFailed."""
        words = remote_command(
            host,
            self.agent,
            module_script((Path(sys.executable),), "suite.experiments.board_task", SERVE),
        )
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *words, stdin=pipe, stdout=pipe, stderr=pipe, limit=2**20, start_new_session=True
        )
        assert process.stdin and process.stdout and process.stderr
        said = _Said()
        listening = asyncio.ensure_future(said.listen(process.stderr, self.silence_s))
        receiving = asyncio.ensure_future(_receive(process.stdout, archive, said, self.silence_s))
        try:
            await _write(process.stdin, task.to_line())
            await asyncio.wait([listening, receiving], return_when=asyncio.FIRST_COMPLETED)
            if said.is_silent:
                raise BoardLost(f"it sent nothing for {self.silence_s:g} s")
            if await receiving and take is not None:
                take(archive)
                await _write(process.stdin, TAKEN)
                return said.last
            code = await process.wait()
            await listening
            _judge(code, said.last, is_expected=take is None)
            return said.last
        finally:
            listening.cancel()
            receiving.cancel()
            process.stdin.close()  # the board ends what it does, and its connection
            with suppress(ProcessLookupError):
                if said.is_silent:
                    os.killpg(process.pid, signal.SIGKILL)
            await _end(process)


class BoardLost(Exception):
    """The board, or the way to it, is gone."""


class RunFailed(Exception):
    """The board is there, and the run failed or arrived damaged."""


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

    Raises BoardLost for one that was cut off, RunFailed for other bytes.
    """
    line = await stream.readline()
    if not line:
        return False
    said.is_sending = True
    try:
        header = json.loads(line)
        size, expected = int(header["size"]), str(header["sha256"])
    except (ValueError, TypeError, KeyError):
        raise RunFailed(
            "it sends something other than a bundle: "
            f"{line[:_MAX_SAID].decode(errors='replace').strip()!r}"
        ) from None
    if not 0 < size <= MAX_BYTES:
        raise RunFailed(f"its bundle has {size} bytes, expected 1 to {MAX_BYTES}")
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
                raise BoardLost(f"its bundle was cut off after {out.tell()} of {size} bytes")
            digest.update(chunk)
            out.write(chunk)
    if digest.hexdigest() != expected:
        raise RunFailed("its bundle was corrupted on the way (its SHA-256 differs)")
    return True


def _judge(code: int, said: str, *, is_expected: bool) -> None:
    """Raise RunFailed or BoardLost for a task that ended without a bundle, unless that is
    expected."""
    if code == REFUSED:
        raise RunFailed(said or "it gives no reason")
    if code == NO_SUITE:
        raise RunFailed(
            f"{repository_root()} is missing there; the suite needs the same path on every board"
        )
    if code == NO_INTERPRETER:
        raise RunFailed(
            f"{sys.executable} is missing there; the suite needs the same path on every board"
        )
    if code != 0 or not is_expected:
        raise BoardLost(f"exit code {code}: {said or 'no output'}")


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
