"""The run's record: its command and its id against the request and the log."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from reference_impls.contract import EQUAL, EXACT, LOCAL
from reference_impls.updates import steps_per_epoch
from suite.bundle.attached import SOURCE as ATTACHED
from suite.bundle.layout import RUN, SYSTEM
from suite.bundle.log import MAX_TIME_MS
from suite.catalog.divisions import Division
from suite.catalog.frameworks import known_frameworks
from suite.catalog.meter_choice import LEFT_OUT, left_out
from suite.catalog.request_defaults import CPU_WORKERS, PREFETCH
from suite.catalog.timings import Timing
from suite.compliance.agreement import ExpectedField, differing_fields, field_of
from suite.compliance.requested_timings import timings_of
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.wording import joined_names

ORDER = 25  # before the log's course

OF_SEVERAL_RANKS = ("--normalisation", "--wire", "--shares")
KEEP = "hand in run.json as `suite run` wrote it"
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
    "--shares": "parallel.shares",
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
    "--shares": EQUAL,
    "--accumulate": 1,
}
"""Options whose value is the same for all workloads and machines where they are not typed."""
KNOWN = (
    *OPTIONS,
    "--allow-invalid",
    "--baseload",
    "--boards",
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
    "--no-target",
    "--nodes",
    "--nonce",
    "--output",
    "--power-pulse",
    "--ranks-per-node",
    "--resume",
    "--run-number",
    "--short",
    "--silence",
    "--spill",
    "--stall-analysis",
    "--trains",
    "--verbose",
    "--witness",
)
"""Every option of `suite run`."""
NO_RUN = ("--dry-run", "--help")
COMMANDS = ("run", "quick", "sweep", "night", "reproduce")
PROGRAMS = ("suite", "-c", "-m", "__main__.py")
"""Commands that make runs, and the programs by which the suite itself may be started; any Python
program is called so but the first."""
CHOSEN_BY_THE_SUITE = "auto"
MAX_DIGITS = 6
SET_BY_STALL_ANALYSIS = ("--division", "--epochs")
_RUN_ID = re.compile(r"(?P<name>.+)-(?P<stamp>\d{8}T\d{6}Z)-[\w.-]{1,100}", re.ASCII)
# runs that are requested together are named together, and run one after another
MAX_BEFORE_START_S, MAX_AFTER_START_S = 30 * 86_400.0, 120.0
MAX_CLOCK_DIFFERENCE_S, MAX_SETUP_S, MAX_BEGUN_S = 120.0, 3600.0, 180.0
"""The harness itself begins the log of a run on one rank, right after it has noted the start: 0.01
to 16.7 s later in 374 real runs."""


def is_command(command: Sequence[Any], *names: str) -> bool:
    """Whether the command is one of these of the suite itself; a program that calls the suite's
    Python interface has options of its own."""
    words = [str(word) for word in command[:2]]
    return len(words) == 2 and words[0].rpartition("/")[2] in PROGRAMS and words[1] in names


def _version(context: BundleContext, typed: str) -> Violations:
    """Check the version that was typed behind the framework's name against the one that trained; a
    build's label (+cpu) is none of it."""
    own = str(context.system.get("framework_version")).partition("+")[0]
    if typed and own != typed.partition("+")[0]:
        yield Violation(
            SYSTEM,
            f"framework_version {typed}, as the command says (--framework)",
            f"{own!r}",
        )


def _meters(context: BundleContext, choice: str | None) -> Violations:
    """Check the meters that the command leaves out against those that say so; `suite finish` lists
    only meters that were read."""
    for node in context.nodes:
        reasons = {name: record.get("reason") for name, record in node.meter_records.items()}
        known = reasons.keys() - {"recorder", ATTACHED}
        chosen = set() if choice is None else left_out(choice, known)
        stated = {name for name, reason in reasons.items() if reason == LEFT_OUT}
        if chosen != stated and node.meters:
            expected = (
                f"meters that the command leaves out (--meters {choice or 'not given'}):"
                f" {joined_names(sorted(chosen)) or 'none'}"
            )
            observed = f"meters recorded as left out: {joined_names(sorted(stated)) or 'none'}"
            yield Violation(node.meters_file, expected, observed)


def _options(command: Sequence[Any]) -> dict[str, str]:
    """The options of a command, the last of each, flags with an empty value."""
    words = [str(word) for word in command]
    options: dict[str, str] = {}
    for index, word in enumerate(words):
        name, has_value, value = word.partition("=")
        following = words[index + 1] if index + 1 < len(words) else ""
        if word.startswith("--"):
            options[name] = value if has_value else "" if following.startswith("--") else following
    return options


