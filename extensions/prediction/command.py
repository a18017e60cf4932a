"""`suite predict`: time, power and energy of modes that were never profiled, the best mode within
limits, and what to profile next."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from suite.cli.json_output import JsonFormat, print_json
from suite.cli.options import Json, with_options
from suite.errors import SuiteError

if TYPE_CHECKING:
    from suite.extensions.prediction.record.answers import Answer, Estimate, Forecast, Known
    from suite.extensions.prediction.record.limits import Question
    from suite.extensions.prediction.record.table import Profile

FORMAT = JsonFormat(
    "predict",
    "suite predict",
    {
        "model": "physical, linear or neural",
        "modes": "number of modes",
        "profiled": "number of profiled modes",
        "limits": "limits of time (s), power (W) and energy (J) that were given",
        "minimised": "time, power or energy",
        "recommended": (
            "mode, estimates with 90 % intervals, is_profiled, probability of being within"
            " the limits; or null"
        ),
        "binds": (
            "what prevents a better mode: the first limit whose removal would change the"
            " recommended mode; if there is none, the resource with the largest elasticity; null if"
            " no limits were given or no mode is recommended"
        ),
        "time_follows": (
            "by resource (clocks, cores, …): relative increase of the time per relative decrease of"
            " the resource (elasticity, from 0 to 1)"
        ),
        "next": "mode to profile next, as recommended; or null",
        "front": ("list of profiled modes on the Pareto front: mode, membership (on, possibly)"),
    },
)

GRID_HELP = (
    "Modes of the board: a TOML file of axes, or the name of a file in rules/mode_grids (default:"
    " the modes that the table names)."
)


@dataclass(frozen=True, kw_only=True)
class LimitOptions:
    """The question."""

    max_watts: Annotated[
        float | None, typer.Option(help="Upper limit of the average power (W).")
    ] = None
    max_minutes: Annotated[
        float | None,
        typer.Option(help="Upper limit, in minutes, of time_s (for example the time of an epoch)."),
    ] = None
    max_joules: Annotated[
        float | None, typer.Option(help="Upper limit of the energy used during time_s (J).")
    ] = None
    minimise: Annotated[
        str | None,
        typer.Option(
            help=(
                "Quantity to minimise: time, power or energy (default: energy if only the time is"
                " limited, otherwise time)."
            )
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """The model."""

    model: Annotated[
        str,
        typer.Option(
            help=(
                "physical, or one of two baselines: linear (Prashanthi et al., 2022) or neural"
                " (PowerTrain)."
            )
        ),
    ] = "physical"
    other: Annotated[
        list[Path] | None,
        typer.Option(
            help="Table of another workload on this board, for the baselines; repeatable."
        ),
    ] = None
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            help=(
                "Seed of the random draws; with --design, a seed above 0 chooses modes near those"
                " of seed 0."
            ),
        ),
    ] = 0


@with_options
def predict(
    limits: LimitOptions,
    chosen: ModelOptions,
    table: Annotated[
        Path | None,
        typer.Argument(
            help=(
                "Table of profiled modes: CSV, JSON or Parquet, or the folder of a sweep"
                " (extensions/prediction/README.md)."
            )
        ),
    ] = None,
    grid: Annotated[str | None, typer.Option(help=GRID_HELP)] = None,
    design: Annotated[
        bool,
        typer.Option(
            "--design",
            help="Print the modes to profile first, as a table to fill in; predict nothing.",
        ),
    ] = False,
    front: Annotated[
        bool,
        typer.Option(
            "--front",
            help="Also print the profiled modes' Pareto front over time, power and energy.",
        ),
    ] = False,
    output: Annotated[
        Path | None, typer.Option(help="Write the prediction of every mode to this CSV file.")
    ] = None,
    json: Json = False,
) -> None:
    """Predict time, power and energy of modes that were never profiled, and the best mode within
    limits."""
    if design:
        _print_design(table, grid, chosen.seed)
        return
    if table is None:
        raise SuiteError(
            "There is no table of profiled modes",
            "`suite predict --grid GRID --design` prints which modes to profile first",
        )
    asked = _question(limits)
    from suite.extensions.prediction.record.knowing import known_of  # start-up: NumPy

    known, profile = known_of(table, grid, chosen.model, chosen.other or (), chosen.seed)
    if output is not None:
        _write(known, output)
    if json:
        print_json(FORMAT, _as_dict(known, profile, asked, chosen.model))
    else:
        print("\n".join(_lines(known, profile, asked, front)))


def _question(limits: LimitOptions) -> "Question":
    from suite.extensions.prediction.record.limits import Quantity, question  # start-up: NumPy

    try:
        minimise = None if limits.minimise is None else Quantity(limits.minimise)
    except ValueError:
        raise SuiteError(
            f"There is no quantity {limits.minimise!r} to minimise", "choose time, power or energy"
        ) from None
    return question(
        limits.max_watts,
        None if limits.max_minutes is None else 60 * limits.max_minutes,
        limits.max_joules,
        minimise,
    )


def _print_design(table: Path | None, grid: str | None, seed: int) -> None:
    from suite.extensions.prediction.record.design import initial_design  # start-up: NumPy
    from suite.extensions.prediction.record.knowing import modes_of  # start-up: NumPy
    from suite.extensions.prediction.record.table import read_modes  # start-up: NumPy

    if grid is not None:
        modes = modes_of(grid)
    elif table is not None:
        modes = read_modes(table)
    else:
        raise SuiteError(
            "There are no modes to choose from", "give --grid, or a table that lists the modes"
        )
    print(",".join((*modes.names, "time_s", "power_w")))
    for index in initial_design(modes, seed):
        print(",".join(f"{value:.10g}" for value in modes.rows[index]) + ",,")


def _lines(
    known: "Known", profile: "Profile", asked: "Question", with_front: bool
) -> Iterator[str]:
    from suite.extensions.prediction.record.answers import answer  # start-up: NumPy

    predicted = len(known.modes) - len(profile)
    yield (
        f"{len(profile)} modes profiled, {predicted} predicted; the intervals' nominal coverage"
        " is 90 % (extensions/prediction/README.md says how often an interval contained the true"
        " value)."
    )
    found = answer(known, asked)
    if asked.limits():
        yield from _answer_lines(found, asked)
    if found.next is not None:
        yield f"To narrow the intervals, profile next: {_mode(found.next.mode)}"
        yield f"  expected {_quantities(found.next)}"
    if with_front:
        yield from _front_lines(profile)


def _answer_lines(found: "Answer", asked: "Question") -> Iterator[str]:
    from suite.extensions.prediction.record.limits import CERTAINTY  # start-up: NumPy

    within = ", ".join(
        f"{quantity.value} at most {limit:g} {_UNITS[quantity.value]}"
        for quantity, limit in asked.limits().items()
    )
    if found.recommended is None:
        yield (
            f"No mode is within the limits ({within}) with a probability of at least"
            f" {CERTAINTY:.0%}; raise a limit, or profile the mode below."
        )
        return
    one = found.recommended
    yield f"Smallest {asked.minimise.value} with {within}: {_mode(one.mode)}"
    yield f"  {_quantities(one)}"
    yield (
        f"  {'profiled' if one.is_profiled else 'predicted, never profiled'}; within the limits"
        f" with a probability of {one.within:.0%}"
    )
    follows = ", ".join(f"{name} {share:.0%}" for name, share in found.time_follows.items())
    yield (
        f"  binding constraint: {found.binds}; share of the time that depends on each resource:"
        f" {follows}"
    )


_UNITS = {"time": "s", "power": "W", "energy": "J"}


def _mode(mode: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.10g}" for name, value in mode.items())


def _quantities(one: "Forecast") -> str:
    every = ((one.time_s, "s"), (one.power_w, "W"), (one.energy_j, "J"))
    return ", ".join(_estimate(estimate, unit) for estimate, unit in every if estimate is not None)


def _estimate(one: "Estimate", unit: str) -> str:
    return f"{one.value:.4g} {unit} ({one.low:.4g} to {one.high:.4g})"


def _front_lines(profile: "Profile") -> Iterator[str]:
    from suite.extensions.prediction.record.front import front_of  # start-up: NumPy

    if not profile.has_power:
        yield "There is no Pareto front: the table has neither power_w nor energy_j."
        return
    yield ("Pareto front of the profiled modes over time, power and energy (joint 95 % intervals):")
    for index, membership in front_of(profile):
        mode = dict(zip(profile.names, profile.rows[index].tolist(), strict=True))
        yield (
            f"  {membership.value:9}{profile.time_s[index]:>9.4g} s {profile.power_w[index]:>7.4g}"
            f" W  {_mode(mode)}"
        )


def _write(known: "Known", path: Path) -> None:
    from suite.extensions.prediction.record.output import write_predictions  # start-up: NumPy

    write_predictions(known.modes, known.samples, known.profiled, path)


def _as_dict(
    known: "Known", profile: "Profile", asked: "Question", model: str
) -> dict[str, object]:
    from suite.extensions.prediction.record.answers import answer  # start-up: NumPy
    from suite.extensions.prediction.record.front import front_of  # start-up: NumPy

    found = answer(known, asked)
    return {
        "model": model,
        "modes": len(known.modes),
        "profiled": len(profile),
        "limits": {quantity.value: limit for quantity, limit in asked.limits().items()},
        "minimised": asked.minimise.value,
        "recommended": (
            None if found.recommended is None or not asked.limits() else asdict(found.recommended)
        ),
        "binds": found.binds if asked.limits() else None,
        "time_follows": dict(found.time_follows),
        "next": None if found.next is None else asdict(found.next),
        "front": [
            {
                "mode": dict(zip(profile.names, profile.rows[index].tolist(), strict=True)),
                "membership": membership.value,
            }
            for index, membership in front_of(profile)
        ],
    }
