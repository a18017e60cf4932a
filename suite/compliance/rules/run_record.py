"""The run's record: command, run id, versions, threads and accelerator against the request and the
log."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from reference_impls.contract import (
    EXACT,
    LOCAL,
    Request,
)
from suite.bundle.attached import SOURCE as ATTACHED
from suite.bundle.layout import RUN, SYSTEM
from suite.catalog.divisions import Division
from suite.catalog.frameworks import known_frameworks
from suite.catalog.meter_choice import LEFT_OUT, left_out
from suite.catalog.request_defaults import CPU_WORKERS, PREFETCH
from suite.catalog.timings import Timing
from suite.compliance.requested_timings import timings_of
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation
from suite.compliance.wording import listed

ORDER = 25  # before the log's course

KEEP = "hand in run.json as `suite run` wrote it"
CLOCK = f"{KEEP}; if the clock was set in between, wait until NTP has set it, then run again"
OPTIONS: Mapping[str, str] = {
    "--division": "division",
    "--workload": "workload",
    "--framework": "framework",
    "--org": "organization",
    "--seed": "seed",
    "--epochs": "epochs",
    "--steps": "steps",
    "--batch-size": "global_batch_size",
    "--learning-rate": "optimizer.base_learning_rate",
    "--threads": "threads",
    "--workers": "loading.workers",
    "--prefetch": "loading.prefetch",
    "--accelerator": "accelerator",
    "--device": "platform",
    "--normalisation": "parallel.normalisation",
    "--wire": "parallel.wire",
    "--precision": "precision",
    "--accumulate": "accumulation",
    "--timing": "timing",
}
"""Options of `suite run`, and the value of the request that each sets."""
UNTYPED: Mapping[str, object] = {
    "--prefetch": PREFETCH,
    "--workers": CPU_WORKERS,
    "--steps": None,
    "--normalisation": LOCAL,
    "--wire": EXACT,
    "--accumulate": 1,
}
"""Options whose value is the same for all workloads and machines where they are not typed."""
KNOWN = (
    *OPTIONS,
    "--allow-invalid",
    "--baseload",
    "--collective",
    "--data",
    "--dry-run",
    "--force",
    "--help",
    "--hostfile",
    "--implementation",
    "--isolation",
    "--json",
    "--keep-states",
    "--launch-agent",
    "--memory-budget",
    "--meters",
    "--no-identity",
    "--nodes",
    "--nonce",
    "--output",
    "--power-pulse",
    "--ranks-per-node",
    "--resume",
    "--run-number",
    "--silence",
    "--spill",
    "--stall-analysis",
    "--witness",
)
"""Every option of `suite run`."""
NO_RUN = ("--dry-run", "--help")
COMMANDS, PROGRAMS = ("run", "quick", "sweep", "reproduce"), ("suite", "-c", "-m", "__main__.py")
"""Commands that make runs, and the programs by which the suite itself may be started; any Python
program is called so but the first."""
CPU_BUILD = "+cpu"
"""End of the version of a package that was built without CUDA."""
CHOSEN_BY_THE_SUITE = "auto"
SET_BY_STALL_ANALYSIS = ("--epochs",)
OF_SEVERAL_RANKS, PRECISION, TIMING = ("--normalisation", "--wire"), "--precision", "--timing"
_RUN_ID = re.compile(r"(?P<name>.+)-(?P<stamp>\d{8}T\d{6}Z)-[\w.-]{1,100}", re.ASCII)
# runs that are requested together are named together, and run one after another
MAX_BEFORE_START_S, MAX_AFTER_START_S = 30 * 86_400.0, 120.0


def _command(context: BundleContext) -> Iterator[Violation]:
    """Check every option that was typed against the request that was made of it."""
    options = _options(context.run.command)
    if options is None:
        return
    skipped = (
        *(SET_BY_STALL_ANALYSIS if "--stall-analysis" in options else ()),
        *(OF_SEVERAL_RANKS if context.request.parallel.ranks == 1 else ()),
    )
    for option, path in OPTIONS.items():
        typed, requested = options.get(option), _value(context.request, path)
        if option == "--framework" and typed is not None:  # with a version, perhaps
            typed = typed.partition("==")[0]
        if (
            typed is not None
            and option not in skipped
            and typed != CHOSEN_BY_THE_SUITE
            and not _is_same(typed, requested)
        ):
            yield Violation(
                RUN,
                f"{path} = {typed}, as the command says ({option} {typed})",
                f"{requested!r}",
            )
    typed, data = options.get("--data"), context.request.data
    if typed == "synthetic" and data.synthetic is not True:
        yield Violation(
            RUN, "generated data, as the command says (--data synthetic)", "data.synthetic = false"
        )
    elif (
        typed is not None
        and "/" not in typed
        and "=" not in typed
        and typed not in ("synthetic", data.name)
        and not _is_folder(typed, data.directory)
    ):
        yield Violation(
            RUN,
            f"data.name = {typed!r}, as the command says (--data {typed})",
            f"{data.name!r}",
        )
    if is_command(context.run.command, "run"):
        yield from _untyped(context, options)
        yield from _version(context, options.get("--framework", "").partition("==")[2])
        yield from _meters(context, options.get("--meters"))


def is_command(command: Sequence[Any], name: str) -> bool:
    """Whether the command is that one of the suite itself; a program that calls the suite's Python
    interface has options of its own."""
    words = [str(word) for word in command[:2]]
    return len(words) == 2 and words[0].rpartition("/")[2] in PROGRAMS and words[1] == name


def _untyped(context: BundleContext, options: Mapping[str, str]) -> Iterator[Violation]:
    """Check what only an option changes against the request, where the option was not typed."""
    for option, default in UNTYPED.items():
        requested = _value(context.request, OPTIONS[option])
        if (
            option not in options
            and requested != default
            and not (option == "--workers" and context.request.accelerator != "cpu")
        ):
            yield Violation(
                RUN,
                f"{OPTIONS[option]} = {default!r}, as without {option} in the command",
                f"{requested!r}",
            )
    own = known_frameworks().get(context.request.framework)
    if (
        PRECISION not in options
        and own is not None
        and "precision" in context.run.request
        and context.request.precision != own.precisions[0].value
    ):
        yield Violation(
            RUN,
            f"precision = {own.precisions[0].value}, as without {PRECISION} in the command",
            f"{context.request.precision!r}",
        )
    yield from _untyped_timing(context, options)
    if (context.request.recomputation is not None) is not ("--memory-budget" in options):
        yield Violation(
            RUN,
            "a schedule of recomputation where --memory-budget was typed, and only there",
            f"recomputation = {context.request.recomputation!r}",
        )
    planned = context.request.recomputation
    if planned is not None and planned.spill_folder is not None and "--spill" not in options:
        yield Violation(
            RUN,
            "no activations on storage, as without --spill in the command",
            f"spill_folder = {planned.spill_folder!r}",
        )
    if context.run.power_pulse is not None and "--power-pulse" not in options:
        yield Violation(
            RUN, "no power_pulse, as without --power-pulse in the command", "a record of one"
        )
    typed, recorded = options.get("--isolation"), (context.run.isolation or {}).get("kind")
    if typed != recorded:
        yield Violation(
            RUN,
            f"isolation {typed}, as the command says (--isolation)",
            f"{recorded!r}",
        )


def _untyped_timing(context: BundleContext, options: Mapping[str, str]) -> Iterator[Violation]:
    """Check that asynchronous timing was typed where it is not what the suite chooses; earlier
    versions chose synchronised everywhere."""
    if (
        TIMING not in options
        and context.is_asynchronous
        and timings_of(context.request)[0] is not Timing.ASYNCHRONOUS
    ):
        yield Violation(
            RUN,
            f"timing = {Timing.SYNCHRONISED.value}, as without {TIMING} in the command",
            context.request.timing,
        )


def _version(context: BundleContext, typed: str) -> Iterator[Violation]:
    """Check the version that was typed behind the framework's name against the one that trained; a
    build's label (+cpu) is none of it."""
    own = str(context.system.get("framework_version")).partition("+")[0]
    if typed and own != typed.partition("+")[0]:
        yield Violation(
            SYSTEM,
            f"framework_version {typed}, as the command says (--framework)",
            f"{own!r}",
        )


