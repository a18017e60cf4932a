"""Integrity: manifest, hash chain, recomputed figures, agreement of the records."""

from collections.abc import Iterator
from typing import Any

from reference_impls.definitions import request_facts
from suite.bundle.layout import (
    BASELOAD,
    COUNTERS,
    MANIFEST,
    OUTPUT,
    READINGS,
    RUN,
    STEPS,
    SUMMARY,
    SYSTEM,
    WITHDRAWN,
    is_withdrawal,
)
from suite.bundle.log import Log
from suite.compliance.faults.fault import Fault, of_first_run, sealed, unsealed
from suite.compliance.faults.file_edits import (
    append,
    change_counters,
    change_file,
    change_lines,
    change_summary,
    copy_from_second_run,
    delete,
    drop_line,
    halve,
    put,
    remove_chain,
    replace_in_line,
    resealed,
    scale,
    set_system,
)
from suite.compliance.faults.log_edits import LOGGED, remove_event, set_boot, set_event, set_request
from suite.compliance.rule import BundleContext, Rule, Violation
from suite.compliance.wording import shown
from suite.files.tree import below
from suite.metrics.json_diff import differences
from suite.metrics.schema1 import counters_as_schema_1, numbers_only, summary_as_schema_1

ORDER = 10  # first: changed files explain most other findings

OF_OTHER_RULES = ("accelerator",)
"""Facts that this rule does not compare: what the rule on processors judges."""

COPY_AGAIN = "copy the whole run directory again; results are never edited, only superseded"


def _manifest(context: BundleContext) -> Iterator[Violation]:
    path = context.bundle.path
    listed: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(context.bundle.manifest(), start=1):
        digest, separator, name = line.partition("  ")
        if not separator or len(digest) != 64:
            yield Violation(
                MANIFEST, "a SHA-256, two spaces and a file name", line[:80], COPY_AGAIN, number
            )
        else:
            if name in listed:
                yield Violation(
                    MANIFEST,
                    f"{name[:200]} once",
                    f"again, after line {listed[name][0]}",
                    COPY_AGAIN,
                    number,
                )
            listed[name] = (number, digest)
    present = {
        file.relative_to(path).as_posix(): file
        for file in below(path)
        if (file.is_symlink() or file.is_file()) and file.name != MANIFEST
    }
    for name, file in present.items():
        if file.is_symlink():
            yield Violation(name, "a plain file", "a link", COPY_AGAIN)
        elif name == WITHDRAWN and name not in listed and is_withdrawal(file):
            continue  # says why, after the run was sealed
        elif name not in listed:
            yield Violation(
                name,
                "only files that the manifest lists",
                "a file that it does not list",
                f"remove it (`suite finish` removes what a closing left), or {COPY_AGAIN}",
            )
        elif context.bundle.sha256(file) != listed[name][1]:
            number, digest = listed[name]
            expected = f"content with the SHA-256 {digest[:12]}…, as in line {number} of {MANIFEST}"
            yield Violation(
                name,
                expected,
                f"SHA-256 {context.bundle.sha256(file)[:12]}…, {file.stat().st_size} bytes",
                COPY_AGAIN,
            )
    for name, (number, _) in listed.items():
        if name not in present:
            yield Violation(MANIFEST, f"the file {name[:200]}", "no such file", COPY_AGAIN, number)


def _readable(context: BundleContext) -> Iterator[Violation]:
    for problem in context.log.problems:
        if not problem.chain:
            yield Violation("log.txt", "MLPerf log lines", problem.what, COPY_AGAIN, problem.line)


def _chain(context: BundleContext) -> Iterator[Violation]:
    for problem in context.log.problems:
        if problem.chain:
            yield Violation(
                "log.txt",
                "an unbroken chain of SHA-256 values",
                problem.what,
                COPY_AGAIN,
                problem.line,
            )


def _summary(context: BundleContext) -> Iterator[Violation]:
    """Recompute every figure and compare it with summary.json."""
    computed, written = context.derived.to_dict(), context.summary
    if context.run.schema == 1:
        computed, written = summary_as_schema_1(computed), numbers_only(written)
    for name, difference in differences(computed, written):
        yield Violation(
            SUMMARY,
            f"{name} = {shown(difference[0])}, as recomputed from the raw records",
            shown(difference[1]),
            COPY_AGAIN,
        )


def _counters(context: BundleContext) -> Iterator[Violation]:
    """Recompute every phase's counts from the meter's readings."""
    computed, written = context.derived_counters, context.bundle.json(COUNTERS)
    if context.run.schema == 1:
        computed, written = counters_as_schema_1(computed), numbers_only(written)
    for name, difference in differences(computed, written):
        yield Violation(
            COUNTERS,
            f"{name} = {shown(difference[0])}, as recomputed from the readings",
            shown(difference[1]),
            COPY_AGAIN,
        )


