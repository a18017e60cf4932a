"""The folders of a submission: ``<round>/<organization>[.<system>]/`` holds declaration, system,
probes, audits, reviews, and ``<workload>/<framework>/run_<n>/`` bundles."""

import re
from dataclasses import dataclass
from pathlib import Path

from suite.bundle.attached import BEFORE
from suite.bundle.layout import RUN, WITHDRAWN, is_withdrawal
from suite.errors import SuiteError
from suite.files.names import is_plain_name
from suite.files.tree import files_below, paths_below
from suite.submission.declaration import NAME

SYSTEM = "system.json"
PROBES = "probes"
LISTING, SIGNATURE = "FILES.sha256", "SIGNATURE"
RUN_DEPTH = 3
RUN_FOLDER = re.compile(r"run_[1-9][0-9]{0,3}")
AUDITS, REVIEWS = "audits", "reviews"


@dataclass(frozen=True)
class RunFolder:
    """A bundle's folder in a submission, and the workload and framework that its path names."""

    path: Path
    workload: str
    framework: str

    @property
    def trained(self) -> tuple[str, str]:
        """Workload and framework."""
        return self.workload, self.framework


def read_folders(submission: Path) -> tuple[tuple[RunFolder, ...], tuple[Path, ...]]:
    """The folders of the runs, and everything that does not belong in a submission: files, links,
    folders without a file."""
    runs: list[RunFolder] = []
    unexpected: list[Path] = []
    found = paths_below(submission)
    filled = {
        folder
        for path in found
        if path.is_symlink() or not path.is_dir()
        for folder in path.parents
    }
    for path in found:
        parts = path.relative_to(submission).parts
        is_file = path.is_symlink() or not path.is_dir()
        if path.is_symlink() or (
            not _is_expected(path, submission)
            if is_file
            else path not in filled and _is_misplaced(parts)
        ):
            unexpected.append(path)
        elif path.is_file() and len(parts) == 4 and parts[3] == RUN:
            runs.append(RunFolder(path.parent, parts[0], parts[1]))
    return tuple(runs), tuple(unexpected)


def _is_misplaced(parts: tuple[str, ...]) -> bool:
    """Whether a folder without a file has no place in a submission; those of a run are the
    bundle's."""
    return len(parts) <= RUN_DEPTH and parts not in ((PROBES,), (AUDITS,), (REVIEWS,))


def _is_expected(path: Path, submission: Path) -> bool:
    if withdraws(path, submission):
        return True
    parts = path.relative_to(submission).parts
    if len(parts) == 1:
        return parts[0] in (NAME, SYSTEM, LISTING, SIGNATURE)
    if len(parts) == 2 and parts[0] in (PROBES, AUDITS, REVIEWS):
        return parts[1].endswith((".json", ".json.sig") if parts[0] == REVIEWS else ".json")
    depth = RUN_DEPTH + (2 if BEFORE in parts[RUN_DEPTH:-1] else 1)
    return len(parts) == depth and RUN_FOLDER.fullmatch(parts[2]) is not None


def withdraws(path: Path, submission: Path) -> bool:
    """Whether a file withdraws runs of the submission with a reason: ``WITHDRAWN`` in a run's
    folder or in a folder above it, ``run_<n>.WITHDRAWN`` beside the run's folder."""
    *above, name = path.relative_to(submission).parts
    if name == WITHDRAWN:
        is_placed = len(above) < RUN_DEPTH or (
            len(above) == RUN_DEPTH and RUN_FOLDER.fullmatch(above[-1]) is not None
        )
    else:
        is_placed = len(above) == RUN_DEPTH - 1 and _is_beside_run(path)
    return is_placed and is_withdrawal(path)


def _is_beside_run(path: Path) -> bool:
    """Whether a file has the name ``run_<n>.WITHDRAWN``, and the folder ``run_<n>`` exists."""
    run = path.with_suffix("")
    is_named = path.suffix == f".{WITHDRAWN}" and RUN_FOLDER.fullmatch(run.name) is not None
    return is_named and not run.is_symlink() and run.is_dir()


def withdrawal_beside(run: Path) -> Path:
    """The file beside a run's folder that withdraws the run."""
    return run.with_name(f"{run.name}.{WITHDRAWN}")


def find_withdrawal(run: Path, top: Path) -> Path | None:
    """The file that withdraws the run with a reason: in or beside its folder, or in a folder above
    it up to ``top``; None if it is not withdrawn."""
    run, top = run.absolute(), top.absolute()
    above = (folder / WITHDRAWN for folder in run.parents if folder.is_relative_to(top))
    files = (run / WITHDRAWN, withdrawal_beside(run), *above)
    return next(filter(is_withdrawal, files), None)


def is_withdrawn(run: Path, submission: Path) -> bool:
    """Whether a file in the submission withdraws the run."""
    return find_withdrawal(run, submission) is not None


def submission_folder(organization: str, system: str | None) -> str:
    """The name of a submission's folder: the organization's, and after a dot the system's, where
    one organization submits several."""
    return organization if system is None else f"{organization}.{system}"


def is_folder_of(folder: str, organization: str) -> bool:
    """Whether ``submission_folder`` gives this name for a system of the organization."""
    system = folder.removeprefix(f"{organization}.")
    return folder == organization or (system != folder and is_plain_name(system))


def undeclared_submission(bundle: Path, workload: str, framework: str) -> Path | None:
    """The folder of which this bundle is a run by its place, <workload>/<framework>/run_<n>; None
    if it is in no such place."""
    is_placed = (bundle.parent.parent.name, bundle.parent.name) == (
        workload,
        framework,
    ) and RUN_FOLDER.fullmatch(bundle.name)
    return bundle.parents[2] if is_placed else None


def probe_path(submission: Path, workload: str, framework: str) -> Path:
    """The file of an implementation's verdict from `suite verify-model`."""
    return submission / PROBES / f"{workload}-{framework}.json"


def audit_path(submission: Path, run_folder: Path) -> Path:
    """The file of a run's audit by `suite audit`: ``audits/<workload>-<framework>-run_<n>.json``;
    ``run_folder`` is the run's, of any submission."""
    return submission / AUDITS / f"{'-'.join(run_folder.parts[-3:])}.json"


def review_path(submission: Path, organization: str) -> Path:
    """The file of an organization's review by `suite review`."""
    return submission / REVIEWS / f"{organization}.json"


def find_submissions(path: Path) -> tuple[Path, ...]:
    """The submission at ``path``, or every submission below it, links not followed; raises
    SuiteError when ``path`` does not exist."""
    if not path.exists():
        raise SuiteError(
            f"{path} does not exist; give the path of a run directory or a submission."
        )
    if (path / NAME).is_file():
        return (path,)
    return tuple(file.parent for file in files_below(path, NAME))
