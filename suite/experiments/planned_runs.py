"""Makes the runs of a study or a matrix that are missing or broken, in their power modes, and
computes it. All is validated before the first run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from suite.bundle.layout import MATRIX, STUDY
from suite.bundle.study_mark import READ_MB_S
from suite.catalog.devices import load_device
from suite.catalog.power import load_power_rules, power_sources
from suite.catalog.workloads import load_workload
from suite.errors import SuiteError
from suite.execution.baseload import baseload_meters
from suite.execution.events import CoolingDown, Notice, Progress, silent
from suite.execution.request import RunRequest
from suite.execution.resolve import resolve_options, without_folder
from suite.experiments.before_runs import (
    Check,
    checks_of_runs,
    held_folder,
    left_over,
    refuse_at_once,
    refuse_folder,
)
from suite.experiments.cooling import cool_down, refuse_without_sensor
from suite.experiments.little_memory import checks_of_memory
from suite.experiments.matrix_cost import estimate_matrix_cost
from suite.experiments.matrix_plan import LIMITS, PlannedMatrix, refuse_boards
from suite.experiments.planned import AnyPlanned, PlannedRun
from suite.experiments.study_plan import Sweep
from suite.experiments.sweep_runs import are_done, run_all
from suite.launch.isolation import refuse_isolation
from suite.machine.identify import AUTO
from suite.machine.limits import (
    Limit,
    cpu_quota,
    memory_limit,
    read_limit,
    refuse_limit,
    refuse_quota,
)
from suite.machine.modes.available_modes import AvailableModes, read_available_modes
from suite.machine.modes.places import SYSTEM
from suite.machine.modes.requested_mode import RequestedMode, cores_on_line
from suite.machine.modes.set_and_restore import held_where, refuse_mode
from suite.meters.registry import chosen_meters, left_out_meters, refuse_absent_meters
from suite.metrics.matrix_record import MATRICES, Matrix, analyse_matrix
from suite.metrics.study import SWEEP, Study, StudyPlan, analyse_study

LIMIT_OF: Mapping[str, Callable[[float], Limit]] = {
    "cpu_quota": cpu_quota,
    "memory_mb": memory_limit,
}
"""Limits that need nothing but their value."""


def run_matrix(
    matrix: PlannedMatrix,
    output: str | Path,
    *,
    command: tuple[str, ...] | None = None,
    progress: Progress = silent,
    system_root: Path = SYSTEM,
) -> Matrix:
    """Make every run of the matrix below ``output`` and write ``matrix.json`` there. Resumable:
    call it again to continue.

    Power modes that the matrix varies are put back at the end. Raises SuiteError with everything
    that is wrong, before the first run starts, and while another command makes runs of this folder;
    then as ``run_one``.
    """
    directory = Path(output)
    refuse_boards(matrix)
    requests = validated_requests(matrix, directory, system_root)
    with held_folder(directory):
        say_left_over(matrix, directory, progress)
        make_runs(matrix, requests, directory, command, progress, system_root)
        computed = analyse_matrix(directory, matrix.plan)
        MATRICES.write(directory, computed)
    return computed


def run_sweep(
    sweep: Sweep,
    output: str | Path,
    *,
    command: tuple[str, ...] | None = None,
    progress: Progress = silent,
) -> Study:
    """Make every run of the study below ``output`` and write ``study.json`` there. Resumable:
    call it again to continue.

    A broken or unfinished run is made again. Raises as :func:`run_matrix`, and where a whole run of
    another request occupies a run's folder.
    """
    directory = Path(output)
    requests = validated_requests(sweep, directory)
    with held_folder(directory):
        labels = [run.label for run in sweep.runs]
        run_all(requests, labels, are_done(requests), command, progress)
        study = analyse_study(directory, sweep.plan)
        SWEEP.write(directory, study)
    return study


def say_left_over(matrix: PlannedMatrix, directory: Path, progress: Progress) -> None:
    """Say which runs in the folder the matrix does not have, or has no more."""
    if others := left_over(directory, {run.folder for run in matrix.runs}):
        of_none = (
            f"{len(others)} runs in {directory} belong"
            if len(others) > 1
            else f"The run {others[0]} in {directory} belongs"
        )
        progress(
            Notice(
                f"{of_none} to no point of this matrix; the files stay there, but {MATRIX} does not"
                " include them"
            )
        )


def validated_requests(
    planned: AnyPlanned, directory: Path, system_root: Path = SYSTEM
) -> tuple[RunRequest, ...]:
    """The request of every run; raises SuiteError as :func:`resolve_planned` and
    :func:`validate_requests`."""
    requests = resolve_planned(planned, directory, system_root=system_root)
    validate_requests(planned, requests, directory, system_root)
    return requests


def make_runs(
    matrix: PlannedMatrix,
    requests: Sequence[RunRequest],
    directory: Path,
    command: tuple[str, ...] | None,
    progress: Progress,
    system_root: Path = SYSTEM,
) -> None:
    """Make those runs of the matrix that are missing below ``directory``.

    Power modes are set before each run that wants one, and put back at the end, however it ends.
    Raises as ``run_one``.
    """
    are_kept = are_done(requests)
    missing = [request for request, kept in zip(requests, are_kept, strict=True) if not kept]
    progress(estimate_matrix_cost(missing, directory))
    is_needed = bool(missing and _distinct_modes(matrix))
    with held_where(is_needed, system_root) as set_mode:

        def prepare(index: int) -> None:
            set_mode(matrix.runs[index].values.mode)
            if matrix.cool_to_c is not None:
                to_c = matrix.cool_to_c
                cool_down(
                    to_c,
                    matrix.cool_timeout_s,
                    lambda from_c: progress(CoolingDown(from_c, to_c)),
                    system_root,
                )

        labels = [run.label for run in matrix.runs]
        run_all(requests, labels, are_kept, command, progress, prepare)


def resolve_planned(
    planned: AnyPlanned,
    directory: Path,
    *,
    to_show: bool = False,
    elsewhere: bool = False,
    system_root: Path = SYSTEM,
) -> tuple[RunRequest, ...]:
    """The request of every run, in the order in which they are made. Raises SuiteError with every
    distinct problem; ``to_show`` needs no data. ``elsewhere``: on boards, and this machine needs
    nothing that they have.

    Without a number of threads, a run in a power mode has as many as that mode has cores on line.
    """
    available = None if elsewhere else read_available_modes(system_root)
    found: list[RunRequest] = []
    refuse_at_once(
        lambda run=run: found.append(_request(run, directory, to_show, available))  # type: ignore[misc]
        for run in planned.runs
    )
    return tuple(found)


def validate_requests(
    planned: AnyPlanned,
    requests: Sequence[RunRequest],
    directory: Path,
    system_root: Path = SYSTEM,
) -> None:
    """Raise SuiteError with everything that would end the runs later: environments, memory, disk,
    power modes, rights, sensors."""
    values = [run.values.given for run in planned.runs]
    kind = STUDY if isinstance(planned.plan, StudyPlan) else MATRIX
    memory_mb = [given.get("memory_mb") for given in values]
    frameworks = [request.framework for request in requests]
    checks: list[Check] = [
        partial(refuse_folder, directory, kind, planned.variables),
        *checks_of_runs(requests, directory),
        *(partial(refuse_mode, mode, system_root) for mode in _distinct_modes(planned)),
        *(
            partial(refuse_limit, limit, system_root)
            for limit in dict.fromkeys(limit for request in requests for limit in request.limits)
        ),
        *(partial(_refuse_quota, *each, system_root) for each in _distinct_quotas(planned)),
        *checks_of_memory(zip(frameworks, memory_mb, strict=True), system_root),
        *(
            partial(refuse_absent_meters, choice, system_root)
            for choice in _distinct_values(values, "meters")
        ),
        *(
            partial(refuse_isolation, *kind_and_ranks)
            for kind_and_ranks in {(request.isolation, request.ranks) for request in requests}
        ),
    ]
    if planned.cool_to_c is not None:
        checks.append(partial(refuse_without_sensor, system_root))
    if planned.needs_power:
        checks.append(partial(_refuse_without_power, requests))
    refuse_at_once(checks)


def _refuse_quota(cores: float, mode: RequestedMode, system_root: Path) -> None:
    of_mode = cores_on_line(mode, read_available_modes(system_root))
    refuse_quota(cores, system_root, of_mode)


def _distinct_values(values: Sequence[Mapping[str, Any]], name: str) -> dict[Any, None]:
    """The different values of a setting, where it has one."""
    return dict.fromkeys(given[name] for given in values if name in given)


def _request(
    run: PlannedRun, directory: Path, to_show: bool, available: AvailableModes | None
) -> RunRequest:
    """Without ``available`` modes it is a board's, which judges its kind, folders and limits."""
    options = run.options
    if available is None:
        options = replace(options, device=AUTO, data=without_folder(options.data))
    elif (
        options.threads is None
        and load_workload(options.workload).threads is None
        and not run.values.mode.is_empty
    ):
        options = replace(options, threads=cores_on_line(run.values.mode, available))
    request = resolve_options(options, directory / run.folder, as_published=to_show)
    limits = () if available is None else tuple(_limits(run, request.data_directory))
    training = request.training
    if run.options.device != options.device:
        training = training._replace(platform=load_device(run.options.device).name)
    left_out = left_out_meters(run.values.meters)
    return replace(
        request,
        training=training,
        page_cache=run.page_cache,
        left_out=left_out,
        study=run.mark,
        limits=limits,
        isolation=run.values.isolation,
        neighbours=run.values.neighbours or 0,
    )


def _limits(run: PlannedRun, data: Path) -> Iterator[Limit]:
    for name, value in run.values.given.items():
        if name in LIMITS:
            yield read_limit(value, data) if name == READ_MB_S else LIMIT_OF[name](value)


def _distinct_quotas(planned: AnyPlanned) -> dict[tuple[float, RequestedMode], None]:
    """The different quotas, each with the power mode of its run."""
    values = (run.values for run in planned.runs)
    return dict.fromkeys(
        (each.cpu_quota, each.mode) for each in values if each.cpu_quota is not None
    )


def _distinct_modes(planned: AnyPlanned) -> tuple[RequestedMode, ...]:
    modes = (run.values.mode for run in planned.runs)
    return tuple(dict.fromkeys(mode for mode in modes if not mode.is_empty))


def _refuse_without_power(requests: Sequence[RunRequest]) -> None:
    for left_out in dict.fromkeys(request.left_out for request in requests):
        if not baseload_meters(chosen_meters(left_out)):
            known = ", ".join(sorted(power_sources(load_power_rules())))
            raise SuiteError(
                f"No power meter is available ({known}), and the matrix needs one; `suite doctor`"
                " says what each meter lacks."
            )