def _meters(context: BundleContext, choice: str | None) -> Iterator[Violation]:
    """Check the meters that the command leaves out against those that say so; `suite finish` lists
    only meters that were read."""
    for node in context.nodes:
        reasons = {
            str(record.get("name")): record.get("reason")
            for record in node.meters
            if isinstance(record, Mapping)
        }
        chosen = (
            left_out(choice, reasons.keys() - {"recorder", ATTACHED})
            if choice is not None
            else set()
        )
        stated = {name for name, reason in reasons.items() if reason == LEFT_OUT}
        if chosen != stated and node.meters:
            expected = (
                f"meters left out as the command says (--meters {choice}):"
                f" {listed(sorted(chosen)) or 'none'}"
            )
            yield Violation(node.meters_file, expected[:300], listed(sorted(stated)) or "none")


def _options(command: Sequence[Any]) -> dict[str, str] | None:
    """The options of a `suite run` command, the last of each, flags with an empty value; None for
    any other command."""
    words = [str(word) for word in command]
    if "run" not in words[:4]:
        return None
    options: dict[str, str] = {}
    for index, word in enumerate(words):
        name, has_value, value = word.partition("=")
        following = words[index + 1] if index + 1 < len(words) else ""
        if word.startswith("--"):
            options[name] = value if has_value else "" if following.startswith("--") else following
    return options


