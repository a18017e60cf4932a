"""`suite list workloads|devices|frameworks|data-sets|studies|figures|rounds|rules`."""

from collections.abc import Iterable, Sequence

import typer
from rich.markup import escape
from rich.table import Column, Table

from reporter.papers.presets import PLAIN, PRESETS
from suite.catalog.data_sets import load_data_sets
from suite.catalog.devices import load_devices
from suite.catalog.frameworks import load_frameworks
from suite.catalog.linpack_definition import NAME as LINPACK
from suite.catalog.linpack_definition import load_linpack
from suite.catalog.rounds import load_rounds
from suite.catalog.study_definitions import load_studies
from suite.catalog.workloads import load_workloads
from suite.cli.json_output import print_rows
from suite.cli.options import Json
from suite.cli.tables import show_table
from suite.compliance.registry import all_rules, rules_of
from suite.errors import SuiteError
from suite.launch.environments import find
from suite.machine.identify import identify

app = typer.Typer(no_args_is_help=True)


@app.command()
def workloads(json: Json = False) -> None:
    """List workloads: model, data set and target; one without a target is a characterisation, whose
    results have no rank."""
    fields = (
        "name",
        "title",
        "model",
        "data",
        "target_accuracy",
        "is_characterisation",
        "epochs",
        "batch_size",
        "parameters",
    )
    columns = tuple(name.removeprefix("is_") for name in fields)
    _show(
        "workloads",
        columns,
        [tuple(getattr(workload, name) for name in fields) for workload in load_workloads()],
        json,
    )


@app.command()
def devices(json: Json = False) -> None:
    """List device profiles; the one that `--device auto` chooses here is marked."""
    here = identify().device.name
    rows = [
        (
            device.name,
            device.title,
            device.name == here,
            device.cpu and device.cpu.architecture,
            device.gpu and device.gpu.architecture,
            device.closed_workloads,
            tuple(mode.name for mode in device.power_modes),
        )
        for device in load_devices()
    ]
    _show(
        "devices",
        ("name", "title", "this_machine", "cpu", "gpu", "closed_workloads", "power_modes"),
        rows,
        json,
    )


@app.command()
def frameworks(json: Json = False) -> None:
    """List frameworks, the Python of each one's environment, and what is missing."""
    rows: list[tuple[object, ...]] = []
    for framework in load_frameworks():
        try:
            rows.append((framework.name, framework.title, find(framework).interpreter, None))
        except SuiteError as error:
            rows.append((framework.name, framework.title, None, str(error)))
    _show("frameworks", ("name", "title", "interpreter", "missing"), rows, json)


@app.command(name="data-sets")
def data_sets(json: Json = False) -> None:
    """List data sets for `suite data prepare`: layout and numbers of samples."""
    columns = ("name", "title", "layout", "train_samples", "eval_samples")
    _show(
        "data-sets",
        columns,
        [tuple(getattr(data_set, name) for name in columns) for data_set in load_data_sets()],
        json,
    )


@app.command()
def studies(json: Json = False) -> None:
    """List studies for `suite sweep`: the setting that each varies, and its values."""
    rows = [
        (study.name, study.title, study.variable.value, study.values, study.repetitions)
        for study in load_studies()
    ]
    linpack = load_linpack()
    rows.append(
        (LINPACK, linpack.title, "nodes", tuple(map(str, linpack.nodes)), linpack.repetitions)
    )
    _show("studies", ("name", "title", "varies", "values", "repetitions"), rows, json)


@app.command()
def figures(json: Json = False) -> None:
    """List figures for `suite figure`: the study and number that each follows, and what it
    needs."""
    show_figures(json)


def show_figures(json: bool) -> None:
    """Print the figures of `suite figure`."""
    columns = ("name", "study", "number", "title", "needs")
    plain = {name: also for also, name in PLAIN.items()}
    rows = [(*(getattr(one, name) for name in columns), plain.get(one.name)) for one in PRESETS]
    _show("figures", (*columns, "also"), rows, json)


@app.command()
def rounds(json: Json = False) -> None:
    """List rounds: the versions of the suite and the workloads of each, and the date on which it
    was closed."""
    rows = [
        (
            each.name,
            each.title,
            each.suite_versions,
            tuple(workload.name for workload in each.workloads),
            each.closed,
            len(rules_of(each, of_extensions=True)),
        )
        for each in load_rounds()
    ]
    _show("rounds", ("name", "title", "suite_versions", "workloads", "closed", "rules"), rows, json)


@app.command()
def rules(json: Json = False) -> None:
    """List the rules that the checker applies; see also `suite explain RULE`."""
    _show(
        "rules",
        ("id", "severity", "rule"),
        [
            (rule.id, " and ".join(each.value for each in rule.severities), rule.sentence)
            for rule in all_rules()
        ],
        json,
    )


def _show(what: str, columns: Sequence[str], rows: Iterable[Sequence[object]], json: bool) -> None:
    """Print rows of plain values: as JSON objects, or as a table."""
    if json:
        print_rows(f"list-{what}", [dict(zip(columns, row, strict=True)) for row in rows])
        return
    cells = [
        [_as_text(name, value) for name, value in zip(columns, row, strict=True)] for row in rows
    ]
    first, *others = (name.replace("_", " ") for name in columns)
    # what is typed is whole, however narrow the terminal
    table = Table(Column(first, no_wrap=True), *others)
    for row in cells:
        table.add_row(*map(escape, row))
    show_table(table)


def _as_text(column: str, value: object) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return "yes"
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:.1%}" if column == "target_accuracy" else str(value)
