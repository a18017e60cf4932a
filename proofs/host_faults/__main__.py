"""Every fault of a run on two hosts, at three random moments, ends in a sentence that names it;
nothing stays behind: `make prove host-faults`.

``python -m proofs.host_faults [SEED [NAME …]]``: only faults whose names begin with a NAME.
Resumable: ``rows.md`` keeps the tries of a campaign that has not ended, and a seed's moments that
are in it are not tried again. The end of a whole campaign removes it; so does a change of the
sources.
"""

import fcntl
import hashlib
import json
import os
import platform
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from proofs.figures import hand_over
from proofs.host_faults.faults import FAULTS, Fault, Scene
from proofs.parts import folder_digests
from proofs.proof import load_proof
from suite.bundle.limits import MAX_EPOCHS
from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_framework
from suite.compliance.checker import check_bundle
from suite.datasets.locate import find_data_set as find_data
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.launch.environments import find_environment
from tests.hosts.training import Trainer
from tests.namespaces import OVER_THE_WIRE, Cluster, joined_hosts

ROWS = Path(__file__).with_name("rows.md")
"""The tries of a campaign that has not ended: the digest of what they depend on, and a row for each
fault."""
CAPTION = """\
LeNet-5 trains on the digits in PyTorch, on network namespaces of one machine with an SSH server each. A fault is made before the run, or at
random moments of it, three for a seed: up to a second after the ranks began to prepare the training (`init_start`), and up to three and up
to ten seconds after the first epoch.

- The tries stand one after the other in a row; exit codes and sentences that differ, besides numbers and the last epoch, are joined by
  **or**.
- *s* counts from the fault to the command's end, or from the command's start.
- *Remained* are the epochs that can be read from the run directory, and processes that were still on a host 30 seconds later.
- A run that *goes on* ends with its last epoch, and its bundle complies; what the checker warns of is in the table.
- An end with exit code 0, without a sentence, or with a bundle that complies would be **silent**; so would a run that goes on to a bundle
  that does not comply. A harness that is killed says nothing.
"""  # noqa: E501
EPOCHS_BEFORE, EPOCHS_TO_GO_ON, EPOCHS_TO_END = 3, 40, MAX_EPOCHS
"""Of a run with a fault before it, with one during it after which it goes on, and with one that is
to end it."""
START_S, END_S, GONE_S, GOES_ON_S = 120.0, 45.0, 30.0, 180.0
OF_ONE_MACHINE = frozenset(("foreign-load", "nodes-machines"))
"""Rules whose warnings come from hosts that share a machine, on which others work."""
BETWEEN = "; "
"""Between the tries of a fault in a cell of the table."""
OR = " **or** "
"""Between exit codes, and sentences, that differ."""
PLACES = (
    rf"{tempfile.gettempdir()}/\w+",
    rf"{re.escape(str(repository_root()))}\b",
    rf"{re.escape(str(Path.home()))}\b",
)
"""Folders that differ between machines: a row shows an ellipsis for each."""
MOMENT, SECONDS, CODE, SENTENCE, REMAINED = 1, 2, 3, 4, 5
"""Places of cells in a row."""
SILENT, GOES_ON = "**silent**", "goes on"


@dataclass(frozen=True)
class Moment:
    """Some seconds after the ranks began to prepare the training, or after their first epoch."""

    in_initialisation: bool
    after_s: float

    def __str__(self) -> str:
        return f"{self.after_s:.1f} s after {'init_start' if self.in_initialisation else 'epoch 1'}"


LATEST = (Moment(True, 1.0), Moment(False, 3.0), Moment(False, 10.0))
"""The moments of a fault's tries, at the latest."""
BEFORE = "before the run"


@dataclass(frozen=True)
class Outcome:
    """What a fault did: when it was made, seconds until the command ended (None: the run went on),
    what it said, and what remained."""

    fault: Fault
    moment: str
    seconds: float | None
    exit_code: int | None
    sentence: str
    epochs: int
    left: int
    is_silent: bool


def main(words: Sequence[str]) -> int:
    """Exit code 0 if no fault was silent and no process stayed."""
    seed, names = int(words[0]) if words else 0, tuple(words[1:])
    chosen = [fault for fault in FAULTS if fault.name.startswith(names or "")]
    begin(digest_of_sources())
    for fault in chosen:
        for moment in moments(fault, seed):
            outcome = tried(fault, moment)
            print(f"load {os.getloadavg()[0]:.0f}: {row(outcome)}", file=sys.stderr, flush=True)
            keep(outcome)
    rows = rows_of(ROWS.read_text(encoding="utf-8"))
    shown = [rows[fault.name] for fault in chosen]
    print(f"{CAPTION}\n{table(shown, seed)}")
    silent, stayed = (
        [line for line in shown if SILENT in line],
        [line for line in shown if "process" in cells(line)[REMAINED]],
    )
    ends_s = [
        float(word)
        for line in shown
        for word in cells(line)[SECONDS].split(BETWEEN)
        if word != GOES_ON
    ]
    hand_over(
        faults=len(shown),
        tries=tries(shown),
        silent_faults=len(silent),
        faults_that_left_a_process=len(stayed),
        latest_end_after_a_fault_s=max(ends_s, default=None),
    )
    if not names:
        ROWS.unlink()
    return 1 if silent or stayed else 0