def _runs(context: BundleContext) -> Iterator[Violation]:
    """Check that the command starts runs, with options that it has; a program that calls the
    suite's Python interface has a command of its own."""
    words = [str(word) for word in context.run.command]
    program = words[0].rpartition("/")[2] if words else ""
    if len(words) < 2 or words[1] not in COMMANDS:
        if not words or program == PROGRAMS[0]:
            yield Violation(
                RUN,
                f"a command that starts a run: suite {' or suite '.join(COMMANDS)}",
                " ".join(words)[:200] or "no command",
            )
        return
    options = {word.partition("=")[0] for word in words[2:] if word.startswith("--")}
    unknown, idle = sorted(options - set(KNOWN)) if words[1] == "run" else [], options & set(NO_RUN)
    if unknown:
        yield Violation(RUN, "options of suite run (suite run --help)", ", ".join(unknown))
    if idle:
        yield Violation(
            RUN,
            "a command that trains",
            f"{', '.join(sorted(idle))}, with which nothing is trained",
        )


def _is_folder(typed: str, directory: object) -> bool:
    """Whether the word may be a relative path of the data's folder."""
    return isinstance(directory, str) and directory.rstrip("/").endswith(typed.rstrip("/"))


def _value(request: Request, path: str) -> object:
    """That of the request as it is read: with what requests of earlier versions lack."""
    value: object = request
    for name in path.split("."):
        value = getattr(value, name)
    return value


def _is_same(typed: str, requested: object) -> bool:
    if isinstance(requested, int | float) and not isinstance(requested, bool):
        try:
            return float(typed) == requested
        except ValueError:
            return False
    return typed == requested


def _run_id(context: BundleContext) -> Iterator[Violation]:
    """Check workload, framework and time in the run's id."""
    run, request = context.run, context.request
    form = f"{request.workload}-{request.framework}-<date>T<time>Z-<six characters>"
    found = _RUN_ID.fullmatch(run.run_id) if isinstance(run.run_id, str) else None
    if found is None or found["name"] != f"{request.workload}-{request.framework}":
        yield Violation(RUN, f"a run id of the form {form}", f"{run.run_id!r}")
        return
    try:
        named_s = datetime.strptime(found["stamp"] + "+0000", "%Y%m%dT%H%M%SZ%z").timestamp()
        after_s = run.started_time_ms / 1000 - named_s
        started = datetime.fromtimestamp(run.started_time_ms / 1000, timezone.utc).strftime(
            "%Y-%m-%d %H:%M:%S UTC"
        )
    except (TypeError, ValueError, OverflowError, OSError):
        yield Violation(
            RUN,
            "a time in the run id and in started_time_ms",
            f"{found['stamp']} and {run.started_time_ms!r}",
        )
        return
    if not -MAX_AFTER_START_S <= after_s <= MAX_BEFORE_START_S:
        yield Violation(
            RUN, f"a run id of the 30 days before the start ({started})", found["stamp"], fix=CLOCK
        )


