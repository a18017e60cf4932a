"""`suite figure NAME PATHS…`: a figure of a paper, with its caption."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from reporter.papers.presets import preset_of
from suite import api
from suite.bundle.manifest import refuse_inside_run
from suite.cli.json_output import print_json
from suite.cli.loading import expect_runs
from suite.cli.options import Json, Runs
from suite.errors import SuiteError
from suite.files.durable import output_errors, refuse_existing


def figure(
    name: Annotated[str, Argument(help="Name of the figure (`suite list figures`).")],
    paths: Runs,
    format_: Annotated[
        str | None,
        Option(
            "--format", help="svg, pdf or png (default: from the ending of --output, else pdf)."
        ),
    ] = None,
    width: Annotated[str, Option(help="Width with its unit: in, cm, mm or pt.")] = "3.3in",
    height: Annotated[
        str | None, Option(help="Height (default: what the figure's rows need).")
    ] = None,
    font: Annotated[
        str, Option(help='Font, with its size in pt, such as "Times New Roman 8".')
    ] = "DejaVu Sans 7.5",
    output: Annotated[Path | None, Option(help="File (default: NAME.<format>).")] = None,
    caption: Annotated[
        Path | None,
        Option(help="File to write the caption to (default: the figure's name with .txt)."),
    ] = None,
    force: Annotated[bool, Option("--force", help="Replace existing files.")] = False,
    json: Json = False,
) -> None:
    """Draw a figure for a paper, and write its caption: n, seeds, error bars, device,
    instrument."""
    file_format = format_ or (
        output.suffix.removeprefix(".").lower() if output and output.suffix else "pdf"
    )
    target = output or Path(f"{name}.{file_format}")
    if not target.name:
        raise SuiteError(f"{target} is a folder; name a file with --output.")
    beside = caption or target.with_suffix(".txt")
    preset_of(name)
    expect_runs(paths)
    if target.resolve() == beside.resolve():
        raise SuiteError(
            f"{target} cannot hold both the figure and its caption; choose another --caption."
        )
    for path in (target, beside):
        refuse_inside_run(path)
        refuse_existing(path, force)
    made = api.figure(name, paths, file_format=file_format, width=width, height=height, font=font)
    _write(target, made.content)
    _write(beside, made.caption.encode("utf-8"))
    if json:
        print_json("figure", {"figure": target, "caption": beside, "text": made.caption})
    else:
        print(f"The figure is in {target}, its caption in {beside}:\n\n{made.caption}", end="")


def _write(path: Path, content: bytes) -> None:
    with output_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
