"""Integrity: manifest, hash chain, recomputed figures, system description."""

from functools import partial
from typing import Any

from suite.bundle.layout import (
    COUNTERS,
    MANIFEST,
    SUMMARY,
    SYSTEM,
    WITHDRAWN,
    is_withdrawal,
)
from suite.compliance.agreement import ExpectedField, differing_fields
from suite.compliance.remedies import COPY_AGAIN
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.wording import value_text
from suite.files.tree import paths_below
from suite.metrics.json_diff import json_differences
from suite.metrics.schema1 import counters_as_schema_1, numbers_only, summary_as_schema_1

ORDER = 10  # first: changed files explain most other findings
UNLISTED = (
    "remove the file (`suite finish` does so if `suite run` was killed while it sealed the bundle),"
    f" or {COPY_AGAIN}"
)


def _manifest(context: BundleContext) -> Violations:
    path = context.bundle.path
    listed: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(context.bundle.manifest(), start=1):
        digest, separator, name = line.partition("  ")
        if not separator or len(digest) != 64:
            yield Violation(MANIFEST, "a SHA-256, two spaces and a file name", line[:80], number)
        else:
            if name in listed:
                once = f"{name[:200]} only in line {listed[name][0]}"
                yield Violation(MANIFEST, once, f"{name[:200]} again", number)
            listed[name] = (number, digest)
    present = {
        file.relative_to(path).as_posix(): file
        for file in paths_below(path)
        if (file.is_symlink() or file.is_file()) and file.name != MANIFEST
    }
    for name, file in present.items():
        if file.is_symlink():
            yield Violation(name, "a plain file", "a link")
        elif name == WITHDRAWN and name not in listed and is_withdrawal(file):
            continue  # says why, after the run was sealed
        elif name not in listed:
            yield Violation(
                name,
                "only files that the manifest lists",
                "a file that the manifest does not list",
                fix=UNLISTED,
            )
        elif context.bundle.sha256(file) != listed[name][1]:
            number, digest = listed[name]
            yield Violation(
                name,
                f"content with the SHA-256 {digest[:12]}…, as in line {number} of {MANIFEST}",
                f"SHA-256 {context.bundle.sha256(file)[:12]}…, {file.stat().st_size} bytes",
            )
    for name, (number, _) in listed.items():
        if name not in present:
            yield Violation(MANIFEST, f"the file {name[:200]}", "no such file", number)


def _problems(of_chain: bool, expected: str, context: BundleContext) -> Violations:
    for problem in context.log.problems:
        if problem.chain is of_chain:
            yield Violation("log.txt", expected, problem.what, problem.line)


def _summary(context: BundleContext) -> Violations:
    """Recompute every figure and compare it with summary.json."""
    computed, written = context.derived.to_dict(), context.summary
    if context.run.schema == 1:
        computed, written = summary_as_schema_1(computed), numbers_only(written)
    return _recomputed(SUMMARY, computed, written)


def _counters(context: BundleContext) -> Violations:
    """Recompute every phase's counts from the meter's readings."""
    computed, written = context.derived_counters, context.bundle.json(COUNTERS)
    if context.run.schema == 1:
        computed, written = counters_as_schema_1(computed), numbers_only(written)
    return _recomputed(COUNTERS, computed, written)


def _recomputed(file: str, computed: Any, written: Any) -> Violations:
    for name, (follows, stated) in json_differences(computed, written):
        expected = f"{name} = {value_text(follows)}, as recomputed from the raw records"
        yield Violation(file, expected, value_text(stated))


def _system(context: BundleContext) -> Violations:
    expected = {
        "device": context.request.platform,
        "framework": context.request.framework,
        "framework_version": context.log.value("framework_version"),
    }
    # rank 0 of several may be on another machine than the harness
    if context.request.parallel.ranks == 1 and context.log.events:
        expected["boot"] = context.log.events[0].metadata.get("boot")
    rows = (ExpectedField(name, value, ", as in the run") for name, value in expected.items())
    return differing_fields(SYSTEM, context.system.get, rows)


RULES = (
    Rule(
        "manifest",
        "The manifest lists every file of the bundle with its SHA-256, and nothing else. Only a"
        " file that says why the run was withdrawn may be added later.",
        "If a file was changed, lost or added after the bundle was sealed, the manifest shows it.",
        COPY_AGAIN,
        (OfBundle("manifest", _manifest),),
    ),
    Rule(
        "log-chain",
        "Every log line with the MLPerf token (:::MLLOG) is one valid event. It carries a chain"
        " value: a SHA-256 computed from this line and the previous line's chain value.",
        "If a line was changed, dropped or moved after it was written, the chain values no longer"
        " fit. A line that cannot be read may hide an event.",
        COPY_AGAIN,
        (
            OfBundle("log-readable", partial(_problems, False, "a valid MLPerf log line")),
            OfBundle("log-chain", partial(_problems, True, "an unbroken chain of SHA-256 values")),
        ),
    ),
    Rule(
        "figures-recompute",
        "Every figure of summary.json and every count of counters.json equals the value recomputed"
        " from the raw records, to within a relative error of 1e-9.",
        "Every figure can be recomputed from the raw records, so an edited figure would differ from"
        " the recomputed value.",
        COPY_AGAIN,
        (
            OfBundle("summary-recomputes", _summary),
            OfBundle("counters-recompute", _counters),
        ),
    ),
    Rule(
        "system-agrees",
        f"The system description ({SYSTEM}) has the device and framework of the run's request, and"
        " the framework version of the run's log. For a run with one rank, it also has the boot id"
        " of the log.",
        "A result holds only for the machine that produced it. A description of another machine,"
        " or of another start of this machine, would differ in device, framework, version or boot"
        " id.",
        COPY_AGAIN,
        (OfBundle("system-agrees", _system),),
    ),
)