def _system(context: BundleContext) -> Iterator[Violation]:
    expected = {
        "device": context.request.platform,
        "framework": context.request.framework,
        "framework_version": context.log.value("framework_version"),
    }
    # rank 0 of several may be on another machine than the harness
    if context.request.parallel.ranks == 1 and context.log.events:
        expected["boot"] = context.log.events[0].metadata.get("boot")
    for name, value in expected.items():
        if context.system.get(name) != value:
            yield Violation(
                SYSTEM,
                f"{name} = {shown(value)}, as in the run",
                shown(context.system.get(name)),
                COPY_AGAIN,
            )


def _log_is_the_request(context: BundleContext) -> Iterator[Violation]:
    """Check that the log repeats the request."""
    yield from repeats_request(context, context.log, "log.txt")


def repeats_request(context: BundleContext, log: Log, name: str) -> Iterator[Violation]:
    """Check that a rank's log, in the file ``name``, repeats the request."""
    expected = {
        key: value for key, value in request_facts(context.request) if key not in OF_OTHER_RULES
    }
    for key, value in expected.items():
        event = log.first(key)
        if event is None or event.value != value:
            observed = "no such event" if event is None else shown(event.value)
            line = None if event is None else event.line
            yield Violation(
                name, f"{key} = {shown(value)}, as {RUN} requests", observed, COPY_AGAIN, line
            )


FIGURES = (
    "time_to_epoch_s",
    "first_epoch_s",
    "compute_s",
    "fetch_stall_s",
    "copy_s",
    "overhead_s",
    "compute_share",
    "samples_per_s",
    "best_accuracy",
    "time_to_target_s",
    "energy_j",
    "energy_per_epoch_j",
    "baseload_power_w",
    "baseload_share",
    "cpu_utilisation",
    "resident_sum_max_bytes",
    "page_faults",
    "disk_read_bytes_per_s",
)
EPOCH_FIGURES = ("end_to_end_s", "mean_loss", "eval_accuracy", "energy_j", "samples")
COUNTS = ("phases.run.stop_ns", "phases.run.events.page_faults.count", "phases.init.start_ns")
OTHER_VALUES: dict[str, Any] = {
    "workload": "resnet18",
    "division": "open",
    "organization": "globex",
    "platform": "orin",
    "framework": "tensorflow",
    "model": "lenet4",
    "data.name": "digits",
    "seed": 77,
    "global_batch_size": 64,
    "optimizer.name": "adam",
    "optimizer.base_learning_rate": 0.01,
    "optimizer.momentum": 0.5,
    "optimizer.weight_decay": 0.1,
    "optimizer.schedule": "constant",
    "initial_weights": "zeros",
    "parallel.collective": "native",
    "epochs": 5,
    "target_accuracy": 0.5,
    "data.train_samples": 50_000,
    "data.eval_samples": 5_000,
    "cache_cleared": True,
}
"""Another value for everything that the log repeats of the request."""
CHOOSES_RULES = ("division", "workload")
"""Changed in the request alone, these change which rules apply."""


def _line_faults() -> Iterator[Fault]:
    """Edited and dropped lines of the log; the manifest is made to fit, the chain is not."""
    for key in ("seed", "run_start", "epoch_stop", "eval_accuracy", "run_stop"):
        edited = change_lines("log.txt", replace_in_line(key, '"time_ms": 1', '"time_ms": 2'))
        yield unsealed(f"{key}'s line edited", resealed(edited))
    for key in ("seed", "run_start", "epoch_stop", "eval_accuracy"):
        yield unsealed(f"{key}'s line dropped", resealed(change_lines("log.txt", drop_line(key))))
    yield unsealed(
        "two lines swapped",
        resealed(change_lines("log.txt", lambda lines: [lines[1], lines[0], *lines[2:]])),
    )
    yield unsealed(
        "a line's chain value taken out", resealed(change_lines("log.txt", remove_chain))
    )


def _logged_value_faults() -> Iterator[Fault]:
    """Every value that log and request share, changed in one of them, or not logged."""
    for name, value in OTHER_VALUES.items():
        if name not in CHOOSES_RULES:
            yield sealed(f"{name} in the request only", set_request(name, value))
        yield sealed(f"{LOGGED[name]} in the log only", set_event(LOGGED[name], value=value))
        yield sealed(f"{LOGGED[name]} not in the log", remove_event(LOGGED[name]))


def _figure_faults() -> Iterator[Fault]:
    """Every kind of value of summary.json."""
    for name in FIGURES:
        yield sealed(f"{name} a tenth better", change_summary(f"figures.{name}.value", scale(0.9)))
    yield sealed(
        "energy a millionth less", change_summary("figures.energy_j.value", scale(0.999999))
    )
    for name, value in (
        ("unit", "kJ"),
        ("method", "an analyser"),
        ("coverage", 0.5),
        ("source", "log.txt"),
    ):
        yield sealed(
            f"the energy's {name} is {value!r}",
            change_summary(f"figures.energy_j.{name}", put(value)),
        )
    yield sealed("a figure taken out", lambda bundle: bundle.summary["figures"].pop("energy_j"))
    yield sealed(
        "a figure added", lambda bundle: bundle.summary["figures"].update(mlperf={"value": 1.0})
    )
    for name in EPOCH_FIGURES:
        yield sealed(f"an epoch's {name}", change_summary(f"epochs.1.{name}", scale(0.9)))
    yield sealed("an epoch taken out of the summary", lambda bundle: bundle.summary["epochs"].pop())