def _runs(context: BundleContext) -> Violations:
    """Check that the command starts runs, with options that it has; a program that calls the
    suite's Python interface has a command of its own."""
    words = [str(word) for word in context.run.command]
    if not is_command(words, *COMMANDS):
        if not words or words[0].rpartition("/")[2] == PROGRAMS[0]:
            yield Violation(
                RUN,
                f"a command that starts a run: suite {' or suite '.join(COMMANDS)}",
                " ".join(words)[:200] or "no command",
            )
        return
    options = {word.partition("=")[0] for word in words[2:] if word.startswith("--")}
    unknown, idle = sorted(options - set(KNOWN)) if words[1] == "run" else [], options & set(NO_RUN)
    if unknown:
        yield Violation(RUN, "only options that `suite run --help` lists", ", ".join(unknown))
    if idle:
        yield Violation(
            RUN,
            "a command that trains",
            f"a command with {', '.join(sorted(idle))}, which trains nothing",
        )


def _is_same(typed: str, requested: object) -> bool:
    if isinstance(requested, int | float) and not isinstance(requested, bool):
        try:
            return float(typed) == requested
        except ValueError:
            return False
    return typed == requested


def _record(context: BundleContext) -> Violations:
    """Check that run.json and the log are of the same run."""
    run, first = context.run, context.log.events[0] if context.log.events else None
    # `suite finish` cannot know how a process ended that nobody waited for
    is_known = run.closed_later is None or run.exit_code is not None
    if (is_known and run.exit_code != 0) or run.message is not None:
        yield Violation(
            RUN,
            "exit code 0 and no message for a finished run",
            f"exit code {run.exit_code!r}, message {run.message!r}",
        )
    if first is None:
        return
    started_ms = run.started_time_ms
    # a larger integer would overflow
    is_time = isinstance(started_ms, int | float) and abs(started_ms) <= MAX_TIME_MS
    max_s = MAX_BEGUN_S if context.request.parallel.ranks == 1 else MAX_SETUP_S
    if (
        not is_time
        or not -MAX_CLOCK_DIFFERENCE_S
        <= (first.time_ms - started_ms) / 1000
        <= max_s + MAX_CLOCK_DIFFERENCE_S
    ):
        yield Violation(
            RUN,
            f"a started_time_ms at most {max_s / 60:.0f} minutes before the time_ms of the log's"
            f" first event, and not after it (tolerance: {MAX_CLOCK_DIFFERENCE_S:g} s)",
            f"started_time_ms {started_ms!r}"[:100]
            + f"; the first event's time_ms {first.time_ms!r}"[:100],
        )


def _run_id(context: BundleContext) -> Violations:
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
            "a valid time in the run id, and in started_time_ms",
            f"{found['stamp']} and {run.started_time_ms!r}",
        )
        return
    if not -MAX_AFTER_START_S <= after_s <= MAX_BEFORE_START_S:
        yield Violation(
            RUN, f"a run id with a time in the 30 days before the start ({started})", found["stamp"]
        )


def _allowed(context: BundleContext) -> Violations:
    allowed = [str(rule) for rule in context.run.findings_allowed]
    if allowed and context.request.division == Division.CLOSED.value:
        yield Violation(
            RUN,
            "no rules that the run was allowed to break (findings_allowed)",
            ", ".join(allowed),
        )


def _command(context: BundleContext) -> Violations:
    """Check every option that was typed against the request that was made of it."""
    if not is_command(context.run.command, "run"):
        return
    options = _options(context.run.command)
    short = options.get("--short", "")
    if short.isdecimal() and len(short) < MAX_DIGITS:  # names the step limit in epochs
        options["--steps"] = str(int(short) * steps_per_epoch(context.request))
    skipped = (
        *(SET_BY_STALL_ANALYSIS if "--stall-analysis" in options else ()),
        *(OF_SEVERAL_RANKS if context.request.parallel.ranks == 1 else ()),
    )
    for option, path in OPTIONS.items():
        typed, requested = options.get(option), field_of(context.request)(path)
        if option == "--framework" and typed is not None:  # with a version, perhaps
            typed = typed.partition("==")[0]
        if (
            typed not in (None, CHOSEN_BY_THE_SUITE)
            and option not in skipped
            and not _is_same(str(typed), requested)
        ):
            expected = f"{path} = {typed}, as the command says ({option} {typed})"
            yield Violation(RUN, expected, f"{requested!r}")
    yield from _data(context, options.get("--data"))
    yield from _untyped(context, options)
    yield from _version(context, options.get("--framework", "").partition("==")[2])
    yield from _meters(context, options.get("--meters"))


