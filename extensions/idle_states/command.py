"""`suite baseload`: the power of the idle machine in four states."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from suite.cli.json_output import JsonFormat, print_rows
from suite.cli.options import Json, say
from suite.extensions.idle_states.measuring import IdleState, measure_idle_states

FORMAT = JsonFormat(
    "baseload",
    "suite baseload",
    {
        "state": "logged, quiet, free or suspended",
        "title": "the state in words",
        "power": "mean power as a figure, W; an unknown value is null, with a reason",
        "meters": "names of the meters that were read",
        "power_mode": "power mode and clocks, or null",
        "time_s": "length",
    },
    is_list=True,
)


def baseload(
    seconds: Annotated[
        float, typer.Option(min=5, max=3600, help="How long each state is measured.")
    ] = 60.0,
    suspended: Annotated[
        Path | None,
        typer.Option(
            metavar="LOG.csv",
            help=(
                "File of an external logger that recorded the suspended machine (docs/loggers.md)."
            ),
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Measure the idle machine's power in four states.

    With all meters read, with power alone read, with the clocks free, and suspended: the last from
    the file of an external logger.
    """
    found = measure_idle_states(seconds, suspended, report=say)
    if json:
        print_rows(FORMAT, [_json_values(one) for one in found])
        return
    print("\n".join(table(found)))


def table(states: Sequence[IdleState]) -> Iterator[str]:
    """Lines for a person."""
    width = max(len(one.title) for one in states)
    for one in states:
        if one.power.value is None:
            yield f"{one.title:{width}}  unknown: {one.power.reason}"
        else:
            yield (
                f"{one.title:{width}}  {one.power.value:.3g} W  ({', '.join(one.meters)}"
                f"{'' if one.power_mode is None else f'; {one.power_mode}'})"
            )


def _json_values(one: IdleState) -> dict[str, object]:
    return {
        "state": one.state,
        "title": one.title,
        "power": one.power.to_dict(),
        "meters": list(one.meters),
        "power_mode": one.power_mode,
        "time_s": one.time_s,
    }
