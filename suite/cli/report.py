"""`suite report PATH… --output site/`."""

from pathlib import Path
from typing import Annotated

from typer import Option

from suite import api
from suite.cli.json_output import print_json
from suite.cli.options import Json, Runs, say
from suite.files.evidence_files import EvidenceFiles


def report(
    paths: Runs,
    output: Annotated[Path, Option(help="Folder of the site.")] = Path("site"),
    force: Annotated[bool, Option("--force", help="Replace an earlier site.")] = False,
    address: Annotated[
        str | None,
        Option(help="Address at which the site will be published; link previews need it."),
    ] = None,
    beside_reference: Annotated[
        bool,
        Option(
            "--beside-reference",
            help="Show these runs beside the project's reference results on the first page.",
        ),
    ] = False,
    evidence: Annotated[
        EvidenceFiles,
        Option(
            help="How the bundles' files are included: copies, hard links, or an archive per run."
        ),
    ] = EvidenceFiles.COPY,
    json: Json = False,
) -> None:
    """Render a leaderboard as static pages that need no server and no network."""
    index = api.report(
        paths,
        output,
        force=force,
        address=address,
        beside_reference=beside_reference,
        evidence=evidence.value,
        say=say,
    )
    if json:
        print_json("report", {"index": index.resolve()})
    else:
        print(f"The {'first' if beside_reference else 'leaderboard'} page is {index.resolve()}")