def _data(context: BundleContext, typed: str | None) -> Violations:
    data, said = context.request.data, f", as the command says (--data {typed})"
    named = {context.workload.data, *(other.data for other in context.workload.other_data)}
    if typed == "synthetic" and data.synthetic is not True:
        yield Violation(RUN, f"generated data{said}", "data.synthetic = false")
    elif typed in named - {data.name}:  # any other word was a folder
        yield Violation(RUN, f"data.name = {typed!r}{said}", f"{data.name!r}")


def _untyped(context: BundleContext, options: Mapping[str, str]) -> Violations:
    """Check what only an option changes, where the option was not typed."""
    rows = [row for option, row in _usual(context) if option not in options]
    yield from differing_fields(RUN, field_of(context.request), rows)
    request, run = context.request, context.run
    planned, typed = request.recomputation, options.get("--isolation")
    spilled, recorded = planned and planned.spill_folder, (run.isolation or {}).get("kind")
    for is_wrong, expected, observed in (
        (
            (planned is not None) is not ("--memory-budget" in options),
            f"{'no' if planned else 'a'} schedule of recomputation, because the command has"
            f" {'no ' if planned else ''}--memory-budget",
            f"recomputation = {planned!r}",
        ),
        (
            spilled is not None and "--spill" not in options,
            "no activations on storage, because the command has no --spill",
            f"spill_folder = {spilled!r}",
        ),
        (
            run.power_pulse is not None and "--power-pulse" not in options,
            "no power_pulse, because the command has no --power-pulse",
            "a record of a power pulse",
        ),
        (
            typed != recorded,
            "no isolation, because the command has no --isolation"
            if typed is None
            else f"isolation {typed}, as the command says (--isolation)",
            f"isolation {recorded or 'none'}",
        ),
    ):
        if is_wrong:
            yield Violation(RUN, expected, observed)


def _usual(context: BundleContext) -> Iterator[tuple[str, ExpectedField]]:
    """Options with what the request has without them. Earlier versions of the suite chose
    synchronised timing everywhere, and stated no precision."""
    request, own = context.request, known_frameworks().get(context.request.framework)
    usual = dict(UNTYPED)
    if request.accelerator != "cpu":
        del usual["--workers"]
    if own is not None and "precision" in context.run.request:
        usual["--precision"] = own.precisions[0].value
    if timings_of(request)[0] is not Timing.ASYNCHRONOUS:
        usual["--timing"] = Timing.SYNCHRONISED.value
    for option, value in usual.items():
        yield (
            option,
            ExpectedField(OPTIONS[option], value, f", because the command has no {option}"),
        )


RULES = (
    Rule(
        "command-agrees",
        "The recorded command starts a run, with options that `suite run` has. The request has the"
        " value of every option that the command gives. Where --prefetch, --workers, --steps,"
        " --precision, --normalisation, --wire, --shares, --accumulate or --timing is not given,"
        " the request has the suite's default. Exactly the meters that the command leaves out are"
        " recorded as left out.",
        "The harness makes the request from the command. If somebody changes the command or the"
        " request afterwards, they contradict each other.",
        KEEP,
        (OfBundle("command-agrees", _command), OfBundle("command-runs", _runs)),
    ),
    Rule(
        "run-record",
        "The run's exit was successful. By run.json, the run starts at most 3 minutes (with several"
        " ranks, an hour) before the log's first event; clocks may differ by 2 minutes. The run's"
        " id contains its workload, its framework, and a time in the 30 days before the start.",
        "If the log came from another run, its times would differ. The harness makes the id when"
        " the run is requested; a run of a long series may start days later.",
        f"{KEEP}; if the machine's clock was set during the run, wait until NTP has set the clock,"
        " then run again",
        (OfBundle("run-record", _record), OfBundle("run-id", _run_id)),
    ),
    Rule(
        "no-findings-allowed",
        "A closed run was made without --allow-invalid.",
        "If a run cannot comply, `suite run` says so before the run starts, and starts it only with"
        " --allow-invalid.",
        "run without --allow-invalid, or in the open division",
        (OfBundle("no-findings-allowed", _allowed),),
    ),
)
