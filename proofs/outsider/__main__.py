"""Of an outsider's lies, how many the checker, an audit and a witness refuse; no honest variation
is refused: `make prove outsider`."""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from proofs.figures import hand_over
from proofs.forgeries.worker import persistent_workers
from proofs.outsider.edits import EDITED, ERROR, FABRICATED, Lie
from proofs.outsider.lies import ALL
from proofs.outsider.other_evidence import audit_verdict, witnessed_lie
from proofs.outsider.trial import (
    COLUMNS,
    HONEST_CLASS,
    NOT_APPLIED,
    REFUSED,
    UNREADABLE,
    Outcome,
    entries,
    lie_at,
    try_out,
    unsealed_lie,
)
from reporter.data.workers import map_tasks
from suite.errors import SuiteError
from suite.metrics.audit_record import AuditVerdict

LEVELS = (ERROR, EDITED, FABRICATED)
EVIDENCE = (
    "refused by `check`",
    "contradicted by an audit",
    "refused if witnessed before the edit",
    "by neither check nor audit",
    "by none of them",
)
PROGRESS_S = 5.0
MIN_TRIED = 20  # before them the samples are made: no basis for an estimate


def classes(number: int | None) -> list[str]:
    """The classes to be tried: all, or the one whose name begins with this number."""
    chosen = [name for name in entries() if number is None or name.split()[0] == str(number)]
    if not chosen:
        raise SuiteError(f"there is no class {number}; there are 1 to {len(ALL)}")
    return chosen


def try_all(chosen: Sequence[str], show: Callable[[str], None]) -> list[Outcome]:
    """Outcomes of all entries of these classes, on every core; a line of progress every few
    seconds."""
    tasks = [(name, number) for name in chosen for number in range(len(entries()[name]))]
    outcomes: list[Outcome] = []
    started_s = shown_s = time.monotonic()
    for outcome in map_tasks(try_out, tasks):
        outcomes.append(outcome)
        now_s = time.monotonic()
        if now_s - shown_s > PROGRESS_S and len(outcomes) >= MIN_TRIED:
            shown_s, left_s = (
                now_s,
                (now_s - started_s) * (len(tasks) - len(outcomes)) / len(outcomes),
            )
            show(f"{len(outcomes)} of {len(tasks)} tried, about {left_s:.0f} s left")
    return outcomes


def witness_all(chosen: Sequence[str]) -> dict[str, tuple[str, ...] | None]:
    """The witness's rules that refuse each edited record, by its name; None where there could be no
    witness."""
    return dict(map_tasks(witnessed_lie, places(chosen, (EDITED,))))


def audit_all(chosen: Sequence[str]) -> dict[str, str]:
    """What an audit says of each edited record and fabricated run, by its name."""
    lies = [lie_at(place) for place in places(chosen, (EDITED, FABRICATED))]
    with persistent_workers():
        return {lie.name: audit_verdict(lie) for lie in lies}


