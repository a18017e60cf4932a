"""The suite as a library: resolve a request, run it, check, load, compare and report. Nothing here
prints.

    from suite import api

    options = api.RunOptions(division=api.Division.OPEN, device="auto", workload="lenet",
    framework="pytorch") result = api.run(api.resolve(options)) api.check([result.path]).complies

Every function raises SuiteError, in one sentence that says what to do, where something could not be
done. ``progress`` callbacks receive the events of suite.execution.events; without one, functions
are silent. Functions that need pandas load it when they are called.
"""

import enum
import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from suite.bundle.manifest import refuse_inside_run
from suite.catalog.divisions import Division
from suite.catalog.extensions import ExtensionPart, extensions
from suite.catalog.precisions import Precision
from suite.catalog.timings import Timing
from suite.errors import Interrupted, SuiteError
from suite.execution.events import Progress, ProgressEvent, silent
from suite.execution.request import (
    Accelerator,
    Collective,
    Normalisation,
    RunOptions,
    RunRequest,
    Shares,
    Wire,
)
from suite.files.evidence_files import EvidenceFiles
from suite.files.schema import from_plain
from suite.launch.isolation import Isolation, refuse_isolation
from suite.launch.placement import Placement, place_ranks

if TYPE_CHECKING:
    from reporter.board.comparison import EntryComparison
    from reporter.data.frames import Frames
    from reporter.papers.make import PaperFile
    from suite.catalog.reference_points import ReferencePoint
    from suite.compliance.finding import Finding
    from suite.compliance.paths import CheckResult
    from suite.execution.finish import FinishedRun
    from suite.execution.run import RunResult
    from suite.experiments.board_talk import Boards
    from suite.experiments.matrix_plan import MatrixDefinition, PlannedMatrix
    from suite.experiments.one_run import CannotComply
    from suite.experiments.planned_runs import run_matrix, run_sweep
    from suite.experiments.stall_runs import run_stall_analysis
    from suite.experiments.study_plan import Sweep
    from suite.metrics.audit_record import AuditRecord
    from suite.metrics.convergence import EpochsComparison
    from suite.metrics.matrix_record import Matrix
    from suite.metrics.replication_record import Replication
    from suite.metrics.review_record import Review
    from suite.metrics.stall_analysis import StallAnalysis
    from suite.metrics.study import Study
    from suite.metrics.targets import FollowingTarget
    from suite.metrics.trace_file import WrittenTrace
    from suite.metrics.traces.attaching import Attachment
    from suite.metrics.traces.columns import TraceOptions
    from suite.verify.kept_state import Draw

__all__ = [
    "Accelerator",
    "Attachment",
    "AuditRecord",
    "Boards",
    "CannotComply",
    "CheckResult",
    "Collective",
    "Division",
    "Draw",
    "FinishedRun",
    "Frames",
    "Interrupted",
    "Matrix",
    "MatrixDefinition",
    "Normalisation",
    "PaperFile",
    "Placement",
    "Precision",
    "Progress",
    "ProgressEvent",
    "ReferenceComparison",
    "Replication",
    "Review",
    "RunOptions",
    "RunRequest",
    "RunResult",
    "Shares",
    "StallAnalysis",
    "Study",
    "SuiteError",
    "Timing",
    "TraceOptions",
    "Wire",
    "WrittenTrace",
    "add_reference_accuracies",
    "attach_power",
    "audit",
    "check",
    "compare",
    "compare_with_reference",
    "draw_epoch",
    "energy_figure",
    "figure",
    "findings_of",
    "finish",
    "following_targets",
    "leave_meter_out",
    "load",
    "make_reference_points",
    "place_ranks",
    "plan_matrix",
    "plan_sweep",
    "report",
    "reproduce",
    "resolve",
    "review",
    "run",
    "run_matrix",
    "run_on_boards",
    "run_stall_analysis",
    "run_sweep",
    "trace",
]

