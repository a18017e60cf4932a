"""`suite list workloads|devices|frameworks|data-sets|studies|rules`."""

import json as json_format
import sys
from collections.abc import Sequence

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from suite.catalog.data_sets import load_data_sets
from suite.catalog.devices import load_devices
from suite.catalog.frameworks import load_frameworks
from suite.catalog.studies import load_studies
from suite.catalog.workloads import load_workloads
from suite.cli.options import Json
from suite.compliance.registry import ALL
from suite.errors import SuiteError
from suite.launch.environments import find
from suite.machine.identify import identify

app = typer.Typer(no_args_is_help=True, help="List workloads, devices, frameworks, data sets, studies or rules.")


@app.command()
def workloads(json: Json = False) -> None:
    """List workloads: model, data set and target."""
    rows = [
        (
            w.name,
            w.title,
            w.model,
            w.data,
            "none yet" if w.target_accuracy is None else f"{w.target_accuracy:.1%}",
            w.epochs,
            w.batch_size,
            f"{w.parameters:,}",
        )
        for w in load_workloads()
    ]
    _show(("name", "title", "model", "data", "target accuracy", "epochs", "batch size", "parameters"), rows, json)


@app.command()
def devices(json: Json = False) -> None:
    """List device profiles; the one that `--device auto` chooses here is marked."""
    here = identify().device.name
    rows = [
        (
            d.name,
            d.title,
            "this machine" if d.name == here else "",
            d.cpu.architecture if d.cpu else "",
            d.gpu.architecture if d.gpu else "",
            ", ".join(d.closed_workloads),
            ", ".join(mode.name for mode in d.power_modes),
        )
        for d in load_devices()
    ]
    _show(("name", "title", "here", "CPU", "GPU", "closed workloads", "power modes"), rows, json)


@app.command()
def frameworks(json: Json = False) -> None:
    """List frameworks and their environments."""
    rows = []
    for framework in load_frameworks():
        try:
            state = str(find(framework).interpreter)
        except SuiteError as error:
            state = str(error)
        rows.append((framework.name, framework.title, state))
    _show(("name", "title", "environment"), rows, json)


@app.command(name="data-sets")
def data_sets(json: Json = False) -> None:
    """List data sets for `suite data prepare`: layout and numbers of samples."""
    _show(
        ("name", "title", "layout", "train samples", "eval samples"),
        [(d.name, d.title, d.layout, d.train_samples, d.eval_samples) for d in load_data_sets()],
        json,
    )


@app.command()
def studies(json: Json = False) -> None:
    """List studies for `suite sweep`: the setting that each varies, and its values."""
    rows = [(s.name, s.title, s.variable.value, ", ".join(s.values), s.repetitions) for s in load_studies()]
    _show(("name", "title", "varies", "values", "repetitions"), rows, json)


@app.command()
def rules(json: Json = False) -> None:
    """List the rules that the checker applies; see also `suite explain RULE`."""
    _show(("id", "severity", "rule"), [(rule.id, rule.severity.value, rule.sentence) for rule in ALL], json)


def _show(columns: Sequence[str], rows: Sequence[Sequence[object]], json: bool) -> None:
    if json:
        print(json_format.dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=1))
        return
    if not sys.stdout.isatty():
        for row in rows:
            print("\t".join(map(str, row)))
        return
    table = Table(*columns)
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    Console().print(table)
