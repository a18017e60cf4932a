"""`suite report PATH… --output site/`."""

import json as json_format
from pathlib import Path
from typing import Annotated

import typer


def report(
    paths: Annotated[list[Path], typer.Argument(help="Run directories, or folders that hold some.")],
    output: Annotated[Path, typer.Option(help="The folder that receives the site.")] = Path("site"),
    force: Annotated[bool, typer.Option("--force", help="Replace a site that was made before.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Draw a leaderboard: static pages that need no server and no network."""
    from reporter.site import build

    index = build(paths, output, force)
    print(json_format.dumps({"index": str(index.resolve())}) if json else f"The leaderboard page is {index.resolve()}")
