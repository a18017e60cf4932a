"""Results of a closed round as if they had been made in the open one: then the rules judge what is
edited in them, and not that a closed round takes nothing more."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from suite import __version__
from suite.bundle.layout import MANIFEST, RUN
from suite.bundle.manifest import seal
from suite.catalog.frameworks import load_frameworks
from suite.catalog.seeds import implementation_sha256
from suite.files.digest import sha256
from suite.files.json_file import read_json, write_json
from suite.submission.declaration import NAME
from suite.submission.folder_names import AUDITS, PROBES
from tests.open_round import OPEN


def relabelled(source: Path, target: Path) -> Path:
    """A copy of a bundle or of a submission at ``target``, relabelled."""
    shutil.copytree(source, target, symlinks=True)
    relabel(target)
    return target


def relabel(path: Path) -> None:
    """Give bundles below ``path``, and a submission's declaration, verdicts and audits, the open
    round, this version of the suite and the digests of its implementations' files.

    What was made of the original bytes cannot follow: a witness's stamps, a signature, and seeds of
    a nonce.
    """
    own = {each.name: implementation_sha256(each) for each in load_frameworks()}

    def run(values: dict[str, Any]) -> None:
        values.update(round=OPEN, suite_version=__version__)
        _own_files(values["implementation"], "sha256", own.get(values["request"]["framework"]))

    def declaration(values: dict[str, Any]) -> None:
        values.update(round=OPEN, suite_version=__version__)
        for each in values["implementations"]:
            _own_files(each, "sha256", own.get(each["name"]))

    def probe(values: dict[str, Any]) -> None:
        values.update(suite_version=__version__)
        for each in values["subjects"]:
            _own_files(each, "implementation_sha256", own.get(each["name"]))

    for file in sorted(path.rglob(RUN)):
        if _edit(file, run):
            seal(file.parent)
    for file in path.glob(NAME):
        _edit(file, declaration)
    for file in path.glob(f"{PROBES}/*.json"):
        _edit(file, probe)
    for file in path.glob(f"{AUDITS}/*.json"):
        folder = path.joinpath(*file.stem.split("-"))
        _edit(file, lambda values, folder=folder: _audit(values, folder))


def _audit(values: dict[str, Any], folder: Path) -> None:
    values.update(suite_version=__version__)
    values["bundle"]["manifest_sha256"] = sha256(folder / MANIFEST)


def _own_files(values: dict[str, Any] | None, key: str, digest: str | None) -> None:
    if values is not None and digest is not None:
        values[key] = digest


def _edit(file: Path, change: Callable[[dict[str, Any]], None]) -> bool:
    """Whether the change made a difference; a file of the open round keeps its bytes."""
    values, before = read_json(file), read_json(file)
    change(values)
    if values != before:
        write_json(file, values)
    return values != before