def unsealed_all(chosen: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The rules that refuse each lie that is not sealed again, by its name."""
    return {
        name: rules
        for name, rules in map_tasks(unsealed_lie, places(chosen, LEVELS))
        if rules is not None
    }


def unsealed_report(unsealed: Mapping[str, Sequence[str]]) -> str:
    """How many lies are refused that are not sealed again, and the others by name."""
    accepted = [name for name, rules in unsealed.items() if not rules]
    count = (
        f"not sealed again, {len(unsealed)} lies that change a sealed file:"
        f" {len(unsealed) - len(accepted)} refused"
    )
    return "\n".join([count, *(f"  accepted: {name}" for name in accepted)])


def places(chosen: Sequence[str], levels: Sequence[str]) -> list[tuple[str, int]]:
    """Class and number of the lies of these levels: what another process finds a lie by, whose
    change cannot be sent to it."""
    listed = (
        (name, number, entry) for name in chosen for number, entry in enumerate(entries()[name])
    )
    return [
        (name, number)
        for name, number, entry in listed
        if isinstance(entry, Lie) and entry.level in levels
    ]


def evidence_table(
    outcomes: Sequence[Outcome],
    audits: Mapping[str, str],
    witnessed: Mapping[str, tuple[str, ...] | None],
) -> str:
    """For edited records and fabricated runs: found by the checker, by an audit, by a witness's
    record, and by none of them."""
    lines = [_row("class", "level", "lies", *EVIDENCE), _row(*["---"] * (3 + len(EVIDENCE)))]
    lies = [outcome for outcome in outcomes if outcome.name in audits]
    for class_name in [*dict.fromkeys(outcome.class_name for outcome in lies), "all"]:
        for level in (EDITED, FABRICATED):
            chosen = [
                outcome
                for outcome in lies
                if outcome.level == level and class_name in (outcome.class_name, "all")
            ]
            if chosen:
                lines.append(
                    _row(class_name, level, len(chosen), *_evidence(chosen, audits, witnessed))
                )
    return "\n".join(lines)


def _evidence(
    lies: Sequence[Outcome],
    audits: Mapping[str, str],
    witnessed: Mapping[str, tuple[str, ...] | None],
) -> Iterator[str | int]:
    refused = {lie.name for lie in lies if lie.column in (REFUSED, UNREADABLE)}
    replayed = {
        lie.name for lie in lies if audits[lie.name] in {verdict.value for verdict in AuditVerdict}
    }
    contradicted = {name for name in replayed if audits[name] == AuditVerdict.CONTRADICTS.value}
    seen = {lie.name for lie in lies if witnessed.get(lie.name) is not None}
    by_witness = {name for name in seen if witnessed[name]}
    yield len(refused)
    yield f"{len(contradicted)} of {len(replayed)}"
    yield f"{len(by_witness)} of {len(seen)}" if seen else "—"
    yield len(lies) - len(refused | contradicted)
    yield len(lies) - len(refused | contradicted | by_witness)


def table(outcomes: Sequence[Outcome]) -> str:
    """Class x level in the columns, as a table of Markdown."""
    lies = [outcome for outcome in outcomes if outcome.class_name != HONEST_CLASS]
    lines = [_row("class", "level", "lies", *COLUMNS), _row(*["---"] * (3 + len(COLUMNS)))]
    for class_name in dict.fromkeys(outcome.class_name for outcome in lies):
        for level in LEVELS:
            lines += _outcome_counts(
                class_name,
                level,
                [
                    outcome
                    for outcome in lies
                    if (outcome.class_name, outcome.level) == (class_name, level)
                ],
            )
    for level in LEVELS:
        lines += _outcome_counts(
            "all", level, [outcome for outcome in lies if outcome.level == level]
        )
    lines += _outcome_counts("all", "all", lies)
    return "\n".join(lines)


def _outcome_counts(class_name: str, level: str, outcomes: Sequence[Outcome]) -> list[str]:
    counts = Counter(outcome.column for outcome in outcomes)
    return (
        [_row(class_name, level, len(outcomes), *(counts[column] for column in COLUMNS))]
        if outcomes
        else []
    )


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def report(outcomes: Sequence[Outcome]) -> str:
    """The table, the lies that could not be applied, and the honest variations that were refused,
    each with its rules."""
    honest = [outcome for outcome in outcomes if outcome.class_name == HONEST_CLASS]
    wrongly = [outcome for outcome in honest if outcome.column in (REFUSED, UNREADABLE)]
    parts = [table(outcomes)] if len(honest) < len(outcomes) else []
    parts += [
        f"{NOT_APPLIED}: {outcome.name}: {outcome.message}"
        for outcome in outcomes
        if outcome.column == NOT_APPLIED
    ]
    if honest:
        parts.append(f"honest variations refused: {len(wrongly)} of {len(honest)}")
        parts += [
            f"  {outcome.name}: {', '.join(outcome.rules) or outcome.message}"
            for outcome in wrongly
        ]
    return "\n".join(parts)


def main() -> int:
    """Try the lies and the honest variations, print the table; 1: an honest variation is refused.
    How many lies are accepted is measured only."""
    parser = argparse.ArgumentParser(prog="python -m proofs.outsider", description=__doc__)
    parser.add_argument(
        "--class", type=int, dest="number", metavar="N", help=f"only this class, 1 to {len(ALL)}"
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write every outcome, with the rules that fired, to this file",
    )
    options = parser.parse_args()
    outcomes = try_all(
        classes(options.number), lambda line: print(line, file=sys.stderr, flush=True)
    )
    if options.json:
        options.json.write_text(
            json.dumps([asdict(outcome) for outcome in outcomes], indent=1, ensure_ascii=False)
            + "\n",
            encoding="utf-8",
        )
    print(report(outcomes), flush=True)
    chosen = [name for name in classes(options.number) if name != HONEST_CLASS]
    print("\n" + unsealed_report(unsealed_all(chosen)))
    print("\n" + evidence_table(outcomes, audit_all(chosen), witness_all(chosen)))
    lies, honest = (
        [one for one in outcomes if (one.class_name == HONEST_CLASS) is is_honest]
        for is_honest in (False, True)
    )
    found, wrongly = (
        sum(one.column in (REFUSED, UNREADABLE) for one in group) for group in (lies, honest)
    )
    hand_over(
        lies=len(lies),
        lies_refused=found,
        honest_variations=len(honest),
        honest_variations_refused=wrongly,
    )
    return int(wrongly > 0)


if __name__ == "__main__":
    sys.exit(main())
