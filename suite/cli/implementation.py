"""`suite implementation new|test`."""

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from suite.cli.json_output import print_json, print_rows
from suite.cli.options import Json
from suite.errors import SuiteError
from suite.experiments.conformance.examples import Language, copy_example
from suite.files.shell_command import shell_command

NOT_CONFORMANT = 1
MARKS = {True: "pass", False: "FAIL", None: "not tested"}

app = typer.Typer(no_args_is_help=True)


@app.command()
def new(
    name: Annotated[str, Argument(help="Name of the implementation, in lower case.")],
    language: Annotated[Language, Option(help="Language of the example to start from.")],
    output: Annotated[Path, Option(help="Parent of the new folder.")] = Path(),
    json: Json = False,
) -> None:
    """Copy a working LeNet-5 in C or NumPy into a new folder, as a start for your own
    implementation."""
    files = copy_example(name, language, output)
    steps = [
        shell_command("suite implementation test", output / name),
        shell_command("suite verify-model lenet --implementation", output / name),
    ]
    if json:
        print_json("implementation-new", {"files": files, "next": steps})
        return
    print("Wrote\n" + "\n".join(f"  {path}" for path in files))
    print("Next\n" + "\n".join(f"  {number}. {step}" for number, step in enumerate(steps, start=1)))


@app.command()
def test(
    folder: Annotated[Path, Argument(metavar="DIR", help="Folder of the implementation.")],
    workload: Annotated[
        str, Option(help="Workload that the implementation trains (`suite list workloads`).")
    ] = "lenet",
    output: Annotated[
        Path | None,
        Option(help="New folder for the files and the output of the test runs."),
    ] = None,
    json: Json = False,
) -> None:
    """Test every point of the contract on generated data. Exit code: 0 all pass, 1 one fails, 2
    could not test."""
    from suite.execution.run_directory import make_output  # start-up: execution
    from suite.experiments.conformance.points import (
        ContractPoint,
        check_conformance,
    )  # start-up: execution

    def show(point: ContractPoint) -> None:
        if not json:
            print(
                f"{MARKS[point.passed]:10} {point.name:24} {point.demands}"
                + (f"\n{'':35} {point.observed}" if point.passed is not True else "")
            )

    if not folder.is_dir():
        raise SuiteError(
            f"{folder} is not a folder; give the folder of an implementation, or start one with "
            "`suite implementation new NAME`."
        )
    if output is not None:
        make_output(output, force=False)
    points = check_conformance(folder, workload, show, output and output.resolve())
    if json:
        print_rows("implementation-test", map(vars, points))
    else:
        print(f"{sum(point.passed is True for point in points)} of {len(points)} points pass")
    if any(point.passed is False for point in points):
        raise typer.Exit(NOT_CONFORMANT)
