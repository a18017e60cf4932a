"""`make quick`: the tests of what the working tree changed, in process only: ``python -m
tools.changed_tests``.

A test belongs to a changed file if it is that file, imports it, or imports a module that does;
tests of the folder that mirrors a changed file belong to it, too. Tests that start programs,
frameworks or browsers are left to `make test`.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from proofs.parts import modules_of, needed
from suite.files.paths import repository_root

MAX_STEPS = 2
BASE = "HEAD"


def main() -> int:
    """pytest's exit code; 0 where nothing has changed."""
    root = repository_root()
    changed = changed_files(root)
    chosen = sorted(tests_of(changed, root))
    if not chosen:
        print(f"no test belongs to what has changed since the last commit ({len(changed)} files)")
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
    """Files that differ from the last commit, and new ones; of a clean tree those of the last
    commit."""
    listed = _git(root, "diff", "--name-only", BASE) + _git(
        root, "ls-files", "--others", "--exclude-standard"
    )
    return {root / name for name in listed or _git(root, "diff", "--name-only", f"{BASE}^", BASE)}


def _git(root: Path, *words: str) -> list[str]:
    answer = subprocess.run(
        ["git", "-C", str(root), *words], capture_output=True, text=True, check=False
    )
    return answer.stdout.splitlines()


def tests_of(changed: Iterable[Path], root: Path) -> set[Path]:
    """The test files that belong to changed files."""
    modules, found = modules_of(root), set(changed)
    importers: dict[Path, set[Path]] = {}
    for path in set(modules.values()):
        for target in needed(path, root):
            importers.setdefault(target, set()).add(path)
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