def digest_of_sources() -> str:
    """Of everything that a try depends on."""
    return hashlib.sha256(
        json.dumps(folder_digests(load_proof(Path(__file__).parent)), sort_keys=True).encode()
    ).hexdigest()[:16]


def begin(digest: str) -> None:
    """Go on with the rows of a campaign of the same sources, or begin without rows."""
    first = f"<!-- of the sources {digest} -->\n"
    if not ROWS.exists() or not ROWS.read_text(encoding="utf-8").startswith(first):
        ROWS.write_text(first, encoding="utf-8")


def moments(fault: Fault, seed: int) -> list[Moment | None]:
    """The moments of a fault that this seed chooses and the rows have not; None: before the run."""
    # the same moments, whatever other faults are tried
    chance = random.Random(f"{seed} {fault.name}")
    chosen = (
        [replace(latest, after_s=chance.uniform(0, latest.after_s)) for latest in LATEST]
        if fault.during is not None
        else [None]
    )
    line = rows_of(ROWS.read_text(encoding="utf-8")).get(fault.name)
    known = cells(line)[MOMENT].split(BETWEEN) if line is not None else []
    return [moment for moment in chosen if said(moment) not in known]


def said(moment: Moment | None) -> str:
    """A moment as the table has it."""
    return BEFORE if moment is None else str(moment)


def tried(fault: Fault, moment: Moment | None) -> Outcome:
    """Make the hosts, the run and the fault."""
    prepared, interpreter = (
        find_data("digits").directory,
        find_environment(load_framework("pytorch")).interpreter,
    )
    with tempfile.TemporaryDirectory() as name, joined_hosts(2, Path(name)) as cluster:
        folder = Path(name)
        # a file that is prepared again meanwhile ends the mount in its place
        data = Path(shutil.copytree(prepared, folder / "digits"))
        trainer = Trainer(cluster, data, cluster.hostfile(folder / "hosts.txt"), OVER_THE_WIRE)
        scene = Scene(trainer, interpreter, folder)
        if fault.before is not None:
            fault.before(scene)
        began_s = time.monotonic()
        epochs = (
            EPOCHS_BEFORE
            if fault.during is None
            else EPOCHS_TO_GO_ON
            if fault.goes_on
            else EPOCHS_TO_END
        )
        process = trainer.start(
            "pytorch", folder / "run", "--epochs", epochs, "--learning-rate", 1e-9, "--baseload", 0
        )
        try:
            return ended(fault, replace(scene, harness=process), process, began_s, moment)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def ended(
    fault: Fault,
    scene: Scene,
    process: "subprocess.Popen[str]",
    began_s: float,
    moment: Moment | None,
) -> Outcome:
    """Make the fault while the run trains, wait for its end, and look at what remains."""
    path, output = scene.folder / "run", ""
    if fault.during is not None and moment is not None:
        await_start(path, process) if moment.in_initialisation else await_epoch(path, process)
        time.sleep(moment.after_s)
        began_s = time.monotonic()
        fault.during(scene)
        if fault.undo is not None:
            time.sleep(fault.undo[0])
            fault.undo[1](scene)
    limit_s = GOES_ON_S if fault.goes_on else END_S if moment is not None else START_S + END_S
    try:
        _, output = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        output = f"error: still running after {limit_s:.0f} s\n"
    seconds = time.monotonic() - began_s
    release_stopped(scene.cluster)
    left = left_after(scene.cluster, GONE_S)
    sentence = next(
        (
            line.removeprefix("error: ")
            for line in output.splitlines()
            if line.startswith("error: ")
        ),
        "",
    )
    went_on = fault.goes_on and process.returncode == 0
    if went_on:
        sentence = (
            " ".join(
                [*(line for line in output.splitlines() if "was lost" in line), *warnings(path)]
            )
            or "(the run goes on)"
        )
    has_said = (
        went_on
        or process.returncode in (-signal.SIGKILL, -signal.SIGTERM)
        or (process.returncode != 0 and sentence != "")
    )
    is_silent = not has_said or complies(path) != went_on
    return Outcome(
        fault,
        said(moment),
        None if went_on else seconds,
        process.returncode,
        sentence,
        kept(path),
        left,
        is_silent,
    )


def await_start(path: Path, process: "subprocess.Popen[str]") -> None:
    """Wait until rank 0 logs that it prepares the training: by then every rank's program runs."""
    deadline_s = time.monotonic() + START_S
    while not has_begun(path) and process.poll() is None and time.monotonic() < deadline_s:
        time.sleep(0.02)


def has_begun(path: Path) -> bool:
    """Whether rank 0 has logged anything after the facts of the request."""
    return (path / "log.txt").exists() and Bundle(path).log().first("init_start") is not None


