"""`suite package RUN…` and `suite submit --check-only PATH`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from suite.bundle.layout import states_folder
from suite.catalog.frameworks import load_implementation
from suite.catalog.seeds import implementation_sha256
from suite.cli.options import Json, Runs, with_options
from suite.cli.verdicts import check_submissions_in, show_result
from suite.compliance.checker import find_bundles
from suite.compliance.paths import check_paths
from suite.errors import SuiteError
from suite.files.archive import pack_archive
from suite.files.durable import refuse_no_folder
from suite.files.shell_command import shell_command
from suite.submission import package as packaging
from suite.submission.declaration import SystemAvailability


@dataclass(frozen=True, kw_only=True)
class Declared:
    """What the declaration of `suite package` says."""

    org: Annotated[str, Option(help="Submitting organization (also the name of its folder).")]
    availability: Annotated[SystemAvailability, Option(help="Availability of the system.")]
    round: Annotated[
        str | None,
        Option(help="Round (also the name of its folder; default: the round of the runs)."),
    ] = None
    system: Annotated[
        str | None,
        Option(help="Name of this system, if you submit several: the folder is ORG.SYSTEM."),
    ] = None
    notes: Annotated[str, Option(help="Free text, for instance on cooling.")] = ""
    launches: Annotated[
        list[Path] | None,
        Option(
            help=(
                "Folder in which runs were started. The submission declares every launch of an"
                " entry's runs in this folder, finished or not."
            )
        ),
    ] = None
    planned_runs: Annotated[
        int | None,
        Option(
            min=1,
            help=(
                "Number of runs planned for each entry before its first run (default: the number "
                "that finished)."
            ),
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What `suite package` adds to the runs."""

    probe: Annotated[
        list[Path] | None,
        Option(
            help="File written by `suite verify-model --output`; repeat the option for each"
            " workload and framework."
        ),
    ] = None
    implementation: Annotated[
        list[Path] | None,
        Option(
            metavar="DIR",
            help=(
                "Folder of your own implementation that made runs, with its files unchanged since "
                "then; repeatable."
            ),
        ),
    ] = None
    audit: Annotated[
        list[Path] | None,
        Option(help="File written by `suite audit --output`; repeat the option for each run."),
    ] = None
    sign: Annotated[
        Path | None,
        Option(help="Sign the submission with this SSH key (a file as `ssh-keygen` makes it)."),
    ] = None


@with_options
def package(
    runs: Runs,
    declared: Declared,
    evidence: Evidence,
    output: Annotated[Path, Option(help="Root of the submission tree.")] = Path("submissions"),
    archive: Annotated[
        Path | None, Option(help="Also write the submission to this tar file.")
    ] = None,
    json: Json = False,
) -> None:
    """Place runs in a submission tree and check the submission. Exit code: 0 complies, 1 does
    not."""
    request = packaging.PackageRequest(
        declared.org,
        declared.round,
        declared.availability,
        declared.notes,
        tuple(evidence.probe or ()),
        tuple(declared.launches or ()),
        declared.planned_runs,
        evidence.sign,
        tuple(evidence.audit or ()),
        tuple(_packaged(folder) for folder in evidence.implementation or ()),
        declared.system,
    )
    if archive is not None:  # before the folder is made
        _refuse_archive(archive)
    states = {states_folder(path) for path in runs}  # what a shell's RUN* names beside the runs
    bundles = [bundle for path in runs if path not in states for bundle in find_bundles(path)]
    folder = packaging.package_runs(bundles, request, output)
    if archive is not None:
        _pack(folder, archive)
    show_result(check_paths([folder]), json)
    if not json:
        _say_what_next(folder, archive)


def _pack(folder: Path, archive: Path) -> None:
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        pack_archive(folder, archive, base=folder.parent.parent)
    except OSError as error:
        raise SuiteError(
            f"{archive} cannot be written: {error.strerror}; the submission is in {folder}:"
            " pack it with tar, or remove it and choose another --archive."
        ) from error


def _refuse_archive(archive: Path) -> None:
    if archive.exists():
        raise SuiteError(f"{archive} exists; choose another --archive.")
    try:
        refuse_no_folder(archive.parent)
    except OSError as error:
        raise SuiteError(
            f"{archive} cannot be written: {error.strerror}; choose another --archive."
        ) from error


def _say_what_next(folder: Path, archive: Path | None) -> None:
    packed = "" if archive is None else f"It is also in {archive}. "
    print(
        f"{packed}Next: {shell_command('suite submit --check-only', folder)}, then a pull request"
        " that adds this folder (docs/submitting.md)"
    )


def _packaged(folder: Path) -> packaging.PackagedImplementation:
    implementation = load_implementation(folder)
    return packaging.PackagedImplementation(
        implementation.name, folder, implementation_sha256(implementation)
    )


def submit(
    path: Annotated[Path, Argument(help="Submission folder or archive.")],
    check_only: Annotated[
        bool, Option("--check-only", help="Check only; nothing is sent.")
    ] = False,
    json: Json = False,
) -> None:
    """Check a submission as a reviewer will. Exit code: 0 complies, 1 does not, 2 could not
    judge."""
    if not check_only:
        raise SuiteError(
            "Submissions are pull requests, which you open yourself. First run `suite submit"
            " --check-only PATH`, which applies the reviewer's checks."
        )
    show_result(check_submissions_in(path, "make one with `suite package`"), json)
