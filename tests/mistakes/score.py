"""`make mistakes`: makes each mistake in a copy of the sources, and says which proof notices it and what that costs.

``python -m tests.mistakes.score [TEXT…]`` takes the mistakes whose names contain one of the texts. Mistakes in shared code need no framework;
those in an implementation need its environment and PyTorch's. Exit code 1 if more than MAX_MISSED are noticed by nothing.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from suite.files.paths import repository_root
from tests.mistakes.mistake import GOLDEN, PROBE, Mistake, made
from tests.mistakes.mistakes import MISTAKES

COPIED = ("suite", "reference_impls", "reporter", "rules", "tests", "pyproject.toml")
IN_THE_COPY = "MISTAKES_IN"
MAX_MISSED = 2


@dataclass(frozen=True)
class Result:
    """What noticed a mistake: with the proofs of before, and with all; None: nothing did."""

    mistake: Mistake
    before: str | None
    now: str | None
    time_s: float


def main() -> int:
    """Copy the sources, start again inside the copy, and print the table there."""
    if IN_THE_COPY in os.environ:
        return score(sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="mistakes-") as folder:
        copy_sources(Path(folder))
        variables = {**os.environ, IN_THE_COPY: folder, "PYTHONPATH": folder}
        return subprocess.run([sys.executable, "-m", "tests.mistakes.score", *sys.argv[1:]], cwd=folder, env=variables, check=False).returncode


def copy_sources(folder: Path) -> None:
    """What is tested and its tests; no environments, data or results."""
    for name in COPIED:
        source = repository_root() / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "installed"))
        else:
            shutil.copy(source, folder / name)


def score(texts: list[str]) -> int:
    """Make every chosen mistake, one after the other, and print a row of a table for each."""
    root = repository_root()
    assert str(root) == os.path.realpath(os.environ[IN_THE_COPY]), f"the suite of {root} would be edited"
    chosen = [one for one in MISTAKES if not texts or any(text in one.name for text in texts)]
    print("| mistake | kind | noticed before by | noticed now by | s |\n|---|---|---|---|---|")
    results = []
    for result in (*of_shared_code([one for one in chosen if one.proof == GOLDEN], root), *of_implementations(chosen, root)):
        results.append(result)
        print(f"| {result.mistake.name} | {result.mistake.kind} | {result.before or '—'} | {result.now or '—'} | {result.time_s:.0f} |", flush=True)
    summarise(results)
    return int(sum(result.now is None for result in results) > MAX_MISSED)


def summarise(results: list[Result]) -> None:
    """Numbers by class of mistakes and framework."""
    print("\n| kind | in | mistakes | noticed before | noticed now | s |\n|---|---|---|---|---|---|")
    classes = dict.fromkeys((result.mistake.kind, result.mistake.framework or "shared code") for result in results)
    for kind, place in classes:
        own = [result for result in results if (result.mistake.kind, result.mistake.framework or "shared code") == (kind, place)]
        before, now = (sum(value is not None for value in values) for values in zip(*((one.before, one.now) for one in own), strict=True))
        print(f"| {kind} | {place} | {len(own)} | {before} | {now} | {sum(one.time_s for one in own):.0f} |")
    before, now = (sum(value is not None for value in values) for values in zip(*((one.before, one.now) for one in results), strict=True))
    print(f"| all | | {len(results)} | {before} | {now} | {sum(one.time_s for one in results):.0f} |")


def of_shared_code(mistakes: Sequence[Mistake], root: Path) -> Iterator[Result]:
    """What the golden values notice, and what the tests that were there before them do."""
    golden, others = (failed_tests(root, which, mistakes) if mistakes else {} for which in ("golden", "others"))
    for mistake in mistakes:
        (now, now_s), (before, before_s) = golden[mistake.name], others[mistake.name]
        yield Result(mistake, before or None, now or before or None, now_s + before_s)


def of_implementations(mistakes: Sequence[Mistake], root: Path) -> Iterator[Result]:
    """What the probes notice."""
    for mistake in sorted((one for one in mistakes if one.proof == PROBE), key=lambda one: (one.workload, one.framework or "")):
        clean(mistake.workload)
        started_s = time.monotonic()
        with made(mistake, root):
            before, now = by_probe(mistake)
        yield Result(mistake, before, now, time.monotonic() - started_s)


def failed_tests(root: Path, which: str, mistakes: Sequence[Mistake]) -> dict[str, tuple[str, float]]:
    """The first test that fails in the copy, and the seconds, by the name of the mistake (tests.mistakes.forked)."""
    command = [sys.executable, "-m", "tests.mistakes.forked", which, *(mistake.name for mistake in mistakes)]
    variables = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=root, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return {name: (test, float(time_s)) for name, test, time_s in rows}


@cache
def clean(workload: str):  # type: ignore[no-untyped-def]
    """The reference's arrays of a workload and its timed steps, from sources without a mistake."""
    from suite.catalog.workloads import load_workload  # start-up: not for mistakes in shared code
    from suite.verify.timed_steps import Processor, timed_reference
    from suite.verify.verdict import WIDE, probe_both

    definition, kept = load_workload(workload), []
    reference = probed_framework("pytorch")
    expected = probe_both(reference, definition)
    settings, timed = definition.verification.timed, None
    if settings is not None:
        context = timed_reference(definition, settings, settings.batch_size, Processor(), lambda line: None)
        kept.append(context)
        timed = context.__enter__()
    shapes = {name: value.shape for name, value in expected[WIDE].items() if name.startswith(("parameter/", "statistic/"))}
    return definition, expected, shapes, timed, kept


def probed_framework(name: str):  # type: ignore[no-untyped-def]
    """The probe of a framework."""
    from suite.catalog.frameworks import load_framework
    from suite.launch.environments import find
    from suite.verify.probing import probed

    framework = load_framework(name)
    return probed(framework, find(framework))


def by_probe(mistake: Mistake) -> tuple[str | None, str | None]:
    """What misses its tolerance: of the model probe, and of both probes."""
    from suite.errors import SuiteError
    from suite.verify.timed_steps import timed_differences
    from suite.verify.verdict import judge, probe_both

    definition, expected, shapes, timed, _ = clean(mistake.workload)
    implementation = probed_framework(mistake.framework or "")
    try:
        of_steps = [one.quantity for one in timed_differences(implementation, timed) if not one.passed] if timed is not None else []
    except SuiteError as error:
        of_steps = [f"error: {str(error)[:60]}"]
    try:
        verdict = judge(implementation, definition, expected, probe_both(implementation, definition, shapes))
        of_model = [f"{one.quantity} ({precision})" for precision, one in verdict.differences if not one.passed]
    except SuiteError as error:
        of_model = [f"error: {str(error)[:60]}"]
    return ", ".join(of_model) or None, ", ".join([*of_model, *of_steps]) or None


if __name__ == "__main__":
    sys.exit(main())
