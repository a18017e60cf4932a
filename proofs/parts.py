"""What a proof depends on, found in its files: the modules that it imports, directly or through
others, and the data that these read.

A module that finds others by being there (importlib, pkgutil) depends on its whole folder. Who
imports the catalogue reads ``rules/``; who starts implementations starts those of
``reference_impls/``; a test or proof that starts the command depends on all of it, and one that has
the path of a file or folder of the checkout, in one string or in several joined by ``/``, reads it.
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
DATA = ("submissions", "examples", "docs", "rules", ".github", ".ci")
DISCOVERS = {"importlib", "pkgutil"}
WORD = re.compile(rf"""["']((?:{"|".join(TOPS)})(?:\.\w+)*)["']""")
PATHS = re.compile(r'"[\w.-]+(?:/[\w.-]+)*"(?:\s*/\s*"[\w.-]+(?:/[\w.-]+)*")*')
BESIDE = re.compile(r'__file__\)\.parent / "([\w-]+)"')
IN_SCRIPTS = re.compile(r"[\w.-]+(?:/[\w.-]+)*")
COMMAND = re.compile(r'(?:with_name\(|parent / )"suite"|"from suite\.cli')
"""How tests, proofs and benchmarks start the command."""
BRINGS = {
    "suite.catalog": ("rules", "*"),
    "suite.catalog.extensions": ("extensions", "*"),
    "suite.catalog.frameworks": ("reference_impls", "*.toml"),
    "suite.launch": ("reference_impls", "*"),
    "reporter": ("reporter", "*"),
}
"""Folder, and names in it, that every importer of a module below the name depends on, beside the
module itself."""
RESULTS = {RECORD, REPORT, "rows.md"}


def folder_digests(proof: Proof, root: Path | None = None) -> dict[str, str]:
    """Digest of each folder's files that the proof depends on, by the folder's path."""
    root = root or repository_root()
    by_folder = defaultdict(list)
    for path in sorted(files_of_proof(proof, root)):
        by_folder[path.parent.relative_to(root).as_posix()].append(path)
    return {folder: _digest(paths) for folder, paths in sorted(by_folder.items())}


def changed_folders(
    before: Mapping[str, str], proof: Proof, root: Path | None = None
) -> tuple[str, ...]:
    """Folders of which a file that the proof depends on has changed, come or gone."""
    now = folder_digests(proof, root)
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
    here = {path.relative_to(root).as_posix() for path in files_of_proof(proof, root)}
    names = [name for name in listed.split("\0") if name in here]
    if not names:
        return f"{places[0]} has changed"
    return f"{len(names)} file{'s' * (len(names) > 1)} changed since {since}, e.g. {names[0]}"


def files_of_proof(proof: Proof, root: Path) -> set[Path]:
    """Every file that the proof depends on."""
    found: set[Path] = set()
    waiting = [*below(root / "proofs" / proof.folder.name), *_of_tests(proof.declared.tests, root)]
    waiting += [root / script for script in proof.declared.setup]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        if path.suffix == ".py":
            waiting += direct_dependencies(path, root)
        waiting += _read(path, root)
    return found


@cache
def direct_dependencies(path: Path, root: Path) -> tuple[Path, ...]:
    """The files that a module depends on directly."""
    return tuple(_needed(path, modules_of(root), root))


def _needed(path: Path, modules: Mapping[str, Path], root: Path) -> Iterator[Path]:
    names, text = imported_names(path), _text(path)
    top = path.relative_to(root).parts[0]
    if names & DISCOVERS and (top != "tests" or path.name == "__init__.py"):
        yield from below(path.parent)
    of_proof = set(WORD.findall(text)) if top in ("tests", "proofs") else set()
    if top in ("tests", "proofs", "benchmarks") and COMMAND.search(text):
        yield from below(root / "suite" / "cli")
    for name in names | of_proof:
        for prefix in accumulate(name.split("."), "{}.{}".format):
            if prefix in modules:
                yield modules[prefix]
            folder, pattern = BRINGS.get(prefix, ("", ""))
            if folder:
                yield from (file for file in below(root / folder) if file.match(pattern))


def imported_names(path: Path) -> set[str]:
    """The modules that a module imports, and what it takes from them."""
    return {name for each in imports(path) for name in each.names}


@cache
def _read(path: Path, root: Path) -> tuple[Path, ...]:
    """The files whose paths a test, a proof or a script has. The name of a folder of code alone may
    be anything, but a proof that has "tests" runs them."""
    parts = path.relative_to(root).parts
    if path.suffix == ".sh":
        texts = IN_SCRIPTS.findall(_text(path))
    elif parts[0] == "tests" or (parts[0] == "proofs" and len(parts) > 2):
        texts = PATHS.findall(_text(path))
    else:
        return ()
    found: list[Path] = []
    for name in {re.sub(r'"\s*/\s*"', "/", text).strip('"') for text in texts}:
        top, _, inside = name.partition("/")
        if inside or name in DATA or (name == "tests" and parts[0] == "proofs"):
            found += below(root / name) if top in (*TOPS, *DATA) else []
        if (not inside or top in (*TOPS, *DATA)) and (root / name).is_file():
            found.append(root / name)
    for name in BESIDE.findall(_text(path)):
        found += below(path.parent / name)
    return tuple(found)


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


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
        if path.is_file()
        and path.name not in RESULTS
        and "__pycache__" not in path.parts
        and "/docs/evidence/" not in path.as_posix()
    )


def _digest(paths: Iterable[Path]) -> str:
    summed = hashlib.sha256()
    for path in paths:
        state = path.stat()
        summed.update(f"{path.name} {_of_file(path, state.st_mtime_ns, state.st_size)}\n".encode())
    return summed.hexdigest()[:12]


@cache
def _of_file(path: Path, mtime_ns: int, size_bytes: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
