"""`suite bringup`: one file of a board that its owner can send, and that becomes a fixture of the
tests."""

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from suite.cli.json_output import JsonFormat, print_json
from suite.cli.options import Json
from suite.cli.watching import watcher
from suite.compliance.finding import printable
from suite.errors import Reported, SuiteError
from suite.extensions.bringup import api
from suite.extensions.bringup.measuring.bringup import default_path, refuse_existing
from suite.extensions.bringup.measuring.first_run import (
    archive_of,
    beside_archive,
    described,
    pack,
    train,
)
from suite.extensions.bringup.record import BringUp, Calibration
from suite.files.counted import counted

FORMAT = JsonFormat(
    "bringup",
    "suite bringup",
    {
        "path": "where it is",
        "schema": "schema of the file",
        "suite": "version of the suite",
        "date": "day",
        "status": "complete, interrupted or failed",
        "emulator": "name of the emulator, or null on a board",
        "device": "profile",
        "evidence": "how the device was recognised",
        "board": "model, or null",
        "compatible": "names in the device tree",
        "architecture": "of the processor",
        "kernel": "version",
        "board_digest": "keyed digest of the serial number, or null",
        "files": "list: path and content",
        "programs": "list: command and output",
        "meters": "list: each meter's first readings, or why it has none",
        "step_s": "length of each step of the staircase, or null",
        "steps": "the staircase of loads",
        "ranges": "list: count, lowest, mean and highest reading of each channel on the staircase",
        "calibrations": "list: gain and offset of each on-board sensor against a power meter",
        "failures": "sentences",
        "removed": "list: kinds of private details that were replaced, and how often",
    },
)

WHERE_TO_SEND = (
    "Send it with the repository's issue form 'What a board reports'; no pull request is needed."
)


def bringup(
    output: Annotated[
        Path | None, typer.Option(help="File to write (default: DEVICE-DATE.bringup.json here).")
    ] = None,
    seconds: Annotated[
        float, typer.Option(help="Length of each step of the staircase of loads.")
    ] = api.DEFAULT_STEP_S,
    yes: Annotated[
        bool, typer.Option("--yes", help="Keep the collected data without asking.")
    ] = False,
    no_identity: Annotated[
        bool,
        typer.Option(
            "--no-identity", help="Do not record the digest of the board's serial number."
        ),
    ] = False,
    with_run: Annotated[
        bool,
        typer.Option(
            "--train",
            help=(
                "Also train LeNet-5 on the digits in PyTorch; the file is then a .zip with the"
                " board's data and the run."
            ),
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Collect in one file what this board reports, what its meters read, and a calibration. You
    see the file before it is saved."""
    if json and not yes:
        raise SuiteError("--json prints the finished file and asks nothing: give --yes as well.")
    if not yes and not sys.stdin.isatty():
        raise SuiteError(
            "Standard input is not a terminal, so you cannot be asked whether to keep what is "
            "collected: give --yes, and look at the file afterwards."
        )
    if with_run and output is not None:
        refuse_existing(output)
        output = beside_archive(output)
    with tempfile.TemporaryDirectory(prefix="bringup-") as folder:
        run = Path(folder, "run")

        def also(found: BringUp) -> list[str]:
            if not with_run:
                return []
            refuse_existing(archive_of(output or default_path(found)))
            try:
                with watcher() as progress:
                    train(run, not no_identity, progress)
            except SuiteError as error:
                return [f"the run: {error}"]
            return []

        def confirm(found: BringUp) -> bool:
            if not json:
                print("\n".join(map(printable, _listing(found))))
                for name, content in described(run) if with_run else ():
                    print("\n".join(map(printable, _text(name, content))))
            return yes or typer.confirm("Keep this, and measure?", default=True)

        written = api.bring_up(
            output,
            step_s=seconds,
            with_identity=not no_identity,
            confirm=confirm,
            report=_report,
            also=also,
        )
        path = pack(written.path, run) if with_run else written.path
    if json:
        print_json(FORMAT, {"path": path, **asdict(written.bringup)})
    else:
        print("\n".join(map(printable, _result(written.bringup))))
        print(f"{path}: {path.stat().st_size / 1024:.0f} KiB. {WHERE_TO_SEND}")
    if written.bringup.failures:
        count = len(written.bringup.failures)
        raise Reported(
            f"{counted(count, 'part')} of the bring-up failed. The file lists the"
            " failures and holds everything else, so send it anyway."
        )


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _listing(found: BringUp) -> Iterator[str]:
    """Everything that is to be kept: files with one line beside their names, others indented below
    them."""
    yield (
        f"device: {found.device} ({found.evidence}); {found.board or 'no name'};"
        f" {found.architecture}, Linux {found.kernel}"
    )
    if found.emulator:
        yield f"emulated by {found.emulator}: nothing in this file is a measurement"
    yield f"board digest: {found.board_digest or 'left out'}"
    for file in found.files:
        yield from _text(f"/{file.path}", file.content)
    for program in found.programs:
        ending = (
            "stopped at its time limit"
            if program.exit_code is None
            else f"exit code {program.exit_code}"
        )
        yield from _text(f"$ {program.command} ({ending})", program.output)
    for trial in found.meters:
        readings = ", ".join(f"{one.channel} {one.value:g} {one.unit}" for one in trial.readings)
        yield f"meter {trial.name}: {readings or trial.reason or 'no reading'}"
    yield from (f"failed: {failure}" for failure in found.failures)
    yield f"removed: {', '.join(found.removed) or 'nothing'}"


def _text(name: str, content: str) -> Iterator[str]:
    lines = content.replace("\0", " ").strip().splitlines()
    if len(lines) < 2:
        yield f"{name}: {''.join(lines)}"
    else:
        yield f"{name}:"
        yield from (f"    {line}" for line in lines)


def _result(found: BringUp) -> Iterator[str]:
    """The staircase and the calibrations."""
    for step in found.steps:
        powers = ", ".join(f"{each.total} {each.power_w:.2f} W" for each in step.powers)
        yield f"{counted(step.busy_cores, 'busy core')}: {powers or 'no power meter'}"
    yield from map(_calibration, found.calibrations)
    yield from (f"failed: {failure}" for failure in found.failures)


def _calibration(one: Calibration) -> str:
    if one.gain is None or one.gain_low is None or one.gain_high is None or one.offset_w is None:
        return f"{one.sensor} against {one.meter}: {one.reason}"
    expected = (
        f"{one.expected_low:g}"
        if one.expected_low == one.expected_high
        else f"{one.expected_low:g} to {one.expected_high:g}"
    )
    verdict = {
        True: f"outside the expected {expected}",
        False: f"within the expected {expected}",
        None: f"partly outside the expected {expected}: repeat with longer --seconds",
    }[one.deviates]
    return (
        f"{one.sensor} = {one.gain:.4f} x {one.meter} {one.offset_w:+.2f} W; gain"
        f" {one.gain_low:.3f} to {one.gain_high:.3f} (95 %), {verdict}"
    )