def await_epoch(path: Path, process: "subprocess.Popen[str]") -> None:
    """Wait until the first epoch is finished, or the command has ended."""
    deadline_s = time.monotonic() + START_S
    while not has_finished_epoch(path) and process.poll() is None and time.monotonic() < deadline_s:
        time.sleep(0.05)


def has_finished_epoch(path: Path) -> bool:
    """Whether rank 0 has logged the end of an epoch."""
    return (path / "log.txt").exists() and len(Bundle(path).log().finished_epochs()) > 0


def kept(path: Path) -> int:
    """Epochs that can be read from the run directory."""
    try:
        return len(set(Bundle(path).steps_frame()["epoch"])) if (path / "log.txt").exists() else 0
    except (SuiteError, OSError):
        return 0


def complies(path: Path) -> bool:
    """Whether the checker takes what is there for a result."""
    try:
        return (path / "run.json").exists() and check_bundle(path).complies
    except SuiteError:
        return False


def warnings(path: Path) -> list[str]:
    """What the checker warns of in a run, by rule, but for what comes from hosts that are one
    machine."""
    rules = {finding.rule for finding in check_bundle(path).findings} - OF_ONE_MACHINE
    return [f"(the checker warns: {rule})" for rule in sorted(rules)]


def release_stopped(cluster: Cluster) -> None:
    """Let everything that was stopped run again, as a machine that hung and woke up."""
    for host in cluster.hosts:
        for pid in cluster.processes(host):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def left_after(cluster: Cluster, seconds: float) -> int:
    """Processes on any host, besides SSH servers, that are still there after this time."""
    deadline_s = time.monotonic() + seconds
    while (left := list(others(cluster))) and time.monotonic() < deadline_s:
        time.sleep(0.2)
    return len(left)


def others(cluster: Cluster) -> Iterator[str]:
    """Command lines of what runs on the hosts besides SSH servers."""
    return (
        words
        for host in cluster.hosts
        for words in cluster.processes(host).values()
        if words and "sshd" not in words.split()[0]
    )


def row(outcome: Outcome) -> str:
    """One line of the table."""
    took = GOES_ON if outcome.seconds is None else f"{outcome.seconds:.1f}"
    sentence = re.sub("|".join(PLACES), "…", outcome.sentence.replace("|", "/"))
    remained = counted(outcome.epochs, "epoch", "epochs") + (
        f", {counted(outcome.left, 'process', 'processes')}" if outcome.left else ""
    )
    silent = f" {SILENT}" if outcome.is_silent else ""
    return (
        f"| {outcome.fault.name} | {outcome.moment} | {took} | {outcome.exit_code}{silent} |"
        f" {sentence} | {remained} |"
    )


def counted(number: int, one: str, several: str) -> str:
    """A number with its noun."""
    return f"{number} {one if number == 1 else several}"


def added(line: str | None, outcome: Outcome) -> str:
    """A fault's row with one more try: its moments, seconds and remains one after the other; exit
    codes and sentences where they differ."""
    new = cells(row(outcome))
    if line is None:
        return row(outcome)
    joined = [f"{old}{BETWEEN}{one}" for old, one in zip(cells(line), new, strict=True)]
    joined[0] = new[0]
    for place in (CODE, SENTENCE):
        old = cells(line)[place].split(OR)
        joined[place] = OR.join(
            old if without_numbers(new[place]) in map(without_numbers, old) else (*old, new[place])
        )
    return f"| {' | '.join(joined)} |"


def cells(line: str) -> list[str]:
    """A row's cells."""
    return [cell.strip() for cell in line.strip("|").split("|")]


def without_numbers(text: str) -> str:
    """A sentence without the numbers of processes and seconds, and the last epoch."""
    return re.sub(
        r"(process|for) \d+|no epoch was finished|the last finished epoch is epoch \d+", "", text
    )


def keep(outcome: Outcome) -> None:
    """Add the try to its fault's row; another campaign may do so at the same time."""
    with ROWS.open("r+", encoding="utf-8") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        text = stream.read()
        rows = rows_of(text)
        rows[outcome.fault.name] = added(rows.get(outcome.fault.name), outcome)
        stream.seek(0)
        stream.write("\n".join((text.partition("\n")[0], *rows.values())) + "\n")
        stream.truncate()


def table(rows: Sequence[str], seed: int) -> str:
    """The table, and above it what it was measured on."""
    lines = [
        (
            f"{len(rows)} faults, {tries(rows)} tries on two hosts on a machine with"
            f" {os.cpu_count()} cores ({platform.machine()}), the last one with the seed {seed} at"
            f" a load of {os.getloadavg()[0]:.0f}."
        ),
        "",
        "| fault | moment | s | exit code | sentence | remained |",
        "|---|---|---|---|---|---|",
        *rows,
    ]
    return "\n".join(lines) + "\n"


def tries(rows: Sequence[str]) -> int:
    """How many tries are in these rows."""
    return sum(len(cells(line)[MOMENT].split(BETWEEN)) for line in rows)


def rows_of(text: str) -> dict[str, str]:
    """The rows of the kept text by their first cell."""
    return {cells(line)[0]: line for line in text.splitlines() if line.startswith("| ")}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
