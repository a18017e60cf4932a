"""Plans and validates a matrix of runs: settings varied at once, typed or from a TOML file."""

import dataclasses
import enum
import json
import math
import random
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from suite.bundle.study_mark import MAX_LENGTH, READ_MB_S, StudyMark
from suite.catalog.divisions import Division
from suite.catalog.study_definitions import StudyDefinition, Variable
from suite.catalog.workloads import load_workload
from suite.errors import SuiteError
from suite.execution.request import RunOptions
from suite.execution.resolve import choose_data, without_folder
from suite.execution.run_records import local_redactor
from suite.experiments.planned import PlannedRun, PlannedRuns, Values, given_values
from suite.files.redaction import Redactor
from suite.files.schema import from_plain
from suite.files.toml_file import read_table
from suite.launch.isolation import Isolation
from suite.metrics.matrix_record import MatrixPlan, MatrixPointPlan, VariedSetting, setting_words

MAX_RUNS = 100_000
WARM_UP_STEPS = 5
MAX_NEIGHBOURS = 64
MAX_COOL_TO_C = 110.0  # above it processors shut down
LIMITS = ("cpu_quota", "memory_mb", READ_MB_S)
"""Values that limit what the implementation may use of this machine (suite.machine.limits)."""

_UNSAFE = re.compile(r"[^A-Za-z0-9]+")
_MAX_NAME = 40
_DIGEST = 8


class Order(str, enum.Enum):
    """Order of the runs: every point once, then every point again; within each round as listed, or
    shuffled."""

    INTERLEAVED = "interleaved"
    SHUFFLED = "shuffled"


_KINDS = {name: typing.get_args(hint)[0] for name, hint in typing.get_type_hints(Values).items()}
Vary: Any = dataclasses.make_dataclass(
    "Vary",
    [(name, tuple[kind, ...], ()) for name, kind in _KINDS.items()],  # type: ignore[valid-type]
    frozen=True,
)
"""Several values of each setting that is varied, in tuples; what they are: :class:`Values`."""


@dataclass(frozen=True)
class MatrixDefinition:
    """A matrix as its file has it.

    The points are the grid of ``vary``, ``random`` of that grid's points drawn with ``draw_seed``,
    or the list ``points``. ``fixed`` holds for every point. Each point is run ``seeds`` times, with
    consecutive seeds from ``first_seed``. Before each run the hottest sensor cools to
    ``cool_to_c``. ``needs_power``: without a power meter nothing is run.
    """

    workload: str | None = None
    title: str | None = None
    division: Division = Division.OPEN
    device: str = "auto"
    seeds: int = 3
    first_seed: int = 1
    warm_up_steps: int = WARM_UP_STEPS
    order: Order = Order.INTERLEAVED
    order_seed: int = 1
    random: int | None = None
    draw_seed: int = 1
    cool_to_c: float | None = None
    cool_timeout_s: float = 900.0
    needs_power: bool = False
    vary: Vary = field(default_factory=Vary)
    points: tuple[Values, ...] = ()
    fixed: Values = field(default_factory=Values)


PlannedMatrix = PlannedRuns[MatrixPlan]


def read_matrix_file(path: Path) -> MatrixDefinition:
    """The matrix of a TOML file; raises SuiteError as :func:`read_toml`, and for a setting that is
    varied over nothing."""
    table = read_table(path)
    varied = table.get("vary")
    empty = (
        next((name for name, values in varied.items() if values == []), None)
        if isinstance(varied, dict)
        else None
    )
    if empty is not None:
        raise SuiteError(f"{path}: vary.{empty} has no values; list some, or leave it out.")
    return from_plain(table, MatrixDefinition, f"{path}: ")


