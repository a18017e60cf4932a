"""`make quick`: the tests of what the working tree changed, in process only: ``python -m
tools.changed_tests``.

A test belongs to a changed file if it is that file, imports it, or imports a module that does;
tests of the folder that mirrors a changed file belong to it, too. Tests that start programs,
frameworks or browsers are left to `make test`.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from proofs.parts import direct_dependencies, imported_names, modules_of
from suite.errors import COULD_NOT
from suite.files.paths import repository_root

MAX_STEPS = 2
MAINS = ("origin/HEAD", "origin/main", "main")


def main() -> int:
    """pytest's exit code; 0 where nothing has changed."""
    root = repository_root()
    try:
        changed = changed_files(root)
    except subprocess.CalledProcessError as error:
        print(f"error: what has changed is unknown: {error.stderr.strip()}", file=sys.stderr)
        return COULD_NOT
    chosen = sorted(tests_of(changed, root))
    if not chosen:
        print(f"no test belongs to what has changed ({len(changed)} files)")
        return 0
    print(f"{len(changed)} changed files, tests of {len(chosen)} files")
    names = [path.relative_to(root).as_posix() for path in chosen]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-o",
        "console_output_style=classic",
        "-n",
        "2",
        "--dist",
        "worksteal",
        "--in-process",
    ]
    code = subprocess.run([*command, *names], cwd=root, check=False).returncode
    return 0 if code == 5 else code  # 5: all of their tests start something


def changed_files(root: Path) -> set[Path]:
    """Files that differ from where this branch left the main one, also deleted and new ones; where
    nothing does, those of the last commit. Raises CalledProcessError where git cannot tell."""
    diff = ("diff", "--name-only", "--no-renames", "-z")
    listed = _git(root, *diff, _branch_point(root))
    listed += _git(root, "ls-files", "--others", "--exclude-standard", "-z")
    return {root / name for name in listed or _git(root, *diff, "HEAD^", "HEAD")}


def _branch_point(root: Path) -> str:
    for main_branch in MAINS:
        with contextlib.suppress(subprocess.CalledProcessError):
            return _git(root, "merge-base", "HEAD", main_branch)[0].strip()
    return "HEAD"


def _git(root: Path, *words: str) -> list[str]:
    """Names that end with a zero byte: others would be quoted."""
    answer = subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, check=True
    )
    return answer.stdout.rstrip("\0").split("\0") if answer.stdout else []


def tests_of(changed: Iterable[Path], root: Path) -> set[Path]:
    """The test files that belong to changed files."""
    modules, found = modules_of(root), set(changed)
    importers: dict[Path, set[Path]] = {}
    for path in set(modules.values()):
        for target in direct_dependencies(path, root):
            importers.setdefault(target, set()).add(path)
        for name in imported_names(path):  # a deleted module is nobody's target
            importers.setdefault(root / f"{name.replace('.', '/')}.py", set()).add(path)
    near = set(found)
    for _ in range(MAX_STEPS):
        near |= {
            path
            for target in near
            for path in importers.get(target, ())
            if path.name != "conftest.py"
        }
    mirrored = {
        path
        for one in found
        if one.parent != root
        for path in (root / "tests" / one.parent.relative_to(root)).glob("test_*.py")
    }
    return {
        path
        for path in near | mirrored
        if path.name.startswith("test_") and path.suffix == ".py" and path.is_file()
    }


if __name__ == "__main__":
    sys.exit(main())
