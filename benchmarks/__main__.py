"""Runs every benchmark, or those named, and writes their ratios to one page.

A full run of all benchmarks writes docs/benchmarks.md and docs/benchmarks.json. Named benchmarks
and ``--quick`` write to build/, so that they never replace the results of a full run. Each
benchmark runs in its own process: one that fails, or lacks something, is reported on the page and
the next one starts. The page is written after each benchmark, so Ctrl-C keeps what was measured.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from benchmarks.runner.benchmark import Benchmark
from benchmarks.runner.command_line import result_text
from benchmarks.runner.discovery import discover
from benchmarks.runner.page import duration_text, render
from benchmarks.runner.process import run_benchmark
from benchmarks.runner.record import (
    JSON_NAME,
    PAGE_NAME,
    SCHEMA,
    Entry,
    Outcome,
    Record,
    this_commit,
    this_machine,
)
from suite.errors import SuiteError
from suite.files.json_file import write_json
from suite.files.paths import repository_root


def main() -> int:
    """Exit code 0, 1 when a benchmark failed, 2 for a wrong command line, 130 after Ctrl-C."""
    arguments = parse()
    try:
        benchmarks = chosen(arguments.names)
    except SuiteError as error:
        say(f"error: {error}")
        return 2
    if arguments.list:
        print("\n".join(f"{name}: {benchmark.question}" for name, benchmark in benchmarks.items()))
        return 0
    is_full = not arguments.quick and not arguments.names
    folder = arguments.output or repository_root() / ("docs" if is_full else "build")
    record = run_all(benchmarks, arguments.quick, folder)
    say(f"written: {folder / PAGE_NAME}")
    outcomes = {entry.outcome for entry in record.entries}
    return 130 if Outcome.INTERRUPTED in outcomes else int(Outcome.FAILED in outcomes)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help="benchmarks to run (default: all)")
    parser.add_argument(
        "--quick", action="store_true", help="few short measurements of everything: a smoke test"
    )
    parser.add_argument("--list", action="store_true", help="list the benchmarks and end")
    parser.add_argument("--output", type=Path, help=f"the folder for {PAGE_NAME} and {JSON_NAME}")
    return parser.parse_args()


def chosen(names: Sequence[str]) -> dict[str, Benchmark]:
    """The benchmarks of these names, all for none; raises SuiteError for an unknown name."""
    found = discover()
    unknown = [name for name in names if name not in found]
    if unknown:
        raise SuiteError(
            f"There is no benchmark {unknown[0]!r}; the benchmarks are {', '.join(found)}."
        )
    return {name: found[name] for name in names or found}


def run_all(benchmarks: dict[str, Benchmark], is_quick: bool, folder: Path) -> Record:
    """Run them one after the other, and write record and page after each."""
    entries = {
        name: Entry(name, benchmark.question, Outcome.NOT_RUN)
        for name, benchmark in benchmarks.items()
    }
    started = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    record = Record(
        SCHEMA, is_quick, started, 0.0, this_commit(), this_machine(), tuple(entries.values())
    )
    progress = Progress(
        {
            name: benchmark.quick_s if is_quick else benchmark.full_s
            for name, benchmark in benchmarks.items()
        }
    )
    for name in benchmarks:
        progress.begin(name)
        entries[name] = run_benchmark(
            entries[name], is_quick, lambda result: say(f"  {result_text(result)}")
        )
        progress.end(entries[name])
        record = replace(
            record, taken_s=round(progress.taken_s, 1), entries=tuple(entries.values())
        )
        write(record, folder)
        if entries[name].outcome is Outcome.INTERRUPTED:
            break
    return record


class Progress:
    """Prints which benchmark runs, and how long the rest will take: the expected times, scaled by
    how this machine did so far."""

    def __init__(self, expected_s: dict[str, float]) -> None:
        self._expected_s, self._begun, self._start_s = expected_s, 0, time.monotonic()

    @property
    def taken_s(self) -> float:
        """Seconds since the first benchmark began."""
        return time.monotonic() - self._start_s

    def begin(self, name: str) -> None:
        """A benchmark begins."""
        expected_s = list(self._expected_s.values())
        done_s = sum(expected_s[: self._begun])
        pace = self.taken_s / done_s if done_s else 1.0
        self._begun += 1
        left = duration_text(pace * (sum(expected_s) - done_s))
        say(
            f"[{self._begun}/{len(expected_s)}] {name}: about"
            f" {duration_text(pace * self._expected_s[name])}; all that is left: about {left}"
        )

    def end(self, entry: Entry) -> None:
        """A benchmark ended."""
        say(
            f"  {entry.outcome.value} after"
            f" {duration_text(entry.taken_s)}{': ' + entry.reason if entry.reason else ''}"
        )


def say(text: str) -> None:
    """Progress goes to standard error."""
    print(text, file=sys.stderr, flush=True)


def write(record: Record, folder: Path) -> None:
    """The record and the page rendered from it."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / JSON_NAME, record)
    (folder / PAGE_NAME).write_text(render(record), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
