"""Plans the runs of a study from its definition."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from suite.bundle.study_mark import StudyMark
from suite.catalog.study_definitions import StudyDefinition, Variable, load_study
from suite.catalog.workloads import load_workload
from suite.errors import SuiteError
from suite.execution.request import RunOptions
from suite.execution.resolve import choose_data, chosen_framework
from suite.experiments.planned import PlannedRun, PlannedRuns
from suite.launch.child_environment import usable_cores
from suite.launch.placement import Placement
from suite.metrics.scaling_model import Scaling
from suite.metrics.study import VALUE, StudyPlan

Sweep = PlannedRuns[StudyPlan]


def choose_study(
    name: str,
    values: Sequence[str] | None = None,
    nodes: Sequence[str] | None = None,
    repetitions: int | None = None,
) -> StudyDefinition:
    """The study of this name with other values or repetitions; ``nodes`` are values, for a study of
    nodes only.

    Raises SuiteError for an unknown name, for ``nodes`` where another setting is varied, and for no
    value at all.
    """
    definition = load_study(name)
    if nodes is not None and (values is not None or definition.variable is not Variable.NODES):
        raise SuiteError(
            f"--nodes replaces --values where a study varies nodes; {name!r} varies"
            f" {definition.variable.value}: use only --values."
        )
    chosen = values if nodes is None else nodes
    if chosen is not None:
        if not chosen:
            raise SuiteError("--values needs values, such as 1,2,4.")
        definition = replace(definition, names=tuple(dict.fromkeys(chosen)), numbers=())
    return definition if repetitions is None else replace(definition, repetitions=repetitions)


def scaling_of(definition: StudyDefinition, weak: bool) -> Scaling | None:
    """Weak or strong scaling for a study of nodes; None for other studies, unless ``weak``, which
    :func:`plan_study` then refuses."""
    if definition.variable is not Variable.NODES and not weak:
        return None
    return Scaling.WEAK if weak else Scaling.STRONG


def plan_study(
    definition: StudyDefinition,
    options: RunOptions,
    hosts: tuple[str, ...],
    scaling: Scaling | None,
) -> Sweep:
    """Plan every run of the study. ``options`` take precedence over the study's fixed settings, and
    these over the workload's.

    Nodes are taken from ``hosts``; without any, ranks run on this machine. Raises SuiteError for
    values that no run can have.
    """
    if (definition.variable is Variable.NODES) != (scaling is not None):
        raise SuiteError(
            f"--weak and --strong are for studies that vary nodes; {definition.name!r} varies"
            f" {definition.variable.value}."
        )
    steps = definition.fixed.steps if options.steps is None else options.steps
    if steps is not None and steps <= definition.warm_up_steps:
        raise SuiteError(
            f"The first {definition.warm_up_steps} steps are warm-up and are not measured; choose"
            " more --steps than that."
        )
    base = _with_fixed(definition, options)
    if scaling is not None:
        base = replace(base, threads=base.threads or _threads(base, definition, hosts))
    of_value = {
        value: _with_value(base, definition.variable, value, hosts, scaling)
        for value in definition.values
    }
    unsafe = next((value for value in definition.values if not VALUE.fullmatch(value)), None)
    if unsafe is not None:
        raise SuiteError(
            f"A study names folders after its values, and {unsafe!r} has other characters than"
            " letters, digits, - and _; compare such values with --vary"
            f" {definition.variable.value}=A,B and without --study."
        )
    data = choose_data(load_workload(base.workload), base.data).name
    framework = (
        ", ".join(definition.values)
        if definition.variable is Variable.FRAMEWORK
        else chosen_framework(base).name
    )
    study_plan = StudyPlan(
        name=definition.name,
        title=definition.title,
        variable=definition.variable,
        scaling=scaling,
        values=definition.values,
        repetitions=definition.repetitions,
        warm_up_steps=definition.warm_up_steps,
        workload=base.workload,
        framework=framework,
        data=data,
        hosts=len(hosts),
    )
    varied, repetitions = study_plan.varied, range(1, definition.repetitions + 1)
    return PlannedRuns(
        study_plan,
        tuple(
            PlannedRun(
                value,
                repetition,
                f"{varied} {value}, run {repetition} of {definition.repetitions}",
                StudyMark(
                    study_plan.heading,
                    ((varied.replace(" ", "_"), value),),
                    definition.warm_up_steps,
                ),
                replace(of_value[value], seed=base.seed + repetition - 1),
            )
            for repetition in repetitions
            for value in definition.values
        ),
    )


def _with_fixed(definition: StudyDefinition, options: RunOptions) -> RunOptions:
    """Options that were not given, from the study's fixed settings."""
    fixed = {
        name: value
        for name, value in asdict(definition.fixed).items()
        if value is not None and getattr(options, name) is None
    }
    return replace(options, **fixed)


def _with_value(
    options: RunOptions,
    variable: Variable,
    value: str,
    hosts: tuple[str, ...],
    scaling: Scaling | None,
) -> RunOptions:
    if variable is Variable.FRAMEWORK:
        if options.implementation is not None:
            raise SuiteError("This study compares frameworks by name; leave --implementation out.")
        return replace(options, framework=value)
    number = _parse_integer(value, 0 if variable is Variable.WORKERS else 1)
    if variable is not Variable.NODES:
        changes: Mapping[str, Any] = {variable.value: number}
        return replace(options, **changes)
    batch_size = options.batch_size or load_workload(options.workload).batch_size
    placed = replace(options, placement=_placement(options.placement, number, hosts))
    return replace(
        placed, batch_size=batch_size * number if scaling is Scaling.WEAK else batch_size
    )


def _placement(base: Placement, number: int, hosts: tuple[str, ...]) -> Placement:
    """The first ``number`` hosts; without hosts, ``number`` ranks on this machine."""
    if not hosts:
        if base.ranks_per_node > 1:
            raise SuiteError(
                "Without --hostfile this study varies the ranks on this machine; leave"
                " --ranks-per-node out."
            )
        return replace(base, ranks_per_node=number)
    if number > len(hosts):
        raise SuiteError(
            f"The hostfile names {len(hosts)} hosts, fewer than the {number} nodes needed."
        )
    return replace(base, hosts=hosts[:number])


def _threads(
    options: RunOptions, definition: StudyDefinition, hosts: tuple[str, ...]
) -> int | None:
    """Threads for every point alike: on one machine, its cores divided by the largest number of
    ranks; on hosts, as for any run."""
    if hosts:
        return None
    max_ranks = max(_parse_integer(value, 1) for value in definition.values)
    return load_workload(options.workload).threads or max(1, usable_cores() // max_ranks)


def _parse_integer(value: str, minimum: int) -> int:
    try:
        number = int(value)
    except ValueError:
        raise SuiteError(f"{value!r} is not a whole number; write values such as 1,2,4.") from None
    if number < minimum:
        raise SuiteError(f"The value {number} is too small; the minimum is {minimum}.")
    return number
