"""`make outsider`: which of the lies that an outsider wrote the checker refuses, and which honest variations it refuses."""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from reporter.data.workers import map_tasks
from suite.errors import SuiteError
from tests.outsider.lies import ALL
from tests.outsider.trial import COLUMNS, HONEST_CLASS, NOT_APPLIED, REFUSED, UNREADABLE, Outcome, entries, try_out

LEVELS = ("error", "edited record", "fabricated run")
PROGRESS_S = 5.0
MIN_TRIED = 20  # before them the samples are made: no basis for an estimate


def classes(number: int | None) -> list[str]:
    """The classes to be tried: all, or the one whose name begins with this number."""
    chosen = [name for name in entries() if number is None or name.split()[0] == str(number)]
    if not chosen:
        raise SuiteError(f"there is no class {number}; there are 1 to {len(ALL)}")
    return chosen


def try_all(chosen: Sequence[str], show: Callable[[str], None]) -> list[Outcome]:
    """Outcomes of all entries of these classes, on every core; a line of progress every few seconds."""
    tasks = [(name, number) for name in chosen for number in range(len(entries()[name]))]
    outcomes: list[Outcome] = []
    started_s = shown_s = time.monotonic()
    for outcome in map_tasks(try_out, tasks):
        outcomes.append(outcome)
        now_s = time.monotonic()
        if now_s - shown_s > PROGRESS_S and len(outcomes) >= MIN_TRIED:
            shown_s, left_s = now_s, (now_s - started_s) * (len(tasks) - len(outcomes)) / len(outcomes)
            show(f"{len(outcomes)} of {len(tasks)} tried, about {left_s:.0f} s left")
    return outcomes


def table(outcomes: Sequence[Outcome]) -> str:
    """Class x level in the columns, as a table of Markdown."""
    lies = [outcome for outcome in outcomes if outcome.class_name != HONEST_CLASS]
    lines = [_row("class", "level", "lies", *COLUMNS), _row(*["---"] * (3 + len(COLUMNS)))]
    for class_name in dict.fromkeys(outcome.class_name for outcome in lies):
        for level in LEVELS:
            lines += _counted(class_name, level, [outcome for outcome in lies if (outcome.class_name, outcome.level) == (class_name, level)])
    for level in LEVELS:
        lines += _counted("all", level, [outcome for outcome in lies if outcome.level == level])
    lines += _counted("all", "all", lies)
    return "\n".join(lines)


def _counted(class_name: str, level: str, outcomes: Sequence[Outcome]) -> list[str]:
    counts = Counter(outcome.column for outcome in outcomes)
    return [_row(class_name, level, len(outcomes), *(counts[column] for column in COLUMNS))] if outcomes else []


def _row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def report(outcomes: Sequence[Outcome]) -> str:
    """The table, the lies that could not be applied, and the honest variations that were refused, each with its rules."""
    honest = [outcome for outcome in outcomes if outcome.class_name == HONEST_CLASS]
    wrongly = [outcome for outcome in honest if outcome.column in (REFUSED, UNREADABLE)]
    parts = [table(outcomes)] if len(honest) < len(outcomes) else []
    parts += [f"{NOT_APPLIED}: {outcome.name}: {outcome.message}" for outcome in outcomes if outcome.column == NOT_APPLIED]
    if honest:
        parts.append(f"honest variations refused: {len(wrongly)} of {len(honest)}")
        parts += [f"  {outcome.name}: {', '.join(outcome.rules) or outcome.message}" for outcome in wrongly]
    return "\n".join(parts)


def main() -> int:
    """Try the lies and the honest variations, print the table; always 0: this measures the checker, it does not judge it."""
    parser = argparse.ArgumentParser(prog="python -m tests.outsider.score", description=__doc__)
    parser.add_argument("--class", type=int, dest="number", metavar="N", help=f"only this class, 1 to {len(ALL)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every outcome, with the rules that fired, to this file")
    options = parser.parse_args()
    outcomes = try_all(classes(options.number), lambda line: print(line, file=sys.stderr, flush=True))
    if options.json:
        options.json.write_text(json.dumps([asdict(outcome) for outcome in outcomes], indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(report(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
