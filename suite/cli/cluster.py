"""`suite cluster doctor`: checks whether hosts can train together."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from suite.catalog.data_sets import load_data_sets
from suite.catalog.frameworks import load_framework, load_frameworks
from suite.cli.completion import framework_names
from suite.cli.json_output import print_json
from suite.cli.options import AGENT_HELP, Json
from suite.cluster.doctor import Examination, examine_cluster
from suite.cluster.links import LinkMeasure
from suite.cluster.node_answers import fit_hosts
from suite.datasets import locate
from suite.errors import SuiteError
from suite.launch.environments import Environment, find_environment
from suite.launch.placement import place_ranks
from suite.launch.slurm import SRUN

NOT_FIT = 1

app = typer.Typer(no_args_is_help=True)


@app.command()
def doctor(
    framework: Annotated[
        str | None,
        Option(
            autocompletion=framework_names,
            help="Framework whose environment is checked (default: the first that has one).",
        ),
    ] = None,
    data: Annotated[
        str | None,
        Option(help="Data set name or folder to compare (default: every prepared data set)."),
    ] = None,
    nodes: Annotated[
        int | None, Option(help="Check the first N hosts (default: all of them).")
    ] = None,
    hostfile: Annotated[
        Path | None,
        Option(
            help="File of hosts, one per line (default with --launch-agent srun: the hosts of the"
            " Slurm allocation)."
        ),
    ] = None,
    launch_agent: Annotated[str | None, Option(help=AGENT_HELP)] = None,
    json: Json = False,
) -> None:
    """Check whether hosts can train together: reachability, suite, packages, data, clocks, MPI and
    links."""
    if hostfile is None and launch_agent != SRUN:
        raise SuiteError(
            "No hosts to check were named; name them with --hostfile FILE, or use --launch-agent "
            "srun within a Slurm allocation."
        )
    placement = place_ranks(nodes, hostfile, None, launch_agent)
    found = examine_cluster(placement, _environment(framework), _folders(data))
    if json:
        print_json("cluster-doctor", vars(found))
    else:
        _show(found)
    if found.problems:
        raise typer.Exit(NOT_FIT)


def _environment(framework: str | None) -> Environment:
    """The environment of a framework, or the first that has been created."""
    if framework is not None:
        return find_environment(load_framework(framework))
    for each in load_frameworks():
        with suppress(SuiteError):
            if (found := find_environment(each)).packages:
                return found
    raise SuiteError("There is no environment", "create one with `suite env create FRAMEWORK`")


def _folders(data: str | None) -> tuple[Path, ...]:
    """Folders whose contents are compared between the hosts."""
    names = [definition.name for definition in load_data_sets()]
    if data is None:
        return tuple(
            locate.data_set_folder(name).absolute()
            for name in names
            if locate.data_set_folder(name).is_dir()
        )
    if data in names:
        return (locate.find_data_set(data, verify=False).directory.absolute(),)
    if not Path(data).is_dir():
        raise SuiteError(
            f"--data {data!r} is neither a data set ({', '.join(names)}) nor a folder that exists."
        )
    return (Path(data).resolve(),)


def _show(found: Examination) -> None:
    measured = {measure.rank: measure for measure in found.links.measures} if found.links else {}
    fit = fit_hosts(found.answers)
    for answer in found.answers:
        if answer.facts is None:
            print(
                f"{answer.host:16} no answer"
                if not answer.reached
                else f"{answer.host:16} not ready"
            )
            continue
        link, measure = (
            answer.facts.link,
            measured.get(fit.index(answer.host)) if answer.host in fit else None,
        )
        speed = (
            f"{link.speed_mbit_s} Mbit/s stated"
            if link.speed_mbit_s
            else f"speed unknown: {link.reason}"
        )
        print(
            f"{answer.host:16} {link.interface or 'no interface'} ({link.kind or 'kind unknown'},"
            f" {speed}){_link_text(measure)}"
        )
    for problem in found.problems:
        print(f"\n{problem.sentence}.\n  fix: {problem.remedy}.")
    if not found.problems:
        print(f"\nThese hosts can train together in {load_framework(found.framework).title}.")


def _link_text(measure: LinkMeasure | None) -> str:
    if measure is None:
        return ""
    trip, clock = (
        f"round trip {measure.round_trip_s * 1e3:.3g} ms, {_rate(measure.bandwidth_mbit_s)}",
        measure.wall_offset_ns * 1e-6,
    )
    return (
        f"; from the first node: {trip}, clock difference {clock:+.3g} ms ±"
        f" {measure.uncertainty_ns * 1e-6:.2g} ms"
    )


def _rate(mbit_s: float) -> str:
    return f"{mbit_s:.0f} Mbit/s" if mbit_s >= 100 else f"{mbit_s:.3g} Mbit/s"
