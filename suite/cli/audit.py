"""`suite audit BUNDLE` and `suite audit draw BUNDLE`."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
from typer import Argument, Option

from suite import api
from suite.catalog.frameworks import is_own, load_framework
from suite.cli.completion import framework_names
from suite.cli.json_output import expect_place, print_json, write_record
from suite.cli.options import DataFolder, Json, say
from suite.compliance.finding import printable
from suite.metrics.audit_record import AuditRecord, StateAudit
from suite.metrics.epoch_replays import FIGURES, EpochReplays
from suite.metrics.replayed_losses import AuditVerdict

OWN = "bundle"
EXIT_CODES = {
    AuditVerdict.AGREES: 0,
    AuditVerdict.CONTRADICTS: 1,
    AuditVerdict.CANNOT_TELL: 2,
}


class AuditGroup(typer.core.TyperGroup):
    """`suite audit RUN` and `suite audit draw RUN`: what is no subcommand is a run or an
    option of the audit itself."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the audit's own command before its arguments."""
        return super().parse_args(
            ctx, args if args[:1] and args[0] in self.commands else [OWN, *(args or ["--help"])]
        )

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The audit's own command has no name in usage and errors."""
        name, command, rest = super().resolve_command(ctx, args)
        return "" if name == OWN else name, command, rest


app = typer.Typer(cls=AuditGroup, add_completion=False)


@app.command(OWN)
def audit(
    run: Annotated[
        Path,
        Argument(help="Sealed run directory; `suite audit draw RUN` picks the epoch for --state."),
    ],
    framework: Annotated[
        str | None,
        Option(
            autocompletion=framework_names,
            help="Framework of the replay (default: the run's own, else the first available).",
        ),
    ] = None,
    steps: Annotated[
        int | None, Option(help="Number of steps to train again (default: 10).")
    ] = None,
    data: DataFolder = None,
    state: Annotated[
        Path | None,
        Option(help="Also continue training from this state, which --keep-states wrote."),
    ] = None,
    epoch: Annotated[int | None, Option(min=1, help="Epoch after which --state was saved.")] = None,
    value: Annotated[
        str | None,
        Option(
            help="The --value from which `suite audit draw` drew this epoch. Without it, the record"
            " says self-drawn: the run's maker could choose the epoch."
        ),
    ] = None,
    implementation: Annotated[
        Path | None,
        Option(
            metavar="DIR",
            help="Folder of the implementation that made the run. With --state, both this"
            " implementation and the replay's framework continue training from that state.",
        ),
    ] = None,
    json: Json = False,
    output: Annotated[
        Path | None, Option(help="Also write the record to this JSON file, for a submission.")
    ] = None,
) -> None:
    """Train a run's first steps again and compare. Exit code: 0 agrees, 1 contradicts, 2
    undecided."""
    expect_place(output)
    record = api.audit(
        run,
        framework=framework,
        steps=steps,
        data=data,
        state=state,
        epoch=epoch,
        value=value,
        implementation=implementation,
        report=say,
    )
    write_record(output, asdict(record))
    if json:
        print_json("audit", {**asdict(record), "verdict": record.verdict})
    else:
        _show(record)
    if record.verdict is not AuditVerdict.AGREES:
        raise typer.Exit(EXIT_CODES[record.verdict])


@app.command()
def draw(
    run: Annotated[Path, Argument(help="Sealed run directory.")],
    value: Annotated[
        str | None,
        Option(
            help="Text that a witness or a reviewer gave after the run was sealed. Without it, the"
            " epoch is self-drawn."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Draw the epoch whose training state must be handed in, from the log's last chain value and a
    text."""
    drawn = api.draw_epoch(run, value)
    if json:
        print_json("audit-draw", vars(drawn))
        return
    print(
        f"epoch {drawn.epoch} of {drawn.epochs}"
        + (
            ""
            if drawn.value is not None
            else ", self-drawn: the run's maker could choose this epoch"
        )
    )


def _show(record: AuditRecord) -> None:
    replayer, step = record.replayer, record.comparison.step
    title = f"{load_framework(replayer.framework).title} {replayer.framework_version or ''}".strip()
    print(
        f"{printable(record.bundle.run_id)}: {record.verdict.value}, {record.steps} steps in "
        f"{title}, {record.time_s:.0f} s"
    )
    if record.reason is not None:
        print(f"  {record.reason}")
    if step is not None:
        what = (
            "first step beyond its tolerance"
            if record.comparison.verdict is AuditVerdict.CONTRADICTS
            else "step nearest to its tolerance"
        )
        print(f"  {what}: {step.step}, loss {step.observed:.6g}, expected {step.expected:.6g}")
        print(f"  difference {step.difference:.1e}, tolerance {step.tolerance:.1e}")
    if record.state is not None:
        _show_state(record.state)
    if record.verdict is AuditVerdict.AGREES:
        error = (
            ""
            if record.rate_error_found is None
            else f"; learning rate (errors of {record.rate_error_found:.2%} or more would show)"
        )
        print(
            f"  checked in these steps: losses, seed, data, initial weights and batch size{error}"
        )
        rest = (
            "later steps, precision, times, energy, accuracy and device"
            if record.state is None
            else "other steps, times, energy and device"
        )
        own = record.state is None or record.state.program is not None
        if not own and not is_own(record.bundle.framework):
            rest += ", and the run's own program (to check it: --implementation DIR)"
        print(f"  not checked: {rest}")
    if not replayer.data_verified:
        print("  the replay's data set is not verified: a difference may come from the data")


def _show_state(state: StateAudit) -> None:
    how = "self-drawn" if state.value is None else f"drawn with {printable(state.value)[:100]!r}"
    print(f"  state after epoch {state.epoch} ({how}): {state.verdict.value}")
    if state.comparison is None:
        print("    no step follows this state")
    elif state.comparison.step is not None:
        step = state.comparison.step
        print(
            f"    step {step.step} after this state: loss {step.observed:.6g}, expected"
            f" {step.expected:.6g}, tolerance {step.tolerance:.1e}"
        )
    if state.correct is not None:
        print(
            f"    samples classified correctly: {state.correct} of {state.eval_samples} in the run,"
            f" {state.replayed_correct} in the replay (may differ by at most"
            f" {state.allowed_correct})"
        )
    for after, by in (
        (state.epoch_after, ""),
        (state.program, ", trained by the run's own program"),
    ):
        if after is not None:
            _show_epoch(after, by)


def _show_epoch(after: EpochReplays, by: str) -> None:
    print(
        f"    the {after.steps} steps after this state{by}, compared with"
        f" {len(after.replayed)} replays that round differently:"
    )
    for figure in after.judged():
        print(
            f"      {FIGURES[figure.name]} {figure.observed:.5g}, honest {figure.low:.5g} to"
            f" {figure.high:.5g}{'' if figure.is_within else ': contradicts'}"
        )