def parse_vary(options: Sequence[str]) -> Any:
    """The varied settings of ``--vary NAME=VALUE,VALUE``, one text for each; raises SuiteError for
    an unknown name and a value of another kind."""
    values: dict[str, list[Any]] = {}
    for option in options:
        name, equals, listed = option.partition("=")
        name = name.strip().replace("-", "_")
        words = [word.strip() for word in listed.split(",") if word.strip()]
        if not equals or not words:
            raise SuiteError(
                f"--vary {option!r} has no values; write --vary NAME=VALUE,VALUE, as in --vary"
                " batch_size=16,32."
            )
        if name in values:
            raise SuiteError(f"--vary {name} is given twice; write its values once, as {name}=A,B.")
        values[name] = [_parse_setting(word, _KINDS.get(name, str), name) for word in words]
    return from_plain(values, Vary, "--vary: ")


def _parse_setting(word: str, kind: Any, name: str) -> Any:
    """A word of the command line as the setting's kind: a number where it is one; the rest is
    judged as in a file."""
    if kind is bool and word in ("true", "false"):
        return word == "true"
    if kind not in (int, float):
        return word
    try:
        return kind(word)
    except ValueError:
        needed, form = (
            ("whole number", "in digits, without a unit, such as 16")
            if kind is int
            else ("number", "without a unit, such as 0.05 or 16")
        )
        raise SuiteError(f"--vary {name}: {word!r} is not a {needed}; write it {form}.") from None


def matrix_of_study(study: StudyDefinition) -> MatrixDefinition:
    """The study as a matrix of its one setting, to vary further ones. Raises SuiteError for a study
    of nodes, which has a model of its own."""
    if study.variable is Variable.NODES:
        raise SuiteError(
            f"The study {study.name!r} has a scaling model in which only the number of nodes"
            " varies; leave --vary out, or write your own matrix that varies `nodes`."
        )
    vary = parse_vary([f"{study.variable.value}={','.join(study.values)}"])
    fixed = Values(**given_values(study.fixed))
    return MatrixDefinition(
        title=study.title,
        seeds=study.repetitions,
        warm_up_steps=study.warm_up_steps,
        vary=vary,
        fixed=fixed,
    )


def with_varied(definition: MatrixDefinition, vary: Any) -> MatrixDefinition:
    """The matrix with more varied settings, which replace its fixed ones; raises SuiteError for one
    that it varies already."""
    more = given_values(vary)
    twice = next((name for name in more if name in given_values(definition.vary)), None)
    if twice is not None:
        raise SuiteError(f"{twice} is varied by the study already; give its values with --values.")
    return replace(
        definition,
        vary=replace(definition.vary, **more),
        fixed=replace(definition.fixed, **dict.fromkeys(more)),
        title=None,
    )


def plan_matrix(
    definition: MatrixDefinition, options: RunOptions, hosts: tuple[str, ...] = ()
) -> PlannedMatrix:
    """Plan every run. ``options`` hold where the matrix says nothing; nodes are taken from
    ``hosts``.

    Raises SuiteError for settings that contradict each other. What needs the machine, as its power
    modes, is judged before the first run.
    """
    _validate(definition)
    chosen = list(_chosen(definition))
    variables = tuple(name for name in _KINDS if any(name in values.given for values in chosen))
    title = (
        definition.title or f"Matrix of {' x '.join(map(setting_words, variables))}"[:MAX_LENGTH]
    )
    definition = replace(definition, title=title)
    redactor = local_redactor()  # a folder of ``data`` may name a person
    points = [_point(values, variables, definition.fixed, redactor) for values in chosen]
    if definition.points and len(set(chosen)) < len(chosen):
        twice = next(
            point.plan.label
            for point, values in zip(points, chosen, strict=True)
            if chosen.count(values) > 1
        )
        raise SuiteError(f"The point ({twice}) is listed twice; leave one out.")
    base = replace(
        options,
        division=definition.division,
        workload=definition.workload or options.workload,
        device=definition.device,
    )
    if len(points) * definition.seeds > MAX_RUNS:
        raise SuiteError(
            f"The matrix has {len(points) * definition.seeds} runs, more than {MAX_RUNS}; draw"
            " points with --random N."
        )
    runs = tuple(
        _run(point, repetition, base, definition, hosts)
        for repetition in range(1, definition.seeds + 1)
        for point in _ordered(points, definition, repetition)
    )
    trained = {(run.options.workload, without_folder(run.options.data)): None for run in runs}
    data = (choose_data(load_workload(workload), named).name for workload, named in trained)
    plan = MatrixPlan(
        title=title,
        workload=", ".join(dict.fromkeys(workload for workload, _ in trained)),
        data=", ".join(dict.fromkeys(data)),
        variables=variables,
        points=tuple(point.plan for point in points),
        seeds=definition.seeds,
        first_seed=definition.first_seed,
        warm_up_steps=definition.warm_up_steps,
        order=definition.order.value,
    )
    return PlannedMatrix(
        plan, runs, definition.cool_to_c, definition.cool_timeout_s, definition.needs_power
    )


