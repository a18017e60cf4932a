"""`suite list workloads|devices|frameworks|data-sets|studies|figures|rounds|rules`."""

from collections.abc import Mapping, Sequence

import typer

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
from suite.launch.environments import find_environment
from suite.machine.identify import identify

app = typer.Typer(no_args_is_help=True)


@app.command()
def workloads(json: Json = False) -> None:
    """List workloads: model, data set and target; one without a target is a characterisation, whose
    results have no rank."""
    fields = (
        "name",
        "title",
        "target_accuracy",
        "epochs",
        "batch_size",
        "parameters",
        "data",
        "model",
        "is_characterisation",
        "why_not_ranked",
    )
    rows = [
        {name.removeprefix("is_"): getattr(workload, name) for name in fields}
        for workload in load_workloads()
    ]
    _show("workloads", rows, json)


@app.command()
def devices(json: Json = False) -> None:
    """List device profiles; the one that `--device auto` chooses here is marked."""
    here = identify().device.name
    rows = [
        {
            "name": device.name,
            "title": device.title,
            "this_machine": device.name == here,
            "closed_workloads": device.closed_workloads,
            "power_modes": tuple(mode.name for mode in device.power_modes),
            "gpu": device.gpu and device.gpu.architecture,
            "cpu": device.cpu and device.cpu.architecture,
        }
        for device in load_devices()
    ]
    _show("devices", rows, json)


@app.command()
def frameworks(json: Json = False) -> None:
    """List frameworks, the Python of each one's environment, and what is missing."""
    rows = []
    for framework in load_frameworks():
        row = {"name": framework.name, "title": framework.title}
        try:
            rows.append(
                {**row, "missing": None, "interpreter": find_environment(framework).interpreter}
            )
        except SuiteError as error:
            rows.append({**row, "missing": str(error), "interpreter": None})
    _show("frameworks", rows, json)


@app.command(name="data-sets")
def data_sets(json: Json = False) -> None:
    """List data sets for `suite data prepare`: layout and numbers of samples."""
    columns = ("name", "title", "train_samples", "eval_samples", "layout")
    rows = [{name: getattr(each, name) for name in columns} for each in load_data_sets()]
    _show("data-sets", rows, json)


@app.command()
def studies(json: Json = False) -> None:
    """List studies for `suite sweep`: the setting that each varies, and its values."""
    linpack = load_linpack()
    rows: list[dict[str, object]] = [
        {
            "name": study.name,
            "title": study.title,
            "varies": study.variable.value,
            "values": study.values,
            "repetitions": study.repetitions,
        }
        for study in load_studies()
    ]
    of_linpack = {"values": tuple(map(str, linpack.nodes)), "repetitions": linpack.repetitions}
    rows.append({"name": LINPACK, "title": linpack.title, "varies": "nodes", **of_linpack})
    _show("studies", rows, json)


@app.command()
def figures(json: Json = False) -> None:
    """List figures for `suite figure`: the paper that each follows, its number there, and what it
    needs."""
    columns = ("needs", "paper", "number")
    plain = {name: also for also, name in PLAIN.items()}
    rows = [
        {
            "name": one.name,
            "title": one.title,
            "also": plain.get(one.name),
            **{name: getattr(one, name) for name in columns},
        }
        for one in PRESETS
    ]
    _show("figures", rows, json)


@app.command()
def rounds(json: Json = False) -> None:
    """List rounds: the versions of the suite and the workloads of each, and the date on which it
    was closed."""
    rows = [
        {
            "name": each.name,
            "title": each.title,
            "closed": each.closed,
            "workloads": tuple(workload.name for workload in each.workloads),
            "suite_versions": each.suite_versions,
            "rules": len(rules_of(each, of_extensions=True)),
        }
        for each in load_rounds()
    ]
    _show("rounds", rows, json)


@app.command()
def rules(json: Json = False) -> None:
    """List the rules that the checker applies; see also `suite explain RULE`."""
    rows = [
        {
            "id": rule.id,
            "rule": rule.sentence,
            "severity": " and ".join(each.value for each in rule.severities),
        }
        for rule in all_rules()
    ]
    _show("rules", rows, json)


def _show(what: str, rows: Sequence[Mapping[str, object]], json: bool) -> None:
    """Print rows of plain values, which have the same keys: as JSON objects, or as a table."""
    if json:
        print_rows(f"list-{what}", rows)
        return
    show_table(
        [
            {name.replace("_", " "): _as_text(name, value) for name, value in row.items()}
            for row in rows
        ]
    )


def _as_text(column: str, value: object) -> str:
    if value is None or value is False:
        return ""
    if value is True:
        return "yes"
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:.1%}" if column == "target_accuracy" else str(value)
