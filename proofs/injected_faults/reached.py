"""Which tests reach which line, from one run of all tests under coverage.py.

Lines that run at import, or in a process that is no command of the tests, have no name: a fault in
them is left to the tests of its room.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import coverage

TOPS = ("suite", "reporter", "reference_impls", "extensions")
SETTINGS = f"""\
[run]
source = {", ".join(TOPS)}
relative_files = true
parallel = true
patch = subprocess
"""


def run_all(copy: Path, collected: Path) -> subprocess.CompletedProcess[str]:
    """Run `make test`'s tests in the copy, to the last one; ``collected`` becomes their coverage,
    with the tests' names. Where a child's cost is counted, coverage.py's makes a test fail."""
    words = ("--cov", f"--cov-config={_settings(copy)}", "--cov-context=test", "--cov-report=")
    # no CI: a test under coverage takes more than its budget of CPU time
    return run_tests([*words, "tests"], copy, COVERAGE_FILE=str(collected), CI="")


def run_tests(
    words: Sequence[str], copy: Path, every_case: bool = False, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run pytest in the copy, with these words and variables."""
    cases = {"PYTHONPATH": str(copy), "EVERY_CASE": "1" if every_case else "0"}
    usual = ("-q", "-n", "3", "--dist", "worksteal", "-p", "no:cacheprovider")
    return subprocess.run(
        [sys.executable, "-m", "pytest", *usual, *words],
        cwd=copy,
        env={**os.environ, **cases, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def _settings(copy: Path) -> Path:
    path = copy.parent / "coverage.ini"
    path.write_text(SETTINGS, encoding="utf-8")
    return path


def tests_at(kept: Path, file: str, lines: range) -> list[str]:
    """Names of the tests that ran one of these lines, numbered from one, of the file; where a
    test's fixtures did, the name of the test's file, because other tests may share them."""
    data = coverage.CoverageData(str(kept))
    data.read()
    contexts = data.contexts_by_lineno(file)
    named = {context for line in lines for context in contexts.get(line, ()) if context}
    tests = (context.rpartition("|") for context in named)
    return sorted({test.split("::")[0] if phase == "setup" else test for test, _, phase in tests})


def shares(kept: Path, copy: Path) -> dict[str, float]:
    """Per cent of the lines that tests ran, by folder and in all."""
    counts: Counter[tuple[str, str]] = Counter()
    before = Path.cwd()
    os.chdir(copy)  # the paths of the data are relative to it
    try:
        measured = coverage.Coverage(data_file=str(kept), config_file=str(_settings(copy)))
        measured.load()
        for path in (each for top in TOPS for each in (copy / top).rglob("*.py")):
            _, lines, _, missing, _ = measured.analysis2(str(path))
            for name in (path.relative_to(copy).parts[0], "all"):
                counts[name, "lines"] += len(lines)
                counts[name, "run"] += len(lines) - len(missing)
    finally:
        os.chdir(before)
    return {name: 100 * counts[name, "run"] / counts[name, "lines"] for name in (*TOPS, "all")}