DEFAULT_BASELOAD_S, MAX_BASELOAD_S = 10.0, 1200.0
"""Other nodes are measured after the first one; both lie in the hour before the run, with time to
read the data and to load a framework."""
Choice = TypeVar("Choice", bound=enum.Enum)
Paths = str | Path | Iterable[str | Path]
_LAZY = {
    "Attachment": "suite.metrics.traces.attaching",
    "AuditRecord": "suite.metrics.audit_record",
    "Boards": "suite.experiments.board_talk",
    "CannotComply": "suite.experiments.one_run",
    "CheckResult": "suite.compliance.paths",
    "TraceOptions": "suite.metrics.traces.columns",
    "Draw": "suite.verify.kept_state",
    "FinishedRun": "suite.execution.finish",
    "Frames": "reporter.data.frames",
    "Matrix": "suite.metrics.matrix_record",
    "MatrixDefinition": "suite.experiments.matrix_plan",
    "PaperFile": "reporter.papers.make",
    "Replication": "suite.metrics.replication_record",
    "Review": "suite.metrics.review_record",
    "RunResult": "suite.execution.run",
    "StallAnalysis": "suite.metrics.stall_analysis",
    "Study": "suite.metrics.study",
    "WrittenTrace": "suite.metrics.trace_file",
    "run_matrix": "suite.experiments.planned_runs",
    "run_stall_analysis": "suite.experiments.stall_runs",
    "run_sweep": "suite.experiments.planned_runs",
}
"""Classes and functions that are imported when they are named first: start-up time."""


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    for extension in extensions():
        if name in extension.functions:
            return getattr(extension.part(ExtensionPart.API), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Names of extensions, too."""
    return sorted({*__all__, *(name for each in extensions() for name in each.functions)})


def _paths(paths: Paths) -> tuple[Path, ...]:
    return (Path(paths),) if isinstance(paths, str | Path) else tuple(map(Path, paths))


def _optional(path: str | Path | None) -> Path | None:
    return None if path is None else Path(path)


def _bundles(paths: Paths) -> list[Path]:
    """The runs at or below the paths."""
    from suite.compliance.checker import find_bundles  # start-up: rules

    return [bundle for path in _paths(paths) for bundle in find_bundles(path)]


def resolve(
    options: RunOptions,
    output: str | Path | None = None,
    baseload_s: float = DEFAULT_BASELOAD_S,
    witness: str | None = None,
    keep_states: bool = False,
    meters: str | None = None,
    power_pulse: bool = False,
    isolation: Isolation | str | None = None,
    to_show: bool = False,
    resume: str | Path | None = None,
) -> RunRequest:
    """Resolve options against workload, device, framework and prepared data set into a request.

    ``output`` is the run directory (default: runs/<run id>). Where a meter reads this machine's
    power, the idle machine is measured for ``baseload_s`` seconds before the run. ``witness`` is
    the address of a witness (docs/submitting.md). ``keep_states`` keeps every epoch's training
    state in a folder beside the run directory (docs/auditing.md). ``meters`` names the meters to
    read ("cpu,load"), or to leave out ("-jtop"). ``power_pulse`` makes a pattern of loads before
    and after the run, which :func:`attach_power` finds in a logger's trace. ``isolation``: none,
    namespace or podman; the record says which, and a machine that cannot is refused. A request
    ``to_show`` needs no data: a data set that is not prepared has the contents that its definition
    states. ``resume`` is the directory of an interrupted run, which the new one continues from the
    last training state that it kept.
    """
    from suite.execution.resolve import resolve_options  # start-up: execution
    from suite.meters.registry import left_out_meters  # start-up: meters
    from suite.witness.client import check_address  # start-up: HTTP

    left_out = left_out_meters(meters)
    kind = None if isolation is None else _choice(Isolation, isolation, "isolation")
    if not 0 <= baseload_s <= MAX_BASELOAD_S:
        raise SuiteError(
            f"--baseload must be between 0 and {MAX_BASELOAD_S:g} s, not {baseload_s:g}:"
            " readings of the idle machine count only in the hour before a run."
        )
    if witness is not None:
        check_address(witness)
    resolved = resolve_options(
        _with_declared_types(options),
        None if output is None else Path(output),
        as_published=to_show,
    )
    refuse_isolation(kind, resolved.training.parallel.ranks)
    if options.memory_budget is not None:
        resolved = _in_budget(resolved, options.memory_budget, options.spill)
    recording = replace(
        resolved,
        baseload_s=baseload_s,
        witness=witness,
        keep_states=keep_states,
        left_out=left_out,
        power_pulse=power_pulse,
    )
    chosen = replace(recording, isolation=kind)
    if resume is None:
        return chosen
    from suite.execution.resume import resume_request as continued  # start-up: execution

    return continued(chosen, Path(resume))


def _in_budget(request: RunRequest, budget: str, spill: str | None) -> RunRequest:
    from suite.memory.resident import resident_size  # start-up: as below
    from suite.memory.run_budget import measured_times, recomputation  # start-up: NumPy
    from suite.memory.sizes import parse_size  # start-up: as above

    folder = None if spill is None else Path(spill).absolute()
    planned = recomputation(
        request.training,
        request.framework,
        resident_size(),
        parse_size(budget),
        measured_times(request.training),
        folder,
    )
    return replace(request, training=request.training._replace(recomputation=planned))


def _with_declared_types(options: RunOptions) -> RunOptions:
    """The options with values of the declared types: ``division="open"`` and a Path as a folder
    will do; raises SuiteError for others."""
    folders: dict[str, Any] = {
        name: str(value)
        for name in ("data", "implementation", "spill")
        if isinstance(value := getattr(options, name), Path)
    }
    return from_plain(asdict(replace(options, **folders)), RunOptions, "")


def findings_of(request: RunRequest) -> "tuple[Finding, ...]":
    """Findings of the rules that can judge a request before it runs."""
    from suite.compliance.checker import check_request  # start-up: rules

    return check_request(request.training, request.workload)


def run(
    request: RunRequest,
    *,
    allow_invalid: bool = False,
    force: bool = False,
    command: tuple[str, ...] | None = None,
    since_process_start: bool = False,
    progress: Progress = silent,
) -> "RunResult":
    """Run a request to its closed bundle and return where it is.

    ``allow_invalid`` runs a request that can never comply with its division; otherwise
    CannotComply, with the findings, is raised. ``force`` replaces an existing run directory.
    ``command`` is recorded in the bundle (default: this process's command line).
    ``since_process_start``: this process was started for the run, and the bundle records its start
    (suite.bundle.lifetime). Ctrl-C raises Interrupted, a KeyboardInterrupt whose message names the
    directory that keeps every finished epoch.
    """
    from suite.experiments.one_run import run_one  # start-up: execution

    return run_one(
        request,
        allow_invalid=allow_invalid,
        force=force,
        command=command,
        since_process_start=since_process_start,
        progress=progress,
    )


def finish(paths: Paths) -> "tuple[FinishedRun, ...]":
    """Close runs that were left unclosed: killed, cut off by a power failure or a full disk,
    interrupted, or failed.

    A run whose training ended is closed as finished, one that was cut off in training as
    interrupted; a closed run stays as it is, but for a witness's stamp over its files that the
    closing did not get: the witness is asked again. Raises SuiteError for the first one that cannot
    be closed: it still runs, or its disk is full.
    """
    from suite.execution import finish as finishing  # start-up: execution

    return tuple(finishing.finish(path) for path in _paths(paths))


def attach_power(
    bundle: str | Path,
    trace: str | Path,
    *,
    covers: str,
    tier: str | None = None,
    options: "TraceOptions | None" = None,
    offset_s: float | None = None,
    dry_run: bool = False,
    command: tuple[str, ...] = (),
) -> "Attachment":
    """Attach the trace of an external logger to a finished run and recompute its figures; an
    earlier trace is replaced.

    ``covers`` is module, board, wall or chip; ``tier`` analyser, wall meter or on-board sensor
    (default: a wall meter; an on-board sensor for tegrastats and jtop).
    ``options`` settle what the file does not tell. Without ``offset_s`` (seconds that are added to
    the trace's times to count them from run_start) the clock is fitted. With ``dry_run`` nothing is
    written. Raises SuiteError, and nothing is changed, for a trace that cannot be read or does not
    fit.
    """
    from suite.execution.attach import attach_trace  # start-up: pandas
    from suite.metrics.traces.attaching import COVERAGES, TIERS  # start-up: pandas
    from suite.metrics.traces.columns import TraceOptions  # start-up: pandas

    return attach_trace(
        Path(bundle),
        Path(trace),
        _choice(COVERAGES, covers, "coverage"),
        None if tier is None else _choice(TIERS, tier, "tier"),
        options or TraceOptions(),
        offset_s=offset_s,
        command=command,
        dry_run=dry_run,
    )


def leave_meter_out(bundle: str | Path, meter: str, *, reason: str) -> None:
    """Compute a finished run's energies without a power meter, and seal it again. Its readings and
    the reason stay in the bundle."""
    from suite.execution.attach import leave_meter_out as leave_out  # start-up: pandas

    leave_out(Path(bundle), meter, reason)


def energy_figure(bundle: str | Path) -> dict[str, Any]:
    """The energy of a closed run as summary.json has it: value, unit, sensor, uncertainty, or the
    reason for none."""
    from suite.bundle.reader import Bundle  # start-up: as below
    from suite.metrics.summary import read_summary  # start-up: NumPy

    figure: dict[str, Any] = read_summary(Bundle(Path(bundle)))["figures"]["energy_j"]
    return figure


def trace(run: str | Path, output: str | Path | None = None) -> "WrittenTrace":
    """Write a run as a trace in Chrome's Trace Event Format, which Perfetto and chrome://tracing
    draw; default: beside the run."""
    from suite.metrics.trace_file import default_path, write_trace  # start-up: NumPy

    return write_trace(Path(run), Path(output) if output is not None else default_path(Path(run)))


def _choice(possible: "Iterable[Choice]", name: str, what: str) -> "Choice":
    known = {each.value: each for each in possible}
    if name not in known:
        raise SuiteError(f"There is no {what} {name!r}; choose one of {', '.join(known)}.")
    return known[name]


def plan_sweep(
    study: str,
    options: RunOptions,
    *,
    values: Sequence[str] | None = None,
    repetitions: int | None = None,
    hosts: tuple[str, ...] = (),
    weak: bool = False,
) -> "Sweep":
    """Plan the runs of a study from ``rules/studies``; ``values`` and ``repetitions`` default to
    the study's.

    A study of nodes takes them from ``hosts``; without any, ranks run on this machine. ``weak``
    keeps the mini-batch of a rank, strong scaling (the default) the global one.
    """
    from suite.experiments.study_plan import choose_study, plan_study, scaling_of  # start-up: numpy

    definition = choose_study(study, values=values, repetitions=repetitions)
    return plan_study(
        definition, _with_declared_types(options), hosts, scaling_of(definition, weak)
    )


def plan_matrix(
    definition: "MatrixDefinition", options: RunOptions, *, hosts: tuple[str, ...] = ()
) -> "PlannedMatrix":
    """Plan the runs of a matrix: several settings varied at once. ``options`` hold where the
    definition says nothing.

    Raises SuiteError for settings that contradict each other; what this machine cannot do is judged
    by :func:`run_matrix` before the first run.
    """
    from suite.experiments.matrix_plan import plan_matrix  # start-up: numpy

    return plan_matrix(definition, _with_declared_types(options), hosts)


def run_on_boards(
    definition: "MatrixDefinition",
    options: RunOptions,
    boards: "Boards",
    directory: str | Path,
    *,
    command: tuple[str, ...] | None = None,
    progress: Progress = silent,
) -> "Matrix":
    """Make every run of a matrix on independent boards, over ssh, and write ``matrix.json`` into
    ``directory``. Resumable: call it again to continue.

    A board takes the next run when it is free; the run of a board that was lost goes to another
    one. Raises SuiteError for what a board refuses before the first run, and where runs remain.
    """
    from suite.experiments.boards import run_on_boards  # start-up: execution

    return run_on_boards(
        definition,
        _with_declared_types(options),
        boards,
        Path(directory),
        command=command,
        progress=progress,
    )


def check(paths: Paths) -> "CheckResult":
    """Judge every bundle and submission at or below the paths by the rulebook; archives of
    submissions are unpacked temporarily."""
    from suite.compliance.paths import check_paths  # start-up: numpy

    return check_paths(_paths(paths))


def audit(
    bundle: str | Path,
    *,
    framework: str | None = None,
    steps: int | None = None,
    data: str | Path | None = None,
    state: str | Path | None = None,
    epoch: int | None = None,
    value: str | None = None,
    implementation: str | Path | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> "AuditRecord":
    """Train the first steps of a sealed bundle again and compare the losses.

    ``framework`` trains them (default: the run's own, else the first one whose environment exists);
    ``steps`` is their number (default: 10); ``data`` is the folder of the run's data set (default:
    that of `suite data prepare`). ``state`` is the file of the training state after ``epoch``, from
    which the same number of steps is trained again; ``value`` is the text that this epoch was drawn
    with. ``implementation`` is the folder of the implementation outside the checkout that made the
    run: it trains from the state, too. ``report`` gets a line for each replay.
    """
    from suite.verify.kept_state import HandedIn  # start-up: numpy
    from suite.verify.replay_audit import AuditOptions  # start-up: numpy
    from suite.verify.replay_audit import audit as run_audit  # start-up: numpy

    if (state is None) is not (epoch is None) or (
        state is None and (value, implementation) != (None, None)
    ):
        raise SuiteError(
            "Give --state and --epoch together; --value and --implementation need both of them."
        )
    kept = None if state is None or epoch is None else HandedIn(Path(state), epoch, value)
    return run_audit(
        Path(bundle),
        AuditOptions(framework, steps, _optional(data), kept, _optional(implementation)),
        report,
    )


def review(
    submission: str | Path,
    *,
    organization: str,
    key: str | Path,
    states: str | Path | None = None,
    data: str | Path | None = None,
    implementations: Sequence[str | Path] = (),
    report: Callable[[str], None] = lambda line: None,
) -> "tuple[Path, Review]":
    """Draw an epoch of each run of a submission that complies, replay runs and models, and write
    the record, signed with ``key``, into the submission.

    ``states`` is a folder with the training states that were handed in after an earlier call, which
    drew them; ``implementations`` are the folders of those outside the checkout that made runs.
    Returns the record's file and the record.
    """
    from suite.verify.reviewing import ReviewOptions  # start-up: numpy
    from suite.verify.reviewing import review_submission as run_review  # start-up: numpy

    options = ReviewOptions(
        organization,
        Path(key),
        _optional(states),
        _optional(data),
        tuple(map(Path, implementations)),
    )
    return run_review(Path(submission), options, report)


def reproduce(
    original: str | Path,
    output: str | Path | None = None,
    *,
    runs: int | None = None,
    organization: str = "none",
    data: str | Path | None = None,
    implementation: str | Path | None = None,
    command: tuple[str, ...] | None = None,
    progress: Progress = silent,
    report: Callable[[str], None] = lambda line: None,
) -> "tuple[Path, Replication]":
    """Make the runs of a sealed bundle, or of one entry's bundles below a folder, again here;
    compare them; return the record and its folder.

    ``runs`` is the number of fresh runs (default: one of each original, three at least),
    ``organization`` who makes them. ``data`` is the folder of the data set (default: that of `suite
    data prepare`), ``implementation`` that of an implementation outside the checkout. ``report``
    gets a line for each replay that losses need. Resumable: call it again with the same ``output``
    to continue.
    """
    from suite.experiments.replication import reproducing  # start-up: execution

    options = reproducing.ReproductionOptions(
        runs, organization, _optional(data), _optional(implementation)
    )
    planned = reproducing.plan_reproduction(Path(original), options, _optional(output))
    return planned.directory, reproducing.reproduce(
        planned, command=command, progress=progress, report=report
    )


def draw_epoch(bundle: str | Path, value: str | None = None) -> "Draw":
    """Draw the epoch of a sealed bundle whose training state must be handed in, by a value that
    somebody else gives; without one, self-drawn."""
    from suite.verify.kept_state import draw_epoch  # start-up: numpy

    return draw_epoch(Path(bundle), value)


def load(paths: Paths) -> "Frames":
    """Read every bundle at or below the paths into tidy pandas frames; reporter.data.frames
    documents their columns."""
    from reporter.data.load import load_frames  # start-up: pandas

    return load_frames(_paths(paths))


def report(
    paths: Paths,
    output: str | Path,
    *,
    force: bool = False,
    address: str | None = None,
    beside_reference: bool = False,
    evidence: str = "copy",
    say: Callable[[str], None] = lambda line: None,
) -> Path:
    """Render the bundles at or below the paths as a static site in ``output``; return its front
    page.

    ``force`` replaces a site made before. Any other existing folder is refused. ``address`` is
    where the site will be published, as https://example.org/edge: pictures of links need it.
    ``beside_reference`` shows the runs beside the project's reference results first. ``evidence``
    is how the bundles' files come to the pages: copy, link or archive. ``say`` gets a line for each
    bundle that cannot be shown.
    """
    from reporter.site import SiteOptions, build_site  # start-up: pandas, jinja2

    if address is not None and not address.startswith(("https://", "http://")):
        raise SuiteError(
            f"--address is {address!r}; write the whole address, such as https://example.org/edge."
        )
    if evidence not in (known := [each.value for each in EvidenceFiles]):
        raise SuiteError(f"`evidence` is {evidence!r}; it must be one of {', '.join(known)}.")
    refuse_inside_run(Path(output))
    options = SiteOptions(address, beside_reference, evidence)
    return build_site(_paths(paths), Path(output), force, options, say)


def figure(
    name: str,
    paths: Paths,
    *,
    file_format: str = "pdf",
    width: str = "3.3in",
    height: str | None = None,
    font: str | None = None,
) -> "PaperFile":
    """Draw a figure for a paper (`suite list figures`) of the accepted bundles at or below the
    paths: its file, svg, pdf or png, and its caption.

    Lengths are written as 3.3in, 84mm, 8.4cm or 240pt, fonts as "Times New Roman" or "Times New
    Roman 8". Needs Matplotlib.
    """
    from reporter.papers.make import make_figure  # start-up: pandas
    from reporter.papers.style import FORMATS, PaperLook, font_of, length_in  # start-up: pandas

    if file_format not in FORMATS:
        raise SuiteError(
            f"{file_format!r} is not a figure format; choose {', '.join(FORMATS[:-1])} or "
            f"{FORMATS[-1]}."
        )
    family, size_pt = font_of(font) if font else (PaperLook.font, PaperLook.size_pt)
    look = PaperLook(
        length_in(width, "--width"),
        length_in(height, "--height") if height else None,
        family,
        size_pt,
    )
    return make_figure(name, _paths(paths), look, file_format)


@dataclass(frozen=True)
class ReferenceComparison:
    """Epochs to target of some runs (infinite: missed), the reference point they are compared with,
    and the permutation test."""

    epochs: tuple[float, ...]
    point: "ReferencePoint"
    test: "EpochsComparison"


def make_reference_points(paths: Paths) -> "tuple[ReferencePoint, ...]":
    """Reference points from all sealed closed runs at or below the paths, made by anybody; nothing
    is written.

    Raises SuiteError for a run that its round's rules refuse, with the first finding.
    """
    from suite.compliance.checker import check_bundle  # start-up: rules

    # start-up: numpy
    from suite.metrics.reference_runs import make_points, refuse_other_precisions, without_continued

    bundles = _bundles(paths)
    for verdict in map(check_bundle, without_continued(bundles)):
        refused = next((finding for finding in verdict.findings if finding.is_invalid), None)
        if refused is not None:
            raise SuiteError(
                f"{verdict.path} does not comply ({refused.rule}: expected {refused.expected},"
                f" observed {refused.observed}); see `suite check`."
            )
    refuse_other_precisions(bundles)
    return make_points(bundles)


def following_targets(workload: str) -> "tuple[FollowingTarget, ...]":
    """The targets that follow from the accuracies of a workload's reference runs, by setting."""
    from suite.catalog.accuracies import load_accuracies  # start-up: schemas
    from suite.catalog.workloads import load_workload  # start-up: schemas
    from suite.metrics.targets import target_from_runs  # start-up: numpy

    return tuple(map(target_from_runs, load_accuracies(load_workload(workload).name)))


def add_reference_accuracies(workload: str, paths: Paths) -> Path:
    """Keep the accuracies of all sealed runs at or below the paths in rules/accuracies; returns the
    file. Raises SuiteError for a run of another recipe or setting, for one that a target ended, and
    for a second one of the same framework, seed and precision."""
    from suite.catalog.accuracies import add_accuracies  # start-up: schemas
    from suite.catalog.workloads import load_workload  # start-up: schemas
    from suite.metrics.targets import accuracies_of, refuse_other_settings  # start-up: numpy

    definition = load_workload(workload)
    found = accuracies_of(_bundles(paths), definition)
    refuse_other_settings(found, definition)
    return add_accuracies(workload, found)


def compare_with_reference(paths: Paths) -> ReferenceComparison:
    """Compare the epochs to target of sealed closed runs with those of the reference
    implementations.

    The runs at or below the paths must share workload, batch size and learning rate.
    """
    from suite.metrics.reference_runs import compare_runs  # start-up: numpy

    point, epochs, test = compare_runs(_bundles(paths))
    return ReferenceComparison(epochs=epochs, point=point, test=test)


def compare(frames: "Frames", figure: str = "score_s") -> "tuple[EntryComparison, ...]":
    """Compare every pair of accepted entries on each leaderboard, with its reference systems, by a
    score or a figure of their runs: ratio, 99 % interval, whether they differ."""
    from reporter.board.comparison import compare_entries  # start-up: pandas

    return compare_entries(frames, figure)
