"""`suite package RUN…` and `suite submit --check-only PATH`."""

from pathlib import Path
from typing import Annotated

import typer

from suite.errors import SuiteError
from suite.submission.declaration import SystemAvailability


def package(
    runs: Annotated[list[Path], typer.Argument(help="Run directories, or folders that hold some.")],
    org: Annotated[str, typer.Option(help="Who submits; names a folder.")],
    availability: Annotated[SystemAvailability, typer.Option(help="How the system can be had.")],
    round_name: Annotated[str, typer.Option("--round", help="Which round; names a folder.")] = "v0.1",
    notes: Annotated[str, typer.Option(help="Free words: on cooling, for instance.")] = "",
    probe: Annotated[list[Path] | None, typer.Option(help="A verdict of `suite verify-model --output`; one per workload and framework.")] = None,
    output: Annotated[Path, typer.Option(help="The submission tree.")] = Path("submissions"),
    archive: Annotated[Path | None, typer.Option(help="Also write the submission into this tar file.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put runs in their places in a submission tree, and judge what came of it: 0 it complies, 1 it does not."""
    from suite.cli.verdicts import show
    from suite.compliance.checker import find_bundles
    from suite.compliance.paths import check_paths
    from suite.submission.archive import pack
    from suite.submission.package import PackageRequest
    from suite.submission.package import package as put

    bundles = [bundle for path in runs for bundle in find_bundles(path)]
    folder = put(bundles, PackageRequest(org, round_name, availability, notes, tuple(probe or ())), output)
    if archive is not None:
        try:
            pack(folder, archive)
        except OSError as error:
            raise SuiteError(f"{archive} cannot be written: {error.strerror}; choose another --archive.") from error
    show(check_paths((folder,)), json)


def submit(
    path: Annotated[Path, typer.Argument(help="A submission's folder, or its archive.")],
    check_only: Annotated[bool, typer.Option("--check-only", help="Say what a reviewer's checker will say, and do nothing else.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Judge a submission as a reviewer will see it: 0 it complies, 1 it does not, 2 it could not be judged."""
    from suite.cli.verdicts import show
    from suite.compliance.paths import check_paths

    if not check_only:
        raise SuiteError(
            "Submissions are pull requests, which you open yourself; `suite submit --check-only PATH` says beforehand what the review will."
        )
    verdict = check_paths((path,))
    if not verdict.submissions:
        raise SuiteError(f"{path} holds no submission (no declaration.json); make one with `suite package`.")
    show(verdict, json)
