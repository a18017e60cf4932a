"""The command line of a single benchmark: an option for each field of its settings, and ``--quick``
and ``--json``."""

import argparse
import dataclasses
import json
import signal
import sys
import typing
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from benchmarks.runner.benchmark import Benchmark, Ratio, Skipped
from benchmarks.runner.page import absolute_text, ratio_text
from suite.errors import SuiteError

METAVARS = {int: "N", float: "X", str: "NAME", Path: "PATH"}


def run_alone(benchmark: Benchmark, description: str | None) -> None:
    """Measure with the settings of the command line, print each ratio as it is known, and end the
    process.

    With ``--json`` each line is an object: ``{"ratio": …}`` or ``{"skipped": …}``; the runner of
    all benchmarks reads these.
    """
    arguments = vars(parser_of(benchmark, description).parse_args())
    as_json, is_quick = arguments.pop("json"), arguments.pop("quick")
    settings = dataclasses.replace(benchmark.quick if is_quick else benchmark.full, **arguments)
    # so that temporary folders and child processes are cleared away
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        for found in _results(benchmark, settings):
            print(_as_json(found) if as_json else result_text(found), flush=True)
    except SuiteError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def _results(benchmark: Benchmark, settings: Any) -> Iterable[Ratio | Skipped]:
    missing = next(
        (reason for reason in (need() for need in benchmark.needs) if reason is not None), None
    )
    return [Skipped("everything", missing)] if missing is not None else benchmark.measure(settings)


def parser_of(benchmark: Benchmark, description: str | None) -> argparse.ArgumentParser:
    """The options of a benchmark."""
    parser = argparse.ArgumentParser(
        description=description or benchmark.question,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, hint in typing.get_type_hints(type(benchmark.full), include_extras=True).items():
        annotated, text = typing.get_args(hint)
        kind = next(
            (choice for choice in typing.get_args(annotated) if choice is not type(None)), annotated
        )
        default = getattr(benchmark.full, name)
        text += "" if default is None else f" (default: {default})"
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            default=argparse.SUPPRESS,
            help=text,
            type=kind,
            metavar=METAVARS[kind],
        )
    parser.add_argument("--quick", action="store_true", help="few short measurements: a smoke test")
    parser.add_argument("--json", action="store_true", help="print a JSON object per line")
    return parser


def _as_json(found: Ratio | Skipped) -> str:
    return json.dumps(
        {"ratio" if isinstance(found, Ratio) else "skipped": dataclasses.asdict(found)}
    )


def result_text(found: Ratio | Skipped) -> str:
    """A ratio or a skipped part in one line."""
    if isinstance(found, Skipped):
        return f"{found.subject}: skipped: {found.reason}"
    median, low, high = map(ratio_text, (found.median, found.low, found.high))
    sides = (
        f"{absolute_text(found.compared_value, found.unit)} /"
        f" {absolute_text(found.baseline_value, found.unit)}"
    )
    return (
        f"{found.subject}: {found.compared} / {found.baseline} = {median} ({found.spread} {low} to"
        f" {high}, {found.pairs} pairs; {sides})"
    )
