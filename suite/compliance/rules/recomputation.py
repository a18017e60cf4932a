"""Recomputation: a run in a memory budget follows its schedule, and the plan agrees with what was
measured."""

from collections.abc import Sequence
from typing import Any

from reference_impls.contract import Recomputation
from suite.bundle.layout import RUN
from suite.compliance.finding import Severity
from suite.compliance.remedies import TRAINING_LOOP
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.values import is_number

ORDER = 78  # after the processes' memory

EVENT = "recomputation"
KEPT_AS_WRITTEN = "hand in run.json as `suite run --memory-budget` wrote it"
MAX_DEVIATION = 0.1
"""Of the measured peak from the planned one. ResNet-18 in suite run: 3 to 5 % (docs/memory.md)."""

FORWARD = ("keep", "checkpoint", "skip")
CLOCKS = 1.01  # the schedule's time lies inside the steps' compute time, by the same clock


def _scheduled(context: BundleContext) -> Violations:
    """Check the schedule itself, and what the log counted against it."""
    planned, event = context.request.recomputation, context.log.first(EVENT)
    if planned is None:
        if event is not None:
            yield Violation(
                "log.txt",
                f"no event {EVENT}, because the request has no memory budget",
                f"the event {EVENT} with the value {event.value!r}",
                event.line,
            )
        return
    problem = schedule_problem(planned)
    if problem is not None:
        yield Violation(
            RUN,
            "a schedule that runs every block backward once, last to first, and reads only"
            " activations that it kept",
            problem,
            fix=KEPT_AS_WRITTEN,
        )
        return
    if event is None:
        yield Violation(
            "log.txt",
            f"the event {EVENT}, because the request has a memory budget",
            "no such event",
        )
        return
    counted = event.value if isinstance(event.value, dict) else {}
    yield from _passes(planned, counted, len(context.steps), event.line)
    yield from _spilled(context, planned, counted.get("spilled_bytes"), event.line)
    yield from _times(context, counted, event.line)


def _passes(planned: Recomputation, counted: dict[str, Any], steps: int, line: int) -> Violations:
    """Check the passes of blocks and the repeated operations that the log counted in all steps."""
    forwards = sum(action in FORWARD for action, *_ in planned.actions)
    again = sum(len(positions) for _, _, *left_out in planned.actions for positions in left_out)
    expected = {
        "blocks": len(planned.blocks),
        "forwards": forwards * steps,
        "backwards": len(planned.blocks) * steps,
        "operations_again": again * steps,
    }
    for name, value in expected.items():
        if counted.get(name, 0) != value:
            yield Violation(
                "log.txt",
                f"{name} = {value}: the model has {len(planned.blocks)} blocks; each of the {steps}"
                f" steps makes {forwards} forward and {len(planned.blocks)} backward passes of"
                f" blocks, and repeats {again} operation{'s' * (again != 1)}",
                f"{name} = {counted.get(name)!r}",
                line,
            )


def _spilled(
    context: BundleContext, planned: Recomputation, spilled: object, line: int
) -> Violations:
    """Check that the log counts what the schedule writes to storage: by samples, as the last
    mini-batch of an epoch may be smaller."""
    spills = any(action == "spill" for action, *_ in planned.actions)
    if spills != (planned.spill_folder is not None) or spills != (planned.planned_spill_bytes > 0):
        found = (
            f"spill_folder = {planned.spill_folder!r}, planned_spill_bytes ="
            f" {planned.planned_spill_bytes}"
        )
        yield Violation(
            RUN,
            "a spill_folder, and planned_spill_bytes above 0, because the schedule spills blocks"
            if spills
            else "no spill_folder and planned_spill_bytes = 0, as the schedule spills no block",
            found[:200],
            fix=KEPT_AS_WRITTEN,
        )
        return
    expected = (
        planned.planned_spill_bytes
        * float(context.steps.samples.sum())
        / context.request.global_batch_size
    )
    if type(spilled) is not int or abs(spilled - expected) > MAX_DEVIATION * expected:
        yield Violation(
            "log.txt",
            f"spilled_bytes within {MAX_DEVIATION:.0%} of {expected:.0f}, the sum over all steps:"
            f" the schedule writes {planned.planned_spill_bytes} bytes per full mini-batch",
            f"spilled_bytes = {spilled!r}",
            line,
        )


def _times(context: BundleContext, counted: dict[str, Any], line: int) -> Violations:
    """Check that blocks that ran again, and storage, took part of the passes' time, and the passes
    part of the steps'."""
    passes_s = counted.get("passes_s")
    again_s = counted.get("again_s")
    storage_s = counted.get("storage_s", 0)
    if passes_s is None and again_s is None and context.request.accelerator != "cpu":
        return
    compute_s = context.steps.sum_s("compute_s")
    extra_s = (
        again_s + storage_s
        if is_number(again_s) and is_number(storage_s) and min(again_s, storage_s) >= 0
        else None
    )
    if extra_s is None or not is_number(passes_s) or not extra_s <= passes_s <= CLOCKS * compute_s:
        found = f"again_s = {again_s!r}, storage_s = {storage_s!r}, passes_s = {passes_s!r}"
        yield Violation(
            "log.txt",
            "again_s and storage_s of 0 s or more, and again_s + storage_s <= passes_s <="
            f" {compute_s:.6g} s, the compute time of all steps (1% more is tolerated)",
            found[:200],
            line,
        )


