"""A proof as its ``proof.toml`` declares it: one sentence of what it shows, how long it takes, what
it needs, how it is started."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from suite.catalog.frameworks import load_frameworks
from suite.datasets.locate import data_set_folder
from suite.errors import SuiteError
from suite.files.names import nearest
from suite.files.paths import repository_root
from suite.files.toml_file import read_toml
from suite.launch.environments import RECORD, environment_folder

PROOFS = repository_root() / "proofs"
DECLARATION = "proof.toml"
NEEDS = {
    "root": "root",
    "gpu": "an NVIDIA GPU",
    "network": "the network",
    "quiet": "a machine that does nothing else",
    "frameworks": "the environments of all frameworks",
    "public reports": "a folder of public reports (SUITE_PUBLIC_REPORTS)",
    "mnist": "real MNIST (suite data prepare mnist)",
}
"""What a proof may need, in words."""
OBTAINED = {
    "root": "type the command with sudo",
    "gpu": "run it on a machine that has one",
    "frameworks": "type `.venv/bin/suite env create NAME` for each that `suite doctor` misses",
    "public reports": "set SUITE_PUBLIC_REPORTS to it",
    "mnist": "type `.venv/bin/suite data prepare mnist --download`",
}
"""How to get what can be looked for."""
PROMISED = frozenset({"network", "quiet"})
"""Needs that nothing here can see; who asks for a proof by its name vouches for them."""


@dataclass(frozen=True)
class ProofDeclaration:
    """The keys of ``proof.toml``.

    ``run``: a command, started in the checkout's root with the Python of `make test`; ``tests``:
    test files that pytest runs with every case instead. Exactly one of them is given. ``packages``:
    programs and their Debian packages, as tools/packages.sh takes them; ``setup``: scripts of
    ``tools/`` that see to more. ``skips``: parts of the reasons for which a test may be skipped, on
    some machines, and the proof be shown without it. ``measures``: it has no bound to miss.
    ``keeps``: the folder in which a try that was broken off is continued, if no file that the proof
    depends on has changed.
    """

    shows: str
    minutes: int
    resume: str
    needs: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    setup: tuple[str, ...] = ()
    run: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    skips: tuple[str, ...] = ()
    measures: bool = False
    keeps: str = ""


@dataclass(frozen=True)
class Proof:
    """A folder with a declaration, programs and its last result."""

    folder: Path
    declared: ProofDeclaration

    @property
    def name(self) -> str:
        """What `make prove` calls it."""
        return self.folder.name.replace("_", "-")

    @property
    def kept(self) -> Path:
        """The folder ``keeps`` in the checkout."""
        return repository_root() / self.declared.keeps


def load_proof(folder: Path) -> Proof:
    """The proof that a folder declares. Raises SuiteError for a declaration that lacks something or
    says something unknown."""
    path = folder / DECLARATION
    declared = read_toml(path, ProofDeclaration)
    if bool(declared.run) == bool(declared.tests):
        raise SuiteError(
            f"{path}: give either 'run', a command, or 'tests', the test files that it runs with"
            " every case."
        )
    for need in declared.needs:
        if need not in NEEDS:
            raise SuiteError(f"{path}: the need {need!r} is unknown; needs are {', '.join(NEEDS)}.")
    return Proof(folder, declared)


def all_proofs(proofs: Path = PROOFS) -> tuple[Proof, ...]:
    """Every proof, by name."""
    return tuple(load_proof(path.parent) for path in sorted(proofs.glob(f"*/{DECLARATION}")))


def find_proof(name: str) -> Proof:
    """The proof of this name. Raises SuiteError where there is none."""
    proofs = {proof.name: proof for proof in all_proofs()}
    found = proofs.get(name.replace("_", "-"))
    if found is None:
        raise SuiteError(
            f"There is no proof {name!r}; {nearest(name, proofs)}`make prove` lists them:"
            f" {', '.join(proofs)}."
        )
    return found


def unmet_needs(proof: Proof, granted: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """What the proof needs and this machine cannot be seen to have. What is PROMISED is for the
    caller to grant."""
    has = {
        "root": os.geteuid() == 0,
        "gpu": Path("/dev/nvidiactl").exists(),
        "frameworks": all(
            (environment_folder(each) / RECORD).is_file()
            for each in load_frameworks()
            if each.needs_environment and each.environment_of is None
        ),
        "mnist": data_set_folder("mnist").is_dir(),
        "public reports": "SUITE_PUBLIC_REPORTS" in os.environ,
    }
    return tuple(need for need in proof.declared.needs if not has.get(need, need in granted))
