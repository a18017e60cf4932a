"""Real runs that are ended at random moments, by every signal, lose nothing that was trained: `make
prove interruptions`."""

import fcntl
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from proofs.figures import hand_over
from suite.bundle.layout import LOCK, RUN
from suite.bundle.log import read_log
from suite.bundle.reader import Bundle
from suite.compliance.checker import check_bundle
from suite.execution.closing import training_ended
from suite.execution.finish import finish
from suite.files.paths import repository_root
from tests.conftest import interruptible

EPOCHS, BATCH = 2, 96
STEPS_PER_EPOCH = 15  # 1438 digits
CLOSING_S = 0.8
KILL, GROUP, TERM = "SIGKILL", "Ctrl-C to the group", "SIGTERM"
START, TRAINING, CLOSING = "before the first epoch", "in training", "while closing"


@dataclass(frozen=True)
class Moment:
    """When a run is ended: after a phase began (nothing, the first epoch's end, the run's end) and
    ``wait_s`` later; and how, once or twice."""

    phase: str
    wait_s: float
    how: str
    twice: bool


@dataclass(frozen=True)
class Outcome:
    """What was found: the status before and after `suite finish`, and the epochs that were on the
    medium."""

    before: str
    after: str
    epochs: int


def draw(chance: random.Random) -> Moment:
    """A random moment; a run has about a second before its first epoch, a second of training and
    half a second of closing."""
    phase = chance.choice((START, TRAINING, TRAINING, CLOSING, CLOSING))
    longest_s = {START: 2.0, TRAINING: 0.6, CLOSING: CLOSING_S}[phase]
    return Moment(
        phase,
        chance.uniform(0, longest_s),
        chance.choice((KILL, GROUP, TERM)),
        chance.random() < 0.25,
    )


def interrupt(moment: Moment, path: Path, home: Path) -> Outcome:
    """Make a run, end it at the moment, and finish it; raises AssertionError when something that
    was trained is lost."""
    words = (
        "run --division open --workload lenet --framework fake --data digits --baseload 0 --json"
        f" --epochs {EPOCHS} --batch-size {BATCH} --output {path}"
    ).split()
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("suite")), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "SUITE_HOME": str(home)},
        cwd=repository_root(),
        start_new_session=True,
        preexec_fn=interruptible,
    )
    _await_phase(moment.phase, process, path)
    time.sleep(moment.wait_s)
    for _ in range(2 if moment.twice else 1):
        _end(process, moment.how)
    _, errors = process.communicate(timeout=120)
    # before the command's own code runs, Python reports Ctrl-C in its way
    assert "Traceback" not in errors or not path.exists(), errors
    return examine(path)


def examine(path: Path) -> Outcome:
    """The run reads back with every epoch whose end was logged, before `suite finish` and after
    it."""
    if not (path / RUN).exists():
        return Outcome("nothing recorded", "nothing recorded", 0)
    await_lock(path)
    logged = read_log(path / "log.txt").finished_epochs() if (path / "log.txt").exists() else ()
    bundle, before = Bundle(path), _state(path)
    has_ended = training_ended(path)
    _assert_epochs(bundle, logged)
    check_bundle(path)
    finish(path)
    after = bundle.run()
    assert bundle.is_sealed and not list(path.glob("*.csv")) and not (path / LOCK).exists()
    _assert_epochs(bundle, logged)
    verdict = check_bundle(path)
    assert (after.status == "finished") == (has_ended or before.startswith("finished")), (
        before,
        after.status,
    )
    assert verdict.complies == (after.status == "finished"), verdict.findings
    assert finish(path).was_closed
    return Outcome(
        before,
        after.status + ("" if after.closed_later is None else ", closed by `suite finish`"),
        len(logged),
    )


def _state(path: Path) -> str:
    return Bundle(path).run().status + (", sealed" if Bundle(path).is_sealed else ", not sealed")


def _assert_epochs(bundle: Bundle, logged: tuple[int, ...]) -> None:
    """Every step of every epoch whose end was logged, and no other's."""
    if logged:
        steps = bundle.steps()
        assert steps.epochs == logged, (steps.epochs, logged)
        assert all(len(of_epoch) == STEPS_PER_EPOCH for _, of_epoch in steps.by_epoch())


def _await_phase(phase: str, process: "subprocess.Popen[str]", path: Path) -> None:
    """Return when the log shows that the phase began, or when the run ended."""
    sign = {START: "", TRAINING: '"epoch_start"', CLOSING: '"run_stop"'}[phase]
    poll(
        lambda: (
            process.poll() is not None
            or not sign
            or (
                (path / "log.txt").exists()
                and sign in (path / "log.txt").read_text(errors="replace")
            )
        )
    )


def _end(process: "subprocess.Popen[str]", how: str) -> None:
    """Send the signal; of Ctrl-C and SIGTERM the process reports one after the other, so it must
    have taken the first before the second comes."""
    try:
        if how == KILL:
            process.kill()
        elif how == TERM:
            process.send_signal(signal.SIGTERM)
        else:
            os.killpg(process.pid, signal.SIGINT)
        poll(lambda: process.poll() is not None or not _is_pending(process.pid))
    except ProcessLookupError:
        pass


def _is_pending(pid: int) -> bool:
    """The kernel holds a signal that the process has not taken yet."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    return any(
        int(line.split()[1], 16)
        for line in status.splitlines()
        if line.startswith(("SigPnd", "ShdPnd"))
    )


def await_lock(path: Path) -> None:
    """Return when no process of the run is left."""
    if (path / LOCK).exists():
        with (path / LOCK).open() as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)


def poll(condition: Callable[[], bool]) -> None:
    limit_s = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < limit_s, "nothing happened for two minutes"
        time.sleep(0.005)


def prepare(home: Path) -> None:
    """Prepare the digits, which every run trains on."""
    suite = str(Path(sys.executable).with_name("suite"))
    subprocess.run(
        [suite, "data", "prepare", "digits"],
        check=True,
        capture_output=True,
        env={**os.environ, "SUITE_HOME": str(home)},
    )


def main() -> int:
    """``python -m proofs.interruptions [RUNS [SEED]]``."""
    runs, seed = [int(word) for word in [*sys.argv[1:], *("200", "0")[len(sys.argv) - 1 :]]]
    chance, started_s, lost = random.Random(seed), time.monotonic(), 0
    endings: Counter[tuple[str, str, str, str]] = Counter()
    epochs = 0
    with tempfile.TemporaryDirectory(prefix="interruptions-") as name:
        prepare(Path(name) / "home")
        for number in range(runs):
            moment = draw(chance)
            try:
                outcome = interrupt(moment, Path(name) / f"run{number}", Path(name) / "home")
            except Exception as error:  # noqa: BLE001 - every run is tried, whatever happened to one
                lost += 1
                print(f"run {number} ({moment}): {type(error).__name__}: {error}", flush=True)
                continue
            epochs += outcome.epochs
            endings[
                moment.phase,
                moment.how + (", twice" if moment.twice else ""),
                outcome.before,
                outcome.after,
            ] += 1
    print("| ended | by | run.json said | after `suite finish` | runs |\n|---|---|---|---|---|")
    for ending, count in sorted(endings.items()):
        print(f"| {' | '.join(ending)} | {count} |")
    print(
        f"\n{runs} runs with seed {seed} in {time.monotonic() - started_s:.0f} s: {epochs} epochs"
        f" were on the medium, {lost} runs lost something."
    )
    hand_over(runs=runs, seed=seed, runs_that_lost_something=lost, epochs_on_the_medium=epochs)
    assert not psutil.Process().children(), "a process was left"
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main())
