"""Runs on hosts of other environments, disks, hostfiles and networks say what is wrong, or train:
`make prove host-situations`.

``python -m proofs.host_situations [NAME …]``: only situations whose names begin with a NAME. The
fake framework trains, so that a row takes seconds.
"""

import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from proofs.figures import hand_over
from proofs.host_faults.__main__ import (
    GONE_S,
    OF_ONE_MACHINE,
    PLACES,
    await_epoch,
    counted,
    kept,
    left_after,
)
from proofs.host_faults.faults import Scene
from proofs.host_situations.situations import SITUATIONS, Situation
from suite.catalog.frameworks import load_framework
from suite.compliance.checker import check_bundle
from suite.datasets.locate import find_data_set as find_data
from suite.errors import SuiteError
from suite.launch.environments import adopt_interpreter, find_environment
from tests.hosts.training import Trainer
from tests.namespaces import OVER_THE_WIRE, joined_hosts

CAPTION = """\
Not a fault at a moment, but hosts as people have them: other environments, full disks, launch agents, hostfiles, networks and numbers of
ranks. The fake framework trains for two epochs where nothing else is said. `-`: there is no run to judge. A wrong result that is taken, an
honest one that is refused, a process that stays or a traceback would be **bad**. `suite check` also warns of two hosts on one machine, and
of its load (`nodes-machines`, `foreign-load`: left out here).
"""  # noqa: E501
LIMIT_S = 150.0
SPOKEN = ("error: ", "warning: ")


@dataclass(frozen=True)
class Outcome:
    """What the command said and left, and what the checker says of it (None: there is no run to
    judge)."""

    situation: Situation
    seconds: float
    exit_code: int
    sentence: str
    verdict: str | None
    complies: bool
    epochs: int
    left: int
    has_traceback: bool

    @property
    def is_bad(self) -> bool:
        """A wrong result was taken or an honest one refused, something stayed, or Python's own
        words were shown."""
        is_taken = self.exit_code == 0 and self.complies
        return is_taken is self.situation.is_wrong or bool(self.left) or self.has_traceback


def main(names: Sequence[str]) -> int:
    """Exit code 0 if no situation ended badly."""
    chosen = [
        situation for situation in SITUATIONS if situation.name.startswith(tuple(names) or ("",))
    ]
    outcomes = []
    for situation in chosen:
        outcomes.append(tried(situation))
        print(row(outcomes[-1]), file=sys.stderr, flush=True)
    bad = sum(outcome.is_bad for outcome in outcomes)
    print(f"{CAPTION}\n{table(outcomes)}\n{len(outcomes)} situations, {bad} that ended badly")
    hand_over(
        situations=len(outcomes),
        situations_that_ended_badly=bad,
        runs_that_trained=sum(not outcome.exit_code for outcome in outcomes),
    )
    return 1 if bad else 0


def tried(situation: Situation) -> Outcome:
    """Make the hosts and the situation, and run."""
    interpreter = find_environment(load_framework("pytorch")).interpreter  # it has mpi4py
    # one fills /tmp
    with (
        tempfile.TemporaryDirectory(dir=Path("/var/tmp")) as name,
        joined_hosts(situation.hosts, Path(name)) as cluster,
    ):
        folder = Path(name)
        adopt_interpreter(load_framework("fake"), interpreter, folder / "home")
        data = Path(shutil.copytree(find_data("digits").directory, folder / "digits"))
        trainer = Trainer(
            cluster,
            data,
            cluster.hostfile(folder / "hosts.txt"),
            {**OVER_THE_WIRE, "SUITE_HOME": str(folder / "home")},
        )
        scene = Scene(trainer, interpreter, folder)
        situation.before(scene)
        words = [
            str(word).replace("FOLDER", name) for word in ("--baseload", 0, *situation.options)
        ]
        began_s = time.monotonic()
        process = trainer.start("fake", folder / "run", *words)
        try:
            return ended(situation, replace(scene, harness=process), process, began_s)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()


def ended(
    situation: Situation, scene: Scene, process: "subprocess.Popen[str]", began_s: float
) -> Outcome:
    """Do what is done during the run, wait for its end, and look at what remains."""
    # as node1 sees it
    path, output = Path(f"/proc/{scene.cluster.hosts[0].pid}/root{scene.folder}/run"), ""
    if situation.during is not None:
        await_epoch(path, process)
        began_s = time.monotonic()
        situation.during(scene)
    try:
        output = "".join(process.communicate(timeout=LIMIT_S))
    except subprocess.TimeoutExpired:
        output = f"error: still running after {LIMIT_S:.0f} s\n"
    seconds, left = time.monotonic() - began_s, left_after(scene.cluster, GONE_S)
    verdict, complies = judged(path)
    sentence = " ".join(
        line.removeprefix("error: ") for line in output.splitlines() if line.startswith(SPOKEN)
    )
    has_traceback = "Traceback" in output or "Unexpected error" in output
    return Outcome(
        situation,
        seconds,
        process.returncode,
        sentence,
        verdict,
        complies,
        kept(path),
        left,
        has_traceback,
    )


def judged(path: Path) -> tuple[str | None, bool]:
    """What `suite check` says of a run directory."""
    if not (path / "run.json").exists():
        return None, False
    try:
        found = check_bundle(path)
    except SuiteError as error:
        return str(error), False
    rules = sorted({finding.rule for finding in found.findings} - OF_ONE_MACHINE)
    return ("complies" if found.complies else "refused") + (
        f" ({', '.join(rules)})" if rules else ""
    ), found.complies


def row(outcome: Outcome) -> str:
    """One line of the table."""
    sentence = re.sub("|".join((r"/var/tmp/\w+", *PLACES)), "…", outcome.sentence.replace("|", "/"))
    remained = counted(outcome.epochs, "epoch", "epochs") + (
        f", {counted(outcome.left, 'process', 'processes')}" if outcome.left else ""
    )
    bad = " **bad**" if outcome.is_bad else ""
    name, code = outcome.situation.name, outcome.exit_code
    said = sentence or ("(nothing)" if code else "(trains)")
    return (
        f"| {name} | {outcome.seconds:.1f} | {code}{bad} | {said} | {outcome.verdict or '-'} |"
        f" {remained} |"
    )


def table(outcomes: Sequence[Outcome]) -> str:
    """The table, and above it what it was measured on."""
    lines = [
        (
            f"Each situation was tried once, on a machine of {os.cpu_count()} cores"
            f" ({platform.machine()}); the load at the end was {os.getloadavg()[0]:.0f}."
        ),
        "",
        "| situation | s | exit code | what it says | `suite check` | remained |",
        "|---|---|---|---|---|---|",
        *map(row, outcomes),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
