"""Puts bundles in their places: a submission's tree from runs as `suite run` left them."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from suite import __version__
from suite.bundle import layout
from suite.bundle.layout import MANIFEST, SYSTEM
from suite.bundle.reader import Bundle
from suite.errors import SuiteError
from suite.files.json_file import read_json, write_json
from suite.files.paths import repository_root
from suite.submission.declaration import SCHEMA, Code, Declaration, SystemAvailability, plain_name
from suite.submission.folders import probe_path

MACHINE = (
    "device", "board", "architecture", "cpu_model", "cpu_cores", "memory_size_bytes", "power_mode", "cpu_governor", "storage_medium", "kernel",
    "operating_system",
)  # fmt: skip
"""What of a bundle's system description tells of the machine; the rest tells of the framework."""


@dataclass(frozen=True)
class PackageRequest:
    """What a person wants to submit: who, in which round, how it can be had, the notes, and verdicts of `suite verify-model`."""

    organization: str
    round: str
    availability: SystemAvailability
    notes: str
    probes: tuple[Path, ...]


def package(runs: Sequence[Path], offer: PackageRequest, root: Path) -> Path:
    """Copy the sealed bundles into ``root/<round>/<organization>`` and describe them; returns that folder.

    The bundles are copied as they are, in the order of their run ids. Raises SuiteError, having written nothing, for an unsealed bundle,
    runs on different machines, an organization that a bundle's own contradicts, and a folder that exists.
    """
    folder = root / plain_name(offer.round, "--round") / plain_name(offer.organization, "--org")
    if folder.exists():
        raise SuiteError(f"{folder} exists; a submission is never written over: choose another --round, or move it away.")
    bundles = sorted((Bundle(path) for path in runs), key=lambda one: one.run().run_id)
    system = _one_system(bundles)
    placed = _places(bundles, offer)
    probes = {probe_path(folder, *_about(path)): path for path in offer.probes}
    declaration = Declaration(SCHEMA, offer.organization, offer.round, offer.availability, __version__, code_of(repository_root()), offer.notes)
    try:
        for place, one in placed.items():
            _copy(one, folder / place)
        for target, source in probes.items():
            target.parent.mkdir(exist_ok=True)
            shutil.copyfile(source, target)
        declaration.write(folder)
        write_json(folder / SYSTEM, system)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise SuiteError(f"The submission cannot be written to {folder}: {error.strerror}.") from error
    return folder


def _places(bundles: Sequence[Bundle], offer: PackageRequest) -> dict[Path, Bundle]:
    placed: dict[Path, Bundle] = {}
    for one in bundles:
        request = one.run().request
        if not one.is_sealed:
            raise SuiteError(f"{one.path} is no finished, sealed run; only what `suite run` brought to its end can be submitted.")
        if request["organization"] not in ("none", offer.organization):
            raise SuiteError(f"{one.path} was run for {request['organization']!r}, not for {offer.organization!r}; its owner submits it.")
        parent = Path(plain_name(str(request["workload"]), "workload")) / plain_name(str(request["framework"]), "framework")
        number = sum(place.parent == parent for place in placed) + 1
        placed[parent / f"run_{number}"] = one
    return placed


def _one_system(bundles: Sequence[Bundle]) -> Mapping[str, object]:
    """What all bundles say of the machine; raises SuiteError naming the field in which two differ."""
    systems = [one.json(SYSTEM) for one in bundles]
    for one, system in zip(bundles, systems, strict=True):
        different = [name for name in MACHINE if system.get(name) != systems[0].get(name)]
        if different:
            raise SuiteError(
                f"{one.path} was run on another system than {bundles[0].path} ({different[0]}: {system.get(different[0])!r} and "
                f"{systems[0].get(different[0])!r}); a submission is of one system."
            )
    return {"schema": layout.SCHEMA, **{name: systems[0].get(name) for name in MACHINE}}


def _about(path: Path) -> tuple[str, str]:
    """Which workload and implementation a verdict of `suite verify-model` is about."""
    values = read_json(path)
    try:
        (subject,) = values["subjects"]
        return plain_name(str(values["workload"]), "workload"), plain_name(str(subject["name"]), "implementation")
    except (KeyError, TypeError, ValueError) as error:
        how = f"`suite verify-model WORKLOAD --framework NAME --output {path}`"
        raise SuiteError(f"{path} is no verdict on one implementation; make it with {how}.") from error


def _copy(one: Bundle, target: Path) -> None:
    """The files that the manifest lists, and the manifest."""
    names = [line.split("  ", 1)[1] for line in one.manifest()]
    target.mkdir(parents=True)
    for name in (*names, MANIFEST):
        shutil.copyfile(one.file(name), target / name)


def code_of(checkout: Path) -> Code:
    """The commit that is checked out, where it came from, and whether files differ from it; None where git does not tell."""
    commit, address, changes = (
        _git(checkout, *words) for words in (("rev-parse", "HEAD"), ("config", "--get", "remote.origin.url"), ("status", "--porcelain"))
    )
    return Code(_without_password(address), commit, None if changes is None else bool(changes))


def _git(checkout: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(checkout), *words], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _without_password(address: str | None) -> str | None:
    """An address that can be published: no name and password before the host, no path on this machine."""
    if not address or not address.startswith(("https://", "git@", "ssh://")):
        return None
    scheme, separator, rest = address.partition("://")
    return address if not separator else f"{scheme}://{rest.rpartition('@')[2]}"
