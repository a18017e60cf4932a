"""`suite list workloads|devices|frameworks|studies|rules`."""

import json as json_format
import sys
from collections.abc import Sequence

import typer

app = typer.Typer(no_args_is_help=True, help="Show what there is: workloads, devices, frameworks, studies, rules.")
AS_JSON = typer.Option(False, "--json", help="Print JSON.")


@app.command()
def workloads(json: bool = AS_JSON) -> None:
    """Workloads: model, data set and target."""
    from suite.catalog.workloads import load_workloads

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
def devices(json: bool = AS_JSON) -> None:
    """Device profiles; the one that `--device auto` takes here is marked."""
    from suite.catalog.devices import load_devices
    from suite.machine.identify import identify

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
def frameworks(json: bool = AS_JSON) -> None:
    """Frameworks, and whether each one's environment is there."""
    from suite.catalog.frameworks import load_frameworks
    from suite.errors import SuiteError
    from suite.launch.environments import find

    rows = []
    for framework in load_frameworks():
        try:
            state = str(find(framework).interpreter)
        except SuiteError as error:
            state = str(error)
        rows.append((framework.name, framework.title, state))
    _show(("name", "title", "environment"), rows, json)


@app.command()
def studies(json: bool = AS_JSON) -> None:
    """Studies that `suite sweep` makes: what each varies, over which values."""
    from suite.catalog.studies import load_studies

    rows = [(s.name, s.title, s.variable.value, ", ".join(s.values), s.repetitions) for s in load_studies()]
    _show(("name", "title", "varies", "values", "repetitions"), rows, json)


@app.command()
def rules(json: bool = AS_JSON) -> None:
    """Rules, as the checker applies them; `suite explain RULE` says more."""
    from suite.compliance.registry import ALL

    _show(("id", "severity", "rule"), [(rule.id, rule.severity.value, rule.sentence) for rule in ALL], json)


def _show(columns: Sequence[str], rows: Sequence[Sequence[object]], json: bool) -> None:
    if json:
        print(json_format.dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=1))
        return
    if not sys.stdout.isatty():
        for row in rows:
            print("\t".join(map(str, row)))
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(*columns)
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    Console().print(table)
