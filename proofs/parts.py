"""What a proof depends on, found in its files: the modules that it imports, directly or through
others, and the data that these read.

A module that finds others by being there (importlib, pkgutil) depends on its whole folder. Who
imports the catalogue reads ``rules/``; who starts implementations starts those of
``reference_impls/``; a test or proof that has the word "suite" uses the command line, and one that
has the name of a folder of data reads it.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import accumulate
from pathlib import Path

from proofs.proof import Proof
from proofs.result import RECORD, REPORT
from suite.files.paths import repository_root
from tools.imports import imports, module_name

TOPS = (
    "suite",
    "extensions",
    "reporter",
    "reference_impls",
    "tests",
    "proofs",
    "benchmarks",
    "tools",
)
DATA = {"submissions", "examples"}
DISCOVERS = {"importlib", "pkgutil"}
WORD = re.compile(rf"""["']((?:{"|".join((*TOPS, *sorted(DATA)))})(?:\.\w+)*)["']""")
BRINGS = {
    "suite.catalog": ("rules", "reference_impls"),
    "suite.catalog.extensions": ("extensions",),
    "suite.launch": ("reference_impls",),
    "reporter": ("reporter",),
}
"""Folders that every importer of a module below the name depends on, beside the module itself."""
RESULTS = {RECORD, REPORT, "rows.md"}


def parts(proof: Proof, root: Path | None = None) -> dict[str, str]:
    """Digest of each folder's files that the proof depends on, by the folder's path."""
    root = root or repository_root()
    by_folder = defaultdict(list)
    for path in sorted(files(proof, root)):
        by_folder[path.parent.relative_to(root).as_posix()].append(path)
    return {folder: _digest(paths) for folder, paths in sorted(by_folder.items())}


def changed(before: Mapping[str, str], proof: Proof, root: Path | None = None) -> tuple[str, ...]:
    """Folders of which a file that the proof depends on has changed, come or gone."""
    now = parts(proof, root)
    return tuple(sorted(name for name in {*before, *now} if before.get(name) != now.get(name)))


def what_changed(proof: Proof, commit: str | None, folders: Iterable[str]) -> str:
    """Some words: how many files of the changed folders differ from a commit, and one of them."""
    root, since, places = repository_root(), (commit or "").partition("+")[0], sorted(folders)
    listed = subprocess.run(
        ["git", "-C", str(root), "diff", "--name-only", "-z", since or "HEAD", "--", *places],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    here = {path.relative_to(root).as_posix() for path in files(proof, root)}
    names = [name for name in listed.split("\0") if name in here]
    if not names:
        return f"{places[0]} has changed"
    return f"{len(names)} file{'s' * (len(names) > 1)} changed since {since}, e.g. {names[0]}"


def files(proof: Proof, root: Path) -> set[Path]:
    """Every file that the proof depends on."""
    modules = modules_of(root)
    found: set[Path] = set()
    waiting = [*below(root / "proofs" / proof.folder.name), *_of_tests(proof.declared.tests, root)]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        if path.suffix == ".py":
            waiting += needed(path, modules, root)
    return found


def needed(path: Path, modules: Mapping[str, Path], root: Path) -> Iterator[Path]:
    """The files that a module depends on directly."""
    names, words = _mentioned(path)
    if names & DISCOVERS and path.relative_to(root).parts[0] != "tests":
        yield from below(path.parent)
    of_proof = words if path.relative_to(root).parts[0] in ("tests", "proofs") else set()
    if "suite" in of_proof:
        yield from below(root / "suite" / "cli")
    for name in of_proof & DATA:
        yield from below(root / name)
    for name in names | of_proof:
        for prefix in accumulate(name.split("."), "{}.{}".format):
            if prefix in modules:
                yield modules[prefix]
            for folder in BRINGS.get(prefix, ()):
                yield from below(root / folder)


def _mentioned(path: Path) -> tuple[set[str], set[str]]:
    """Names that a module imports, and the words in its strings that may be names of modules or
    folders."""
    return {name for each in imports(path) for name in each.names}, set(
        WORD.findall(path.read_text(encoding="utf-8"))
    )


@cache
def modules_of(root: Path) -> dict[str, Path]:
    """Path of every module of the checkout, by its dotted name."""
    found = {}
    for top in TOPS:
        for path in below(root / top):
            if path.suffix == ".py":
                found[module_name(path, root)] = path
    return found


def _of_tests(named: Iterable[str], root: Path) -> Iterator[Path]:
    """The test files, and what pytest reads beside them."""
    for name in named:
        yield from below(root / name) if (root / name).is_dir() else [root / name]
        yield from (
            folder / "conftest.py"
            for folder in (root / name).parents
            if (folder / "conftest.py").is_file()
        )


@cache
def below(folder: Path) -> tuple[Path, ...]:
    """Files in a folder and its subfolders, results of proofs apart."""
    return tuple(
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts and path.name not in RESULTS
    )


def _digest(paths: Iterable[Path]) -> str:
    summed = hashlib.sha256()
    for path in paths:
        summed.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return summed.hexdigest()[:12]
