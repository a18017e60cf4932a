"""A sweep in all three frameworks that is killed three times loses no run and makes none twice:
`make prove sweep-kills`."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proofs.figures import hand_over
from proofs.interruptions.__main__ import prepare
from suite.bundle.layout import LOCK, MANIFEST, RUN
from suite.bundle.reader import Bundle
from suite.errors import SuiteError
from suite.experiments.one_run import FINISHED
from suite.files.paths import repository_root
from suite.metrics.matrix_record import read_matrix
from tests.conftest import interruptible

KILLS = 3
MATRIX = (
    "sweep",
    "--workload",
    "lenet",
    "--data",
    "digits",
    "--steps",
    "20",
    "--seeds",
    "3",
    "--vary",
    "framework=pytorch,tensorflow,chainer",
    "--vary",
    "batch_size=16,64",
    "--vary",
    "cpu_quota=1,2",
)
RUNS = 3 * 2 * 2 * 3
MAX_WAIT_S = 10.0
"""A run takes about as long: a kill comes at any of its moments, or between it and the next."""


@dataclass
class Killed:
    """What the kills left: for each, the whole runs and where the run that was going on stood; and
    the ids of the runs that had to be kept."""

    states: list[tuple[int, str]] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)


def whole_runs(out: Path) -> dict[str, str]:
    """The id of every run below ``out`` that ended, sealed or not, by its folder."""
    return {
        path.parent.name: record.run_id
        for path in out.glob(f"*/{RUN}")
        if (record := Bundle(path.parent).run()).status == FINISHED
    }


def sealed(out: Path) -> int:
    """How many runs are sealed."""
    return len(list(out.glob(f"*/{MANIFEST}")))


def is_training(out: Path) -> bool:
    """Whether a run is going on, or was cut off; its lock is not tried, because a run that begins
    meanwhile would find it taken."""
    return any((log.parent / LOCK).exists() for log in out.glob("*/log.txt"))


def kill_when(
    command: Sequence[str], home: Path, out: Path, finished: int, wait_s: float, killed: Killed
) -> None:
    """Start the sweep, kill it ``wait_s`` after ``finished`` runs are sealed and the next one
    trains, and note what is left."""
    variables = {**os.environ, "SUITE_HOME": str(home)}
    said = out.with_name(f"{out.name}.txt")
    with said.open("w") as stream:
        process = subprocess.Popen(
            command, cwd=repository_root(), env=variables, stderr=stream, preexec_fn=interruptible
        )
    while sealed(out) < finished or not is_training(out):
        assert process.poll() is None, said.read_text()[-1000:]
        time.sleep(0.01)
    time.sleep(wait_s)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed.kept |= whole_runs(out)
    killed.states.append((len(killed.kept), ", ".join(_cut(out)) or "between two runs"))


def _cut(out: Path) -> Iterator[str]:
    """What run.json says of each run that is not sealed."""
    for path in sorted(out.glob("*")):
        if path.is_dir() and not (path / MANIFEST).exists():
            try:
                yield f"{path.name}: {Bundle(path).run().status}"
            except SuiteError:
                yield f"{path.name}: nothing recorded"


def problems(out: Path, killed: Killed, runs: int) -> Iterator[str]:
    """What is wrong with the sweep after the last call: runs that are missing, that were made
    twice, or that the matrix does not count."""
    now = whole_runs(out)
    if len(now) != runs or sealed(out) != runs:
        yield f"{len(now)} runs ended and {sealed(out)} are sealed, of {runs}"
    if len(set(now.values())) != len(now):
        yield "two folders hold one run"
    yield from (
        f"{name} was whole, and was made again"
        for name, run_id in killed.kept.items()
        if now.get(name) != run_id
    )
    counted = [run.folder for point in read_matrix(out).points for run in point.runs]
    if sorted(counted) != sorted(now):
        yield (
            f"the matrix counts {len(counted)} runs, of which {len(set(counted))} are different"
            " ones"
        )


def main() -> int:
    """``python -m proofs.sweep_kills [SEED]``."""
    chance, started_s, killed = (
        random.Random(int((sys.argv[1:] or ["0"])[0])),
        time.monotonic(),
        Killed(),
    )
    home = Path(os.environ.get("SUITE_HOME", "~/.cache/edge-training-suite")).expanduser()
    with tempfile.TemporaryDirectory(prefix="sweep-kills-") as name:
        prepare(home)
        out = Path(name) / "sweep"
        command = [str(Path(sys.executable).with_name("suite")), *MATRIX, "--output", str(out)]
        for finished in sorted(chance.sample(range(2, RUNS - 4), KILLS)):
            kill_when(
                command,
                home,
                out,
                max(finished, sealed(out)),
                chance.uniform(0, MAX_WAIT_S),
                killed,
            )
            print(
                f"killed with {killed.states[-1][0]} runs whole; the run that went on:"
                f" {killed.states[-1][1]}",
                flush=True,
            )
        ended = subprocess.run(
            command,
            cwd=repository_root(),
            env={**os.environ, "SUITE_HOME": str(home)},
            capture_output=True,
            text=True,
        )
        wrong = (
            [ended.stderr[-2000:]]
            if ended.returncode
            else [*problems(out, killed, RUNS), *_groups()]
        )
        print(ended.stdout)
    print(
        "\n".join(wrong)
        or f"{RUNS} of {RUNS} runs whole; the {len(killed.kept)} that were whole at a kill were kept; no cgroup is left",  # noqa: E501
        end=" ",
    )
    print(f"({time.monotonic() - started_s:.0f} s).")
    hand_over(runs=RUNS, kills=KILLS, runs_whole_at_a_kill=len(killed.kept), problems=len(wrong))
    return int(bool(wrong))


def _groups() -> Iterator[str]:
    """Groups of CPU quotas that nobody removed: no process is in them, as in those of another
    command that runs meanwhile."""
    groups = (
        path
        for place in ("cpu", ".")
        for path in Path("/sys/fs/cgroup", place).glob("edge-training-suite-*")
    )
    yield from (
        f"{path} is left" for path in groups if not (path / "cgroup.procs").read_text().split()
    )


if __name__ == "__main__":
    sys.exit(main())
