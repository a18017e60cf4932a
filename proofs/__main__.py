"""`make prove`: lists proofs with the age and verdict of their last results; `make prove NAME` runs
one; `make nightly` runs what is due."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import IO, Any, TextIO

from proofs import evidence
from proofs.figures import PLACE, SKIPPED_BECAUSE
from proofs.parts import changed_folders, folder_digests, what_changed
from proofs.proof import NEEDS, OBTAINED, PROMISED, Proof, all_proofs, find_proof, unmet_needs
from proofs.result import (
    ProofResult,
    Verdict,
    current_commit,
    machine_kind,
    read_result,
    today_utc,
    write_result,
)
from suite.errors import COULD_NOT, SuiteError
from suite.files.json_file import read_json
from suite.files.paths import repository_root
from tools.descendants import adopt_orphans, end_everything, succeeds

DUE_DAYS = 30
"""A result older than this is made again by `make nightly`, even if nothing has changed."""
NEVER = "never run"
MAX_REPORT_CHARACTERS = 200_000
GRACE_S = 60
"""For a campaign that was interrupted to put back what it changed."""


@dataclass(frozen=True)
class State:
    """A proof with what is known of it. ``stale``: the folders that changed since its last result;
    empty: none, None: unknown."""

    proof: Proof
    last: ProofResult | None
    stale: tuple[str, ...] | None

    @property
    def verdict(self) -> str:
        """As the list has it."""
        if self.last is None:
            return NEVER
        return evidence.verdict(self.proof, self.last)

    @property
    def age_days(self) -> int | None:
        """Days since the last result."""
        return (
            None
            if self.last is None
            else (date.fromisoformat(today_utc()) - date.fromisoformat(self.last.date)).days
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
    last = read_result(proof)
    return State(
        proof,
        last,
        None if last is None or last.parts is None else changed_folders(last.parts, proof),
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
            if code := run(find_proof(name), shlex.split(asked.arguments)):
                return code
        if not asked.name:
            _show([state(proof) for proof in all_proofs()])
    except SuiteError as error:
        print(f"error: {error}", file=sys.stderr)
        return COULD_NOT
    except KeyboardInterrupt:
        print(
            "Interrupted: the proof that ran keeps its last result; those that ended are recorded.",
            file=sys.stderr,
        )
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
        if lacks := unmet_needs(each.proof, granted):
            print(
                f"{each.proof.name}: left out, it needs"
                f" {' and '.join(NEEDS[need] for need in lacks)}"
            )
        else:
            code = max(code, run(each.proof, (), granted))
    return code


def run(proof: Proof, arguments: Sequence[str], granted: frozenset[str] = PROMISED) -> int:
    """Run a proof; its output is shown as it comes and kept with its verdict, unless ``arguments``
    make it a part of itself. What it needs and this machine lacks is one sentence."""
    if lacks := unmet_needs(proof, granted):
        ways = "; ".join(f"{NEEDS[need]}: {OBTAINED[need]}" for need in lacks)
        print(f"error: {proof.name} needs what is missing here: {ways}.", file=sys.stderr)
        return COULD_NOT
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
    before, began_s = (folder_digests(proof), current_commit()), time.monotonic()
    with _continued(proof, before[0], is_whole=not arguments) as earlier_s:
        code, text, found = _campaign(proof, arguments)
        took_s = time.monotonic() - began_s + earlier_s
        verdict, why = _judged(proof, code, found)
        if verdict is None:
            print(
                f"error: {proof.name} is not shown: {why}; the last result stays.", file=sys.stderr
            )
            return COULD_NOT
    if not arguments:
        write_result(
            proof,
            ProofResult(
                today_utc(), before[1], machine_kind(), round(took_s, 1), verdict, found, before[0]
            ),
            text,
        )
        _note(proof).unlink(missing_ok=True)
        evidence.write_all()
    print(
        f"{proof.name}: {verdict.value}, {took_s / 60:.1f}"
        f" min{'' if not arguments else '; a part only: not recorded'}",
        file=sys.stderr,
    )
    return code


def _campaign(proof: Proof, arguments: Sequence[str]) -> tuple[int, str, dict[str, Any]]:
    """Exit code, what was printed, figures that were handed over."""
    with tempfile.TemporaryDirectory(prefix="proof-") as name:
        figures, lines = Path(name) / "figures.json", list[str]()
        variables = {**os.environ, PLACE: str(figures), "EVERY_CASE": "1"}
        code = _shown([*_command(proof), *arguments], variables, lines)
        return code, _shortened("".join(lines)), read_json(figures) if figures.is_file() else {}


def _judged(proof: Proof, code: int, found: dict[str, Any]) -> tuple[Verdict | None, str]:
    """The verdict; None, and why, where nothing was shown. The reasons of skips are taken out of
    the figures."""
    skips = [
        reason
        for reason in found.pop(SKIPPED_BECAUSE, ())
        if not any(known in reason for known in proof.declared.skips)
    ]
    # a program that breaks off hands over no figures
    if code not in (0, 1) or not found:
        return None, f"it could not be run to its end (exit code {code})"
    if code == 1:
        return Verdict.FAILS, ""
    if skips:
        return None, f"tests were skipped: {'; '.join(skips)}"
    if not found.get("passed", 1):
        return None, "no test passed"
    return Verdict.MEASURED if proof.declared.measures else Verdict.HOLDS, ""


@contextlib.contextmanager
def _continued(proof: Proof, parts: Mapping[str, str], is_whole: bool) -> Iterator[float]:
    """Seconds that earlier tries of the same files took, which the body continues in the proof's
    ``keeps``. What tries of other files left there is removed first."""
    if not is_whole or not proof.declared.keeps:
        yield 0.0
        return
    note, kept = _note(proof), proof.kept
    noted = read_json(note) if note.is_file() else {}
    if noted.get("parts") != parts:
        shutil.rmtree(kept, ignore_errors=True)
        noted = {"parts": parts, "time_s": 0.0}
    began_s = time.monotonic()
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(json.dumps(noted), encoding="utf-8")
    try:
        yield noted["time_s"]
    finally:
        noted["time_s"] += time.monotonic() - began_s
        note.write_text(json.dumps(noted), encoding="utf-8")


def _note(proof: Proof) -> Path:
    """Where the files and the time of a try are noted until a result is recorded."""
    return repository_root() / "build" / "proofs" / f"{proof.name}.json"


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


def _shown(command: Sequence[str], variables: Mapping[str, str], lines: list[str]) -> int:
    """Run the command in the checkout's root; each line of its output is printed and kept. Ctrl-C
    reaches the command, which ends it; what it prints from then on is nobody's."""
    with subprocess.Popen(
        command,
        cwd=repository_root(),
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        is_interrupted = threading.Event()
        copies = [
            threading.Thread(target=_copy, args=(*streams, is_interrupted), daemon=True)
            for streams in (
                (process.stdout, sys.stdout, lines),
                (process.stderr, sys.stderr, []),
            )
        ]
        for copy in copies:
            copy.start()
        try:
            succeeds(process)
            for copy in copies:
                copy.join()
            return process.returncode
        except KeyboardInterrupt:
            is_interrupted.set()
            with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(process.pid, signal.SIGINT)
                process.wait(GRACE_S)
            end_everything()
            raise


def _copy(
    stream: IO[bytes], shown: TextIO, lines: list[str], is_interrupted: threading.Event
) -> None:
    """Print and keep lines until the end, or the interruption."""
    for line in stream:
        if not is_interrupted.is_set():
            lines.append(line.decode(errors="replace"))
            print(lines[-1], end="", file=shown, flush=True)


def _shortened(text: str) -> str:
    """Beginning and end of a long report."""
    half = MAX_REPORT_CHARACTERS // 2
    left_out = len(text) - 2 * half
    if left_out <= 0:
        return text
    return f"{text[:half]}\n[{left_out:,} characters are left out here]\n{text[-half:]}"


def _show(states: Sequence[State]) -> None:
    """Two lines for each proof, and one more for a stale one."""
    for each in states:
        declared, days = each.proof.declared, each.age_days
        said = [each.verdict, "" if days is None else f"{days} d", f"takes {declared.minutes} min"]
        needs = f"needs {', '.join(declared.needs)}" if declared.needs else ""
        print(f"{each.proof.name}: {', '.join(filter(None, [*said, needs]))}\n    {declared.shows}")
        if each.last is not None and each.stale:
            print(f"    {what_changed(each.proof, each.last.commit, each.stale)}")
    stale = sum(each.stale != () for each in states)
    print(f"{len(states)} proofs, {stale} of them stale or never run. Run one: make prove NAME")


if __name__ == "__main__":
    adopt_orphans()
    code = main(sys.argv[1:])
    end_everything()
    sys.exit(code)
