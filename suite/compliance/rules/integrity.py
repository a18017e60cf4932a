"""Whether a bundle's files are the ones that the run wrote."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from suite.bundle.layout import COUNTERS, MANIFEST, RUN, SUMMARY, SYSTEM
from suite.compliance.editing import EditableBundle
from suite.compliance.rule import BundleCase, Fault, Rule, Violation
from suite.files.digest import sha256
from suite.metrics.json_diff import differences
from suite.metrics.schema1 import counters_as_schema_1, numbers_only, summary_as_schema_1

COPY_AGAIN = "copy the whole run directory again; results are never edited, only superseded"


def _manifest(case: BundleCase) -> Iterator[Violation]:
    path = case.bundle.path
    listed = {}
    for number, line in enumerate(case.bundle.manifest(), start=1):
        digest, separator, name = line.partition("  ")
        if not separator or len(digest) != 64:
            yield Violation(MANIFEST, "lines of a SHA-256, two blanks and a file name", line[:80], COPY_AGAIN, number)
        else:
            if name in listed:
                yield Violation(MANIFEST, f"{name[:200]} once", "twice", COPY_AGAIN, number)
            listed[name] = (number, digest)
    there = {
        file.relative_to(path).as_posix(): file for file in sorted(path.rglob("*")) if (file.is_file() or file.is_symlink()) and file.name != MANIFEST
    }
    for name, file in there.items():
        if file.is_symlink():
            yield Violation(name, "a plain file", "a link", COPY_AGAIN)
        elif name not in listed:
            yield Violation(name, "only files that the manifest lists", "a file that it does not list", f"remove it, or {COPY_AGAIN}")
        elif sha256(file) != listed[name][1]:
            yield Violation(name, "the content that the manifest seals", "changed content", COPY_AGAIN)
    for name, (number, _) in listed.items():
        if name not in there:
            yield Violation(MANIFEST, f"the file {name[:200]}", "no such file", COPY_AGAIN, number)


def _readable(case: BundleCase) -> Iterator[Violation]:
    for problem in case.log.problems:
        if not problem.chain:
            yield Violation("log.txt", "MLPerf log lines", problem.what, COPY_AGAIN, problem.line)


def _chain(case: BundleCase) -> Iterator[Violation]:
    for problem in case.log.problems:
        if problem.chain:
            yield Violation("log.txt", "an unbroken chain of SHA-256 values", problem.what, COPY_AGAIN, problem.line)


def _summary(case: BundleCase) -> Iterator[Violation]:
    """Compute every figure again and hold it against what is written."""
    computed, written = case.derived.to_dict(), case.summary
    if case.run.schema == 1:
        computed, written = summary_as_schema_1(computed), numbers_only(written)
    for name, difference in differences(computed, written):
        yield Violation(SUMMARY, f"{name} as computed from the raw records: {difference[0]}", str(difference[1])[:200], COPY_AGAIN)


def _counters(case: BundleCase) -> Iterator[Violation]:
    """Count every phase again from the meter's readings."""
    computed, written = case.derived_counters, case.bundle.json(COUNTERS)
    if case.run.schema == 1:
        computed, written = counters_as_schema_1(computed), numbers_only(written)
    for name, difference in differences(computed, written):
        yield Violation(COUNTERS, f"{name} as computed from the readings: {difference[0]}", str(difference[1])[:200], COPY_AGAIN)


def _system(case: BundleCase) -> Iterator[Violation]:
    expected = {"device": case.request.platform, "framework": case.request.framework, "framework_version": case.log.value("framework_version")}
    if case.request.parallel.ranks == 1 and case.log.events:  # rank 0 of several may be on another machine than the harness
        expected["boot"] = case.log.events[0].metadata.get("boot")
    for name, value in expected.items():
        if case.system.get(name) != value:
            yield Violation(SYSTEM, f"{name} = {value!r}, as the run has it", repr(case.system.get(name))[:200], COPY_AGAIN)


def _log_is_the_request(case: BundleCase) -> Iterator[Violation]:
    """What the implementation logged is what the harness asked for."""
    request, optimizer = case.request, case.request.optimizer
    expected = {
        "submission_benchmark": request.workload,
        "submission_org": request.organization,
        "submission_division": request.division,
        "submission_platform": request.platform,
        "framework": request.framework,
        "model": request.model,
        "data_set": request.data.name,
        "seed": request.seed,
        "global_batch_size": request.global_batch_size,
        "opt_name": optimizer.name,
        "opt_base_learning_rate": optimizer.base_learning_rate,
        "opt_momentum": optimizer.momentum,
        "opt_weight_decay": optimizer.weight_decay,
        "opt_learning_rate_schedule": optimizer.schedule,
        "initial_weights": request.initial_weights,
        "collective": request.parallel.collective,
        "cache_clear": request.cache_cleared,
        "max_epochs": request.epochs,
        "target_accuracy": request.target_accuracy,
        "train_samples": request.data.train_samples,
        "eval_samples": request.data.eval_samples,
    }
    for key, value in expected.items():
        event = case.log.first(key)
        if event is None or event.value != value:
            observed = "no such event" if event is None else repr(event.value)[:200]
            line = None if event is None else event.line
            yield Violation("log.txt", f"{key} = {value!r}, as {RUN} requests", observed, COPY_AGAIN, line)