def _allowed(context: BundleContext) -> Iterator[Violation]:
    allowed = [str(rule) for rule in context.run.findings_allowed]
    if allowed and context.request.division == Division.CLOSED.value:
        yield Violation(
            RUN,
            "no rules that the run was allowed to break (findings_allowed)",
            ", ".join(allowed),
        )


def _processor(context: BundleContext) -> Iterator[Violation]:
    """Check threads and accelerator: request, log, and what the device has."""
    request, log = context.request, context.log
    threads = log.first("framework_threads")
    if threads is not None and isinstance(threads.value, int) and threads.value != request.threads:
        yield Violation(
            "log.txt",
            f"framework_threads = {request.threads!r}, as {RUN} requests",
            f"{threads.value!r}",
            threads.line,
            fix="run again with --threads, and let the implementation use that number",
        )
    trained_on = log.first("accelerator")
    if trained_on is None or trained_on.value != request.accelerator:
        yield Violation(
            "log.txt",
            f"accelerator = {request.accelerator!r}, as {RUN} requests",
            "no such event" if trained_on is None else f"{trained_on.value!r}"[:200],
            None if trained_on is None else trained_on.line,
        )
    device = context.device
    if (
        device is not None
        and not device.is_fallback
        and device.gpu is None
        and request.accelerator != "cpu"
    ):
        yield Violation(
            RUN,
            f"accelerator = 'cpu': {device.title} has no GPU for training",
            f"{request.accelerator!r}",
            fix="run with --accelerator cpu, or with --device generic on another machine",
        )


def _build(context: BundleContext) -> Iterator[Violation]:
    """Check that a run on a GPU was of a build that can use one."""
    if context.request.accelerator != "cuda":
        return
    own, libraries = (
        known_frameworks().get(context.request.framework),
        context.system.get("libraries"),
    )
    for name, version in libraries.items() if isinstance(libraries, Mapping) else ():
        if own is not None and name in own.packages and str(version).endswith(CPU_BUILD):
            yield Violation(
                SYSTEM, "a build of the framework that can use a GPU", f"{name} {version}"
            )


RULES = (
    Rule(
        "command-agrees",
        "Every option of the recorded command has the value that the request has; without"
        " --prefetch, --workers, --steps, --precision, --normalisation, --wire, --accumulate"
        " and --timing it has the suite's own values. The meters that the command leaves out"
        " are those whose records say so.",
        "The request was made from the command; a value that was changed afterwards"
        " contradicts it.",
        KEEP,
        (OfBundle("command-agrees", _command),),
    ),
    Rule(
        "command-runs",
        "The recorded command starts a run, with options that `suite run` has.",
        "Nothing else makes a bundle. A command that was edited, or left out, hides what was"
        " asked for.",
        KEEP,
        (OfBundle("command-runs", _runs),),
    ),
    Rule(
        "run-id",
        "A run's id names its workload, its framework and its time, as the request and the"
        " start do.",
        "The harness makes the id from them right before the run.",
        KEEP,
        (OfBundle("run-id", _run_id),),
    ),
    Rule(
        "no-findings-allowed",
        "A closed run was not allowed to break rules (--allow-invalid).",
        "A run that needs --allow-invalid cannot comply, as the command says before it starts.",
        "a run with --allow-invalid is no result of the closed division: run without it",
        (OfBundle("no-findings-allowed", _allowed),),
    ),
    Rule(
        "processor-agrees",
        "The log has the requested number of threads and the requested accelerator, and the"
        " device has that accelerator.",
        "Results of one thread and of a processor are other results than those of many threads"
        " and of a GPU.",
        KEEP,
        (OfBundle("processor-agrees", _processor),),
    ),
    Rule(
        "accelerator-build",
        "A run on a GPU was made with a build of the framework that can use one.",
        "A package whose version ends with +cpu was built without CUDA: what it trained, a"
        " processor trained.",
        "install the framework with CUDA (suite env create on a machine with the driver),"
        " or run with --accelerator cpu",
        (OfBundle("accelerator-build", _build),),
    ),
)
