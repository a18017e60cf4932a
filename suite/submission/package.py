"""Packages bundles, as `suite run` left them, into a submission's folder."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from suite import __version__
from suite.bundle import layout
from suite.bundle.disclosures import describe_disclosure, find_disclosures
from suite.bundle.layout import MANIFEST, NO_ORGANIZATION, SYSTEM
from suite.bundle.machines import BOARD_DIGEST, MACHINE, different_fields
from suite.bundle.manifest import refuse_inside_run
from suite.bundle.reader import FIRST_ROUND, Bundle
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.files.json_file import read_json, write_json
from suite.files.name_forms import find_known, find_names
from suite.files.names import plain_name
from suite.files.paths import checkout
from suite.files.redaction import names_of_machine
from suite.files.schema import problem_of
from suite.files.spreadsheet import problem_of_text
from suite.submission.declaration import (
    ADDRESSES,
    SCHEMA,
    Code,
    Declaration,
    DeclaredImplementation,
    Notes,
    SystemAvailability,
)
from suite.submission.folder_names import (
    audit_path,
    find_withdrawal,
    probe_path,
    submission_folder,
    undeclared_submission,
    withdrawal_beside,
)
from suite.submission.launches import FINISHED, declare_entries
from suite.submission.signature import sign_submission

PUBLIC = ("workload", "framework", "model", "platform")
"""Keys of a request whose names may be those of a user or a host."""
MAX_NAMED = 10
"""Disclosures that an error names."""


@dataclass(frozen=True)
class PackagedImplementation:
    """An implementation outside the checkout whose runs are packaged: name, folder and the SHA-256
    of its files as they are now."""

    name: str
    folder: Path
    sha256: str


@dataclass(frozen=True)
class PackageRequest:
    """What `suite package` is told: organization, round, availability, notes, and files written by
    `suite verify-model` and `suite audit`.

    ``round`` None: that of the runs. ``launches`` are folders in which runs were started,
    ``planned_runs`` how many runs of each entry were planned (None: those that finished).
    ``implementations`` are those outside the checkout. ``system`` names the system, or the version
    of the suite, where the organization submits several.
    """

    organization: str
    round: str | None
    availability: SystemAvailability
    notes: str
    probes: tuple[Path, ...]
    launches: tuple[Path, ...] = ()
    planned_runs: int | None = None
    sign_with: Path | None = None
    audits: tuple[Path, ...] = ()
    implementations: tuple[PackagedImplementation, ...] = ()
    system: str | None = None


def package_runs(runs: Sequence[Path], request: PackageRequest, root: Path) -> Path:
    """Copy the sealed bundles into ``root/<round>/<organization>[.<system>]`` with declaration and
    system description; returns that folder.

    The bundles are copied unchanged, in the order of their run ids. Raises SuiteError, with nothing
    written, for an unsealed bundle, runs on different machines, runs made for another organization,
    and a folder that exists.
    """
    problem = problem_of_text(request.notes) or problem_of(request.notes, Notes)
    if problem is not None:
        raise SuiteError(f"--notes is refused: {problem}; write a plain sentence.")
    bundles = sorted((Bundle(path) for path in runs), key=lambda bundle: bundle.run().run_id)
    round_name = _one_round(bundles, request.round)
    folder = root / round_name / _name(request)
    refuse_inside_run(folder)
    if folder.exists():
        raise SuiteError(
            f"{folder} exists; submissions are never overwritten: name this system with --system,"
            " or move the folder away."
        )
    system = _one_system(bundles)
    folders = _folders(bundles, request)
    evidence = {probe_path(folder, *_subject(path)): path for path in request.probes} | _audits(
        folder, folders, request
    )
    code = code_of(checkout())
    declaration = Declaration(
        SCHEMA,
        request.organization,
        round_name,
        request.availability,
        __version__,
        code,
        request.notes,
        declare_entries(bundles, request.launches, request.planned_runs),
        _implementations(bundles, request, code),
    )
    with _removed_on_failure(folder):
        for run_folder, bundle in folders.items():
            _copy(bundle, folder / run_folder)
        for target, source in evidence.items():
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(source, target)
        declaration.write(folder)
        write_json(folder / SYSTEM, system)
        if round_name != FIRST_ROUND:  # whose bundles have paths of the machine that ran them
            _refuse_disclosures(folder, bundles, request.organization, system)
        if request.sign_with is not None:
            sign_submission(folder, request.sign_with)
    return folder


def _name(request: PackageRequest) -> str:
    system = None if request.system is None else plain_name(request.system, "--system")
    return submission_folder(plain_name(request.organization, "--org"), system)


@contextmanager
def _removed_on_failure(folder: Path) -> Iterator[None]:
    try:
        yield
    except BaseException as error:  # Ctrl-C, too
        shutil.rmtree(folder, ignore_errors=True)
        if not isinstance(error, OSError):
            raise
        raise SuiteError(
            f"The submission cannot be written to {folder}: {error.strerror}."
        ) from error


def _folders(bundles: Sequence[Bundle], request: PackageRequest) -> dict[Path, Bundle]:
    """Each bundle by its folder in the submission."""
    folders: dict[Path, Bundle] = {}
    for bundle in bundles:
        run, of_run = bundle.run(), bundle.run().request
        bundle.expect_sealed("submit only runs that `suite run` finished")
        if run.status != FINISHED:
            raise SuiteError(
                f"{bundle.path} did not finish; leave it out, and declare it with --launches."
            )
        if run.study is not None:
            raise SuiteError(
                f"{bundle.path} was made for a study, and runs of studies are not submitted: make"
                " the entry's runs with `suite run`, and show the study with `suite report`."
            )
        if of_run["organization"] not in (NO_ORGANIZATION, request.organization):
            raise SuiteError(
                f"{bundle.path} was run for {of_run['organization']!r}, so"
                f" {request.organization!r} cannot submit it."
            )
        parent = Path(plain_name(str(of_run["workload"]), "workload")) / plain_name(
            str(of_run["framework"]), "framework"
        )
        number = sum(folder.parent == parent for folder in folders) + 1
        folders[parent / f"run_{number}"] = bundle
    return folders


def _implementations(
    bundles: Sequence[Bundle], request: PackageRequest, code: Code
) -> tuple[DeclaredImplementation, ...]:
    """The implementations of the runs; raises SuiteError for runs of other files than a given
    folder holds, or of two versions."""
    given = {each.name: each for each in request.implementations}
    declared: dict[str, DeclaredImplementation] = {}
    for bundle in bundles:
        run = bundle.run()
        name, recorded = str(run.request["framework"]), run.implementation
        if recorded is None:
            continue  # of an earlier version of the suite
        folder = given.get(name)
        digest = str(recorded.get("sha256"))
        if folder is not None and digest != folder.sha256:
            raise SuiteError(
                f"{bundle.path} was not trained by the files that {folder.folder} holds now; run "
                "it again, or restore the files."
            )
        if name in declared and declared[name].sha256 != digest:
            raise SuiteError(
                f"{bundle.path} and another run were trained by different files of {name}; submit"
                " each version separately (--system)."
            )
        of = Code(None, None, None) if recorded.get("train") else code  # empty in the checkout
        if folder is not None:
            place = folder.folder.absolute()
            of = code_of(
                next((at for at in (place, *place.parents) if (at / ".git").exists()), None)
            )
        declared[name] = DeclaredImplementation(
            name, digest, str(recorded.get("title")), str(recorded.get("language")), of
        )
    unused = sorted(given.keys() - declared.keys())
    if unused:
        raise SuiteError(
            f"None of these runs was made by {given[unused[0]].folder} ({unused[0]}); leave that"
            " --implementation out."
        )
    return tuple(declared[name] for name in sorted(declared))


def _audits(
    folder: Path, folders: Mapping[Path, Bundle], request: PackageRequest
) -> dict[Path, Path]:
    """Each audit by its place in the submission; raises SuiteError for one of a run that is not
    packaged."""
    manifests = {
        sha256(bundle.file(MANIFEST)): run_folder for run_folder, bundle in folders.items()
    }
    found = {}
    for path in request.audits:
        audited = read_json(path).get("bundle")
        run_folder = (
            manifests.get(str(audited.get("manifest_sha256")))
            if isinstance(audited, dict)
            else None
        )
        if run_folder is None:
            raise SuiteError(
                f"{path} is not the audit of one of these runs; make it with `suite audit RUN"
                f" --output {path}`."
            )
        found[audit_path(folder, run_folder)] = path
    return found


def _one_round(bundles: Sequence[Bundle], asked: str | None) -> str:
    """The round of all bundles; raises SuiteError naming the first bundle of another round than
    ``asked`` or, without it, than the first bundle."""
    expected = asked or bundles[0].run().round
    if expected is None:
        raise SuiteError(
            f"{bundles[0].path} names no round; it was made by a development version of the suite:"
            " run it again."
        )
    for bundle in bundles:
        if bundle.run().round != expected:
            raise SuiteError(
                f"{bundle.path} is a run of round {bundle.run().round}, not of {expected}; submit"
                " the runs of each round separately."
            )
    return plain_name(expected, "--round")


def _one_system(bundles: Sequence[Bundle]) -> Mapping[str, object]:
    """The machine that all bundles describe, with its board's digest where one has it; raises
    SuiteError naming the first field in which two differ."""
    systems = {bundle: bundle.json(SYSTEM) for bundle in bundles}
    first = next(
        (each for each in bundles if systems[each].get(BOARD_DIGEST) is not None), bundles[0]
    )
    for bundle, system in systems.items():
        different = different_fields(system, systems[first])
        if different:
            raise SuiteError(
                f"{bundle.path} was not run on the same system as {first.path} "
                f"({different[0]}: {system.get(different[0])!r} and "
                f"{systems[first].get(different[0])!r}); submit each system separately (--system)."
            )
    return {"schema": layout.SCHEMA, **{name: systems[first].get(name) for name in MACHINE}}


def _subject(path: Path) -> tuple[str, str]:
    """Workload and implementation of a verdict from `suite verify-model`."""
    values = read_json(path)
    try:
        (subject,) = values["subjects"]
        return plain_name(str(values["workload"]), "workload"), plain_name(
            str(subject["name"]), "implementation"
        )
    except (KeyError, TypeError, ValueError) as error:
        how = f"`suite verify-model WORKLOAD --framework NAME --output {path}`"
        raise SuiteError(
            f"{path} is not a verdict on one implementation; make it with {how}."
        ) from error


def _copy(bundle: Bundle, target: Path) -> None:
    """Copy the files that the manifest lists, the manifest, and the file that withdraws the run."""
    names = [line.split("  ", 1)[1] for line in bundle.manifest()]
    for name in (*names, MANIFEST):
        source, copy = bundle.file(name), target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
    path, of_run = bundle.path.absolute(), bundle.run().request
    submission = undeclared_submission(path, str(of_run["workload"]), str(of_run["framework"]))
    withdrawal = find_withdrawal(path, submission or path)
    if withdrawal is not None:
        shutil.copyfile(withdrawal, withdrawal_beside(target))


def code_of(root: Path | None) -> Code:
    """The checked-out commit, the repository's address, and whether files differ from the commit;
    None where git does not know.

    An installed suite (``root`` None) or an unpacked archive is no repository, although a folder
    above it may be one.
    """
    if root is None or not (root / ".git").exists():
        return Code(None, None, None)
    address, changes = (
        _git(root, "config", "--get", "remote.origin.url"),
        _git(root, "status", "--porcelain"),
    )
    commit = _git(root, "rev-parse", "HEAD")
    return Code(_public_address(address), commit, None if changes is None else bool(changes))


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, timeout=30
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _public_address(address: str | None) -> str | None:
    """The address without user name and password; None for a path on this machine, and for a host
    without a public name."""
    if not address or not address.startswith(ADDRESSES):
        return None
    scheme, separator, rest = address.partition("://")
    public = address if not separator else f"{scheme}://{rest.rpartition('@')[2]}"
    host = re.split("[/:]", rest.rpartition("@")[2] if separator else address.partition("@")[2])[0]
    return public if "." in host and next(find_names(public), None) is None else None


def _refuse_disclosures(folder: Path, bundles: Sequence[Bundle], *public: object) -> None:
    """Raise SuiteError naming what in the submission names a person or a network, this user and
    host included, unless ``public`` has that word, or the runs' settings, meters or boards do."""
    own = [*public, *(bundle.json(SYSTEM).get("compatible") for bundle in bundles)]
    for run in (bundle.run() for bundle in bundles):
        own += [*map(run.request.get, PUBLIC), *(meter.get("name") for meter in run.meters)]
    words = " ".join(map(str, own))
    names = [name for name, _ in names_of_machine() if not any(find_known(words, [name]))]
    found = list(islice(find_disclosures(folder, sorted(folder.rglob("*")), names), MAX_NAMED + 1))
    if found:
        more = f"; and more than {MAX_NAMED} in all" if len(found) > MAX_NAMED else ""
        raise SuiteError(
            "The submission would name a person or a network; nothing was written:"
            f" {'; '.join(map(describe_disclosure, found[:MAX_NAMED]))}{more}. Bundles are never "
            "edited: remove the name from what wrote it (your program's log and output, --notes), "
            "then run again."
        )