def schedule_problem(planned: Recomputation) -> str | None:
    """What is wrong with a schedule; None if every block runs backward once, last to first, from
    what was kept."""
    count = len(planned.blocks)
    kept: set[int] = set()
    spilled: set[int] = set()
    inputs, at, done = {0}, 0, count
    for action, block, *left_out in planned.actions:
        if not 0 <= block < count:
            return f"an action on block {block}, but the blocks are 0 to {count - 1}"
        first, last = planned.blocks[block]
        if left_out and (
            action != "keep" or not all(first <= position < last for position in left_out[0])
        ):
            return (
                f"the action {action[:20]!r} of block {block} lists outputs that are not kept; only"
                " 'keep' may have such a list, of outputs of its own block without the last one"
            )
        if action == "restore" and block in inputs:
            at = block
        elif action == "spill" and block in kept - spilled and block == at - 1 < count - 1:
            spilled.add(block)
        elif action == "fetch" and block in spilled and block == done - 1:
            spilled.discard(block)
        elif action == "backward" and block in kept - spilled and block == done - 1:
            done, at = block, -1
            kept.discard(block)
            inputs.discard(block)
        elif action in FORWARD and block == at:
            at = block + 1
            inputs |= set() if action == "skip" else {block}
            kept |= {block} if action == "keep" else set()
        else:
            return (
                f"the action {action[:20]!r} of block {block}, which is unknown, out of order, or"
                " reads activations that were not kept"
            )
    if not count:
        return "no blocks"
    return None if done == 0 else f"no backward pass of block {done - 1}"


def _check_measured_peak(context: BundleContext) -> Violations:
    """Report a measured peak that is above the budget, or far from the plan."""
    planned, event = context.request.recomputation, context.log.first("peak_rss_of_ranks")
    if planned is None:
        return
    peak = _first_number(event.value if event is not None else None)
    if event is None or peak is None:
        yield Violation(
            "log.txt",
            "the event peak_rss_of_ranks with a number, to compare with the planned"
            f" {planned.planned_bytes} bytes",
            "no such event" if event is None else f"the value {event.value!r}",
            fix=TRAINING_LOOP,
        )
        return
    if peak > planned.budget_bytes:
        yield Violation(
            "log.txt",
            f"a peak memory of at most {planned.budget_bytes} bytes, the memory budget",
            f"a peak memory of {peak:.0f} bytes",
            event.line,
            fix="give a larger --memory-budget or a smaller --batch-size; `suite memory framework`"
            " measures the memory that the framework itself needs",
        )
    if abs(peak / planned.planned_bytes - 1) > MAX_DEVIATION:
        yield Violation(
            "log.txt",
            f"a peak memory within {MAX_DEVIATION:.0%} of the planned {planned.planned_bytes}"
            " bytes",
            f"a peak memory of {peak:.0f} bytes ({peak / planned.planned_bytes - 1:+.1%})",
            event.line,
        )


def _first_number(peaks: Any) -> float | None:
    value = peaks[0] if isinstance(peaks, Sequence) and peaks else None
    return float(value) if is_number(value) else None


RULES = (
    Rule(
        "recomputation-followed",
        "A run with a memory budget has a recomputation schedule that can be carried out: every"
        " block runs backward once, last to first, and reads only activations that were kept. The"
        " log counts what this schedule does in all steps: forward and backward passes of blocks,"
        " repeated operations, and bytes written to storage (within 10 %). Repeated passes and"
        " storage together take no longer than all passes, and all passes no longer than the"
        " steps' compute time (1 % more is tolerated). A run without a memory budget logs no"
        " recomputation.",
        "Recomputation changes no mathematics and is allowed in the closed division. The schedule"
        " is part of the entry, so the run must have followed it. If a run followed another"
        " schedule, its counts or times differ.",
        TRAINING_LOOP,
        (OfBundle("recomputation-followed", _scheduled),),
    ),
    Rule(
        "memory-as-planned",
        "The peak resident memory of a run with a memory budget is at most this budget. It differs"
        " from the planned peak by at most 10 % of the planned peak.",
        "A memory budget claims that a board with this much memory can train the model. If the"
        " plan is far from the measured peak, it was made for another framework or another"
        " allocator.",
        "measure the framework's own memory with `suite memory framework`, then run again",
        (OfBundle("memory-as-planned", _check_measured_peak, severity=Severity.WARNING),),
    ),
)