RULES = (
    Rule(
        id="manifest",
        sentence="The manifest lists every file of the bundle with its SHA-256, and nothing else.",
        rationale="It shows changed, lost and added files.",
        bundle_check=_manifest,
        faults=(
            *(
                unsealed(f"a blank at the end of {name}", append(name, b" "))
                for name in (RUN, SYSTEM, SUMMARY, COUNTERS, OUTPUT, "log.txt")
            ),
            *(
                unsealed(f"{name} lost", delete(name))
                for name in (STEPS, READINGS, BASELOAD, OUTPUT)
            ),
            of_first_run(unsealed("readings of another run", copy_from_second_run(READINGS))),
            unsealed("a file added", append("more.txt", b"more")),
            unsealed("a link added", lambda run: (run / "more.txt").symlink_to("/etc/hostname")),
            unsealed(
                "a line taken out of the manifest", change_lines(MANIFEST, lambda lines: lines[1:])
            ),
            unsealed(
                "a line of the manifest twice",
                change_lines(MANIFEST, lambda lines: [*lines, lines[0]]),
            ),
            unsealed(
                "another digest in the manifest",
                change_lines(MANIFEST, lambda lines: ["0" * 64 + lines[0][64:], *lines[1:]]),
            ),
            unsealed(
                "text before the first line of the log",
                change_lines("log.txt", lambda lines: ["WARNING", *lines]),
            ),
        ),
    ),
    Rule(
        id="log-readable",
        sentence="Every log line with the MLPerf token is one valid event.",
        rationale="A line that cannot be read may hide an event.",
        bundle_check=_readable,
        faults=(
            unsealed("log.txt cut in half, the manifest made to fit", resealed(halve("log.txt"))),
            unsealed(
                "the last line cut off",
                resealed(change_lines("log.txt", lambda lines: [*lines[:-1], lines[-1][:60]])),
            ),
            unsealed(
                "a line without its time",
                resealed(change_lines("log.txt", replace_in_line("seed", "time_ms", "time"))),
            ),
            unsealed(
                "a line that is no object",
                resealed(change_lines("log.txt", lambda lines: [*lines, ":::MLLOG []"])),
            ),
        ),
    ),
    Rule(
        id="log-chain",
        sentence="Every log line carries the SHA-256 over the line before it and itself.",
        rationale="It shows lines that were changed, dropped or moved after they were written.",
        bundle_check=_chain,
        faults=tuple(_line_faults()),
    ),
    Rule(
        id="summary-recomputes",
        sentence=(
            "Every derived figure equals the value recomputed from the raw records, to 1e-9"
            " relative."
        ),
        rationale="Every number can be followed to its raw records.",
        bundle_check=_summary,
        faults=tuple(_figure_faults()),
    ),
    Rule(
        id="counters-recompute",
        sentence=(
            "Every count of every phase equals the value recomputed from the counters' readings, to"
            " 1e-9 relative."
        ),
        rationale=(
            "Instructions, cycles and misses explain a result; the explanation must be evidence"
            " too."
        ),
        bundle_check=_counters,
        faults=(
            *(sealed(f"counters: {where}", change_counters(where, scale(0.9))) for where in COUNTS),
            sealed(
                "a count made up",
                change_file(
                    COUNTERS,
                    lambda values: values["phases"]["run"]["events"]["instructions"].update(
                        count=1e9, unit="events", reason=None
                    ),
                ),
            ),
        ),
    ),
    Rule(
        id="system-agrees",
        sentence=(
            "The system description names the device, framework and version of the run, and the"
            " boot in which it ran."
        ),
        rationale="A result belongs to the machine that made it.",
        bundle_check=_system,
        faults=(
            *(
                sealed(f"{name} = {value!r} in system.json", set_system(name, value))
                for name, value in (
                    ("device", "orin"),
                    ("framework", "chainer"),
                    ("framework_version", "9.9"),
                    ("boot", "1"),
                )
            ),
            sealed("another boot everywhere in the log", set_boot("submission_benchmark")),
        ),
    ),
    Rule(
        id="log-agrees-with-request",
        sentence=(
            "The log repeats the requested workload, division, data, seed, sizes and"
            " hyperparameters."
        ),
        rationale="The run that was made must be the run that was requested.",
        bundle_check=_log_is_the_request,
        faults=tuple(_logged_value_faults()),
    ),
)