def refuse_boards(matrix: PlannedMatrix) -> None:
    """Raise SuiteError for runs that each belong to one board: this machine is only one."""
    if any(run.values.board is not None for run in matrix.runs):
        raise SuiteError("The setting `board` needs --boards FILE, which names the boards.")


@dataclass(frozen=True)
class _Point:
    plan: MatrixPointPlan
    values: Values = field(repr=False)


def _validate(definition: MatrixDefinition) -> None:
    varied = given_values(definition.vary)
    if bool(varied) == bool(definition.points):
        raise SuiteError(
            "A matrix needs either varied settings (--vary NAME=A,B, or [vary] in its file) or a"
            " list of [[points]], not both."
        )
    if definition.random is not None and (definition.points or definition.random < 1):
        raise SuiteError(
            "--random N draws at least 1 point from the grid of varied settings; leave --random"
            " out if the matrix lists [[points]]."
        )
    for name, values in varied.items():
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice is not None:  # more likely a slip than a wish for more runs, which --seeds makes
            raise SuiteError(
                f"{name} has the value {twice} twice; leave one out (--seeds N repeats every"
                " point)."
            )
    both = [name for name in varied if name in definition.fixed.given]
    if both:
        raise SuiteError(f"{both[0]} is both varied and fixed; leave one out.")
    if definition.title is not None and not 0 < len(definition.title) <= MAX_LENGTH:
        raise SuiteError(f"The title of a matrix must have 1 to {MAX_LENGTH} characters.")
    if definition.seeds < 1 or definition.warm_up_steps < 0 or definition.cool_timeout_s <= 0:
        raise SuiteError(
            "A matrix needs at least 1 seed, at least 0 warm-up steps, and a positive time for"
            " cooling."
        )
    if definition.cool_to_c is not None and not 0 < definition.cool_to_c <= MAX_COOL_TO_C:
        raise SuiteError(
            f"A machine cannot be cooled to {definition.cool_to_c:g} degC; name a temperature above"
            f" 0 and up to {MAX_COOL_TO_C:g}."
        )
    given = {frozenset(values.given) for values in definition.points}
    if len(given) > 1 or frozenset() in given:
        raise SuiteError("All [[points]] must have values for the same settings.")


def _chosen(definition: MatrixDefinition) -> Iterator[Values]:
    """The points: the list, the grid, or those that are drawn from the grid, in its order."""
    if definition.points:
        yield from definition.points
        return
    varied = given_values(definition.vary)
    count = math.prod(map(len, varied.values()))
    drawn: Sequence[int] = range(count)
    if definition.random is not None:
        if definition.random > count:
            raise SuiteError(
                f"--random {definition.random}: the grid has {count} points; choose fewer."
            )
        drawn = sorted(random.Random(definition.draw_seed).sample(range(count), definition.random))
    elif count > MAX_RUNS:
        raise SuiteError(
            f"The grid has {count} points, more than {MAX_RUNS}; draw points with --random N."
        )
    for number in drawn:
        yield Values(**_nth(varied, number))


def _nth(varied: Mapping[str, Sequence[Any]], number: int) -> dict[str, Any]:
    """The settings of a grid's point by its number; the last setting varies fastest."""
    found = {}
    for name, values in reversed(list(varied.items())):
        number, index = divmod(number, len(values))
        found[name] = values[index]
    return dict(reversed(list(found.items())))


