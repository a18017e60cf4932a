"""`make prove`: lists proofs with the age and verdict of their last results; `make prove NAME` runs
one; `make nightly` runs what is due."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.table import Table

from proofs import evidence
from proofs.figures import PLACE
from proofs.parts import changed, parts
from proofs.proof import NEEDS, Proof, all_proofs, find, unmet
from proofs.result import Result, Verdict, commit, machine, read, today, write
from suite.errors import COULD_NOT, SuiteError
from suite.files.json_file import read_json
from suite.files.paths import repository_root

DUE_DAYS = 30
"""A result older than this is made again by `make nightly`, even if nothing has changed."""
STALE, NEVER = "stale", "never run"
MAX_REPORT_CHARACTERS = 200_000


@dataclass(frozen=True)
class State:
    """A proof with what is known of it. ``stale``: the folders that changed since its last result;
    empty: none, None: unknown."""

    proof: Proof
    last: Result | None
    stale: tuple[str, ...] | None

    @property
    def verdict(self) -> str:
        """As the list has it."""
        if self.last is None:
            return NEVER
        return (
            self.last.verdict.value if self.stale == () else f"{self.last.verdict.value}, {STALE}"
        )

    @property
    def age_days(self) -> int | None:
        """Days since the last result."""
        return (
            None
            if self.last is None
            else (date.fromisoformat(today()) - date.fromisoformat(self.last.date)).days
        )

    @property
    def is_due(self) -> bool:
        """Never run, stale, failed or old."""
        return (
            self.last is None
            or self.stale != ()
            or self.last.verdict is Verdict.FAILS
            or (self.age_days or 0) > DUE_DAYS
        )


def state(proof: Proof) -> State:
    """Compare the proof's files with those of its last result."""
    last = read(proof)
    return State(
        proof, last, None if last is None or last.parts is None else changed(last.parts, proof)
    )


def main(words: Sequence[str]) -> int:
    """Exit code 0: listed, or every proof that was run holds; 1: one does not; 2: one could not be
    run."""
    parser = argparse.ArgumentParser(prog="python -m proofs", description=__doc__)
    parser.add_argument(
        "name", nargs="*", help="proofs to run, one after the other; none: list them"
    )
    parser.add_argument(
        "--due",
        action="store_true",
        help="run every proof that is due and whose needs this machine meets",
    )
    parser.add_argument(
        "--grant",
        default="",
        help="needs that you can vouch for: network, quiet; separated by commas",
    )
    parser.add_argument(
        "--arguments",
        default="",
        help="words for the campaign; such a run is printed and not recorded",
    )
    asked = parser.parse_args(words)
    granted = frozenset(filter(None, asked.grant.split(",")))
    try:
        if asked.due:
            return _run_due(granted)
        for name in asked.name:
            if code := run(find(name), shlex.split(asked.arguments)):
                return code
        if not asked.name:
            _show([state(proof) for proof in all_proofs()])
    except SuiteError as error:
        print(f"error: {error}", file=sys.stderr)
        return COULD_NOT
    except KeyboardInterrupt:
        print("Interrupted: nothing was recorded; the last result stays.", file=sys.stderr)
        return COULD_NOT
    return 0


def _run_due(granted: frozenset[str]) -> int:
    """The quickest first; a proof that fails does not end the night."""
    due = sorted(
        (each for each in map(state, all_proofs()) if each.is_due),
        key=lambda each: each.proof.declared.minutes,
    )
    code = 0
    for each in due:
        if lacks := unmet(each.proof, granted):
            print(
                f"{each.proof.name}: left out, it needs"
                f" {' and '.join(NEEDS[need] for need in lacks)}"
            )
        else:
            code = max(code, run(each.proof, ()))
    return code


def run(proof: Proof, arguments: Sequence[str]) -> int:
    """Run a proof; its output is shown as it comes and kept with its verdict, unless ``arguments``
    make it a part of itself."""
    needs = (
        f" It needs {', '.join(NEEDS[need] for need in proof.declared.needs)}."
        if proof.declared.needs
        else ""
    )
    print(
        f"{proof.name}: {proof.declared.shows}\nAbout {proof.declared.minutes} min.{needs}"
        f" {proof.declared.resume}",
        file=sys.stderr,
        flush=True,
    )
    root = repository_root()
    packages = ["tools/packages.sh", f"for the proof {proof.name}", *proof.declared.packages]
    for command in (packages, *([script] for script in proof.declared.setup)):
        if subprocess.run(["sh", *command], cwd=root, check=False).returncode:
            return COULD_NOT
    proved, began_s = parts(proof), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="proof-") as name:
        figures = Path(name) / "figures.json"
        with (Path(name) / "report").open("w+", encoding="utf-8") as report:
            code = _shown(
                [*_command(proof), *arguments],
                {**os.environ, PLACE: str(figures), "EVERY_CASE": "1"},
                report,
            )
            report.seek(0)
            text = report.read(MAX_REPORT_CHARACTERS)
        found = read_json(figures) if figures.is_file() else {}
    # a program that breaks off hands over no figures
    verdict = {0: Verdict.HOLDS, 1: Verdict.FAILS}.get(code) if found else None
    took_s = time.monotonic() - began_s
    if verdict is None:
        print(
            f"error: {proof.name} could not be run to its end (exit code {code}); nothing was"
            " recorded.",
            file=sys.stderr,
        )
        return COULD_NOT
    if not arguments:
        write(
            proof,
            Result(today(), commit(), machine(), round(took_s, 1), verdict, found, proved),
            text,
        )
        evidence.write_all()
    print(
        f"{proof.name}: {verdict.value}, {took_s / 60:.1f}"
        f" min{'' if not arguments else '; a part only: not recorded'}",
        file=sys.stderr,
    )
    return code


def _command(proof: Proof) -> list[str]:
    if proof.declared.tests:
        return [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-n",
            "2",
            "--dist",
            "loadfile",
            "-p",
            "proofs.counted_tests",
            *proof.declared.tests,
        ]
    return [sys.executable if word == "python" else word for word in proof.declared.run]


def _shown(command: Sequence[str], variables: dict[str, str], report: TextIO) -> int:
    """Run the command in the checkout's root; each line of its output is printed and kept. Ctrl-C
    reaches the command, which ends it."""
    with subprocess.Popen(
        command,
        cwd=repository_root(),
        env=variables,
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                print(line, end="", flush=True)
                report.write(line)
            return process.wait()
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGINT)
            process.wait()
            raise


def _show(states: Sequence[State]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("proof", "last result", "age", "min", "needs"):
        table.add_column(column, no_wrap=True)
    for each in states:
        proof, days = each.proof, each.age_days
        table.add_row(
            proof.name,
            each.verdict,
            "" if days is None else f"{days} d",
            str(proof.declared.minutes),
            ", ".join(proof.declared.needs),
        )
    Console(width=max(80, shutil.get_terminal_size().columns)).print(table)
    stale = sum(each.stale != () for each in states)
    print(
        f"{len(states)} proofs, {stale} of them stale or never run. Run one: make prove NAME. What"
        " each shows: docs/evidence/README.md"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