def _edit_output(bundle: EditableBundle) -> None:
    (bundle.path / "output.txt").write_text("nothing to see here\n")


def _add_file(bundle: EditableBundle) -> None:
    (bundle.path / "notes.txt").write_text("more\n")


def _lose_file(bundle: EditableBundle) -> None:
    (bundle.path / "output.txt").unlink()


def _edit_line(bundle: EditableBundle) -> None:
    log = bundle.path / "log.txt"
    log.write_text(log.read_text().replace('"key": "seed", "value": ', '"key": "seed", "value": 4'))


def _cut_line(bundle: EditableBundle) -> None:
    log = bundle.path / "log.txt"
    log.write_text(log.read_text()[:-100] + "\n")


def _better_figure(bundle: EditableBundle) -> None:
    bundle.summary["figures"]["time_to_epoch_s"]["value"] *= 0.9


def _shorter_phase(bundle: EditableBundle) -> None:
    _edit_counters(bundle, lambda phase: phase.update(stop_ns=phase["stop_ns"] - 1_000_000_000))


def _made_up_event(bundle: EditableBundle) -> None:
    _edit_counters(bundle, lambda phase: phase["events"]["instructions"].update(count=1e9, unit="events", reason=None))


def _edit_counters(bundle: EditableBundle, edit: Callable[[dict[str, Any]], None]) -> None:
    counters = json.loads((bundle.path / COUNTERS).read_text())
    edit(counters["phases"]["run"])
    (bundle.path / COUNTERS).write_text(json.dumps(counters))


def _other_device(bundle: EditableBundle) -> None:
    bundle.system["device"] = "orin"


def _other_seed(bundle: EditableBundle) -> None:
    bundle.event("seed")["value"] += 1


RULES = (
    Rule(
        id="manifest",
        sentence="The manifest lists every file of the bundle with its SHA-256, and nothing else.",
        rationale="A bundle is evidence: a changed, lost or added file must show.",
        judges_bundle=_manifest,
        faults=(
            Fault("changed output", _edit_output, forged=False),
            Fault("an added file", _add_file, forged=False),
            Fault("a lost file", _lose_file, forged=False),
        ),
    ),
    Rule(
        id="log-readable",
        sentence="Every log line with the MLPerf token is one valid event.",
        rationale="A line that cannot be read may hide what it said.",
        judges_bundle=_readable,
        faults=(Fault("a line cut off", _cut_line, forged=False),),
    ),
    Rule(
        id="log-chain",
        sentence="Every log line carries the SHA-256 over the line before it and itself.",
        rationale="A line that was changed, dropped or moved after it was written shows.",
        judges_bundle=_chain,
        faults=(Fault("an edited line", _edit_line, forged=False),),
    ),
    Rule(
        id="summary-recomputes",
        sentence="Every derived figure equals what the raw records give, to 1e-9 relative.",
        rationale="A reader who distrusts a number can follow it down to the raw records.",
        judges_bundle=_summary,
        faults=(Fault("a better figure", _better_figure),),
    ),
    Rule(
        id="counters-recompute",
        sentence="Every count of every phase equals what the counters' readings give, to 1e-9 relative.",
        rationale="Instructions, cycles and misses explain a result; an explanation has to be evidence, too.",
        judges_bundle=_counters,
        faults=(Fault("a shorter phase", _shorter_phase), Fault("an event made up", _made_up_event)),
    ),
    Rule(
        id="system-agrees",
        sentence="The system description names the device, framework and version that the run used, and the boot in which it ran.",
        rationale="A row is only worth something with the right machine beside it.",
        judges_bundle=_system,
        faults=(Fault("another device", _other_device),),
    ),
    Rule(
        id="log-agrees-with-request",
        sentence="The log states the workload, division, data, seed, sizes and hyperparameters that were requested.",
        rationale="What was asked for and what was done must be the same run.",
        judges_bundle=_log_is_the_request,
        faults=(Fault("another seed", _other_seed),),
    ),
)