def _point(values: Values, variables: Sequence[str], fixed: Values, redactor: Redactor) -> _Point:
    """The point with a folder name that does not depend on the other points: its values, and a
    digest of all its settings."""
    whole = replace(fixed, **values.given)
    words = (
        "_".join(_UNSAFE.sub("-", values.text(name)).strip("-") for name in variables)[
            :_MAX_NAME
        ].strip("-_")
        or "point"
    )
    digest = sha256(
        json.dumps({name: whole.text(name) for name in sorted(whole.given)}).encode()
    ).hexdigest()[:_DIGEST]
    settings = tuple(VariedSetting(name, redactor.text(values.text(name))) for name in variables)
    too_long = next((setting for setting in settings if len(setting.value) > MAX_LENGTH), None)
    if too_long is not None:
        raise SuiteError(
            f"{too_long.name}: a value has {len(too_long.value)} characters, more than"
            f" {MAX_LENGTH}; choose a shorter value."
        )
    return _Point(MatrixPointPlan(f"{words}-{digest}", settings), whole)


def _ordered(
    points: Sequence[_Point], definition: MatrixDefinition, repetition: int
) -> list[_Point]:
    """Each round's order; a shuffled one is the same whenever the matrix is planned, so that it can
    be resumed."""
    ordered = list(points)
    if definition.order is Order.SHUFFLED:
        random.Random(f"{definition.order_seed} {repetition}").shuffle(ordered)
    return ordered


def _run(
    point: _Point,
    repetition: int,
    base: RunOptions,
    definition: MatrixDefinition,
    hosts: tuple[str, ...],
) -> PlannedRun:
    values = point.values
    changes = values.shared_settings(RunOptions)
    options = replace(base, **changes, seed=definition.first_seed + repetition - 1)
    if options.implementation is not None and "framework" in changes:
        raise SuiteError("A matrix varies frameworks by name; leave --implementation out.")
    if values.nodes is not None:
        if not 1 <= values.nodes <= len(hosts):
            raise SuiteError(
                f"nodes {values.nodes}: it must be from 1 to the number of hosts in --hostfile"
                f" ({len(hosts)})."
            )
        options = replace(
            options, placement=replace(options.placement, hosts=hosts[: values.nodes])
        )
    alone = next((name for name in ("isolation", "neighbours") if name in values.given), None)
    if alone is not None and options.placement.hosts:
        raise SuiteError(f"{alone} is for one rank on this machine; leave --hostfile out.")
    if values.neighbours and options.placement.ranks > 1:
        raise SuiteError("neighbours is for one rank; leave --ranks-per-node out.")
    if values.neighbours is not None and not 0 <= values.neighbours <= MAX_NEIGHBOURS:
        raise SuiteError(f"neighbours {values.neighbours}: choose 0 to {MAX_NEIGHBOURS}.")
    limited = next((name for name in LIMITS if name in values.given), None)
    if limited is not None and values.isolation is Isolation.PODMAN:
        raise SuiteError(
            f"{limited} does not limit podman's containers, which podman puts into separate"
            " cgroups; set `isolation` to namespace."
        )
    if limited is not None and options.placement.hosts:
        raise SuiteError(f"{limited} limits processes of this machine only; leave --hostfile out.")
    if options.steps is not None and options.steps <= definition.warm_up_steps:
        raise SuiteError(
            f"The first {definition.warm_up_steps} steps are warm-up and are not measured; choose"
            " more --steps than that."
        )
    settings = {setting.name: setting.value for setting in point.plan.settings}
    for name in (*LIMITS, "neighbours"):  # no other record of the run has them
        if name in values.given:
            settings.setdefault(name, values.text(name))
    mark = StudyMark(definition.title or "", tuple(settings.items()), definition.warm_up_steps)
    label = f"{point.plan.label}, run {repetition} of {definition.seeds}"
    return PlannedRun(point.plan.name, repetition, label, mark, options, values)
