"""Every listed mistake in implementations, pipelines, schedules and weights is noticed, and by
what: `make prove mistakes`.

Each is made in a copy of the sources. ``python -m proofs.mistakes [TEXT…]`` takes the mistakes
whose names contain one of the texts. Mistakes in shared code need no framework; those in an
implementation need its environment and PyTorch's. Exit code 1 if more than MAX_MISSED are noticed
by nothing.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path

from proofs.figures import hand_over
from proofs.mistakes.mistake import (
    ADAPTED,
    AVERAGED,
    EVALUATED,
    GOLDEN,
    MODEL,
    PROBE,
    WORKERS,
    Mistake,
    made,
)
from proofs.mistakes.mistakes import MISTAKES
from suite.files.paths import repository_root

COPIED = ("suite", "reference_impls", "reporter", "rules", "tests", "proofs", "pyproject.toml")
IN_THE_COPY = "MISTAKES_IN"
MAX_MISSED = 2
BESIDE_THE_LOOP = (
    "test_beside_the_loop.py",
    "test_updates_by_parts_statistics_evaluations_and_compared_gradients",
)
TESTS = {
    WORKERS: ("test_frameworks.py", "test_workers_change_no_bit_of_a_mini_batch"),
    AVERAGED: BESIDE_THE_LOOP,
    EVALUATED: BESIDE_THE_LOOP,
    ADAPTED: ("test_adaptation.py", "test_a_part_is_trained_from_a_checkpoint"),
}
"""File and test that must notice a mistake of a proof."""


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
        return subprocess.run(
            [sys.executable, "-m", "proofs.mistakes.__main__", *sys.argv[1:]],
            cwd=folder,
            env=variables,
            check=False,
        ).returncode


def copy_sources(folder: Path) -> None:
    """What is tested and its tests; no environments, data or results."""
    for name in COPIED:
        source = repository_root() / name
        if source.is_dir():
            shutil.copytree(
                source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "installed")
            )
        else:
            shutil.copy(source, folder / name)


def score(texts: list[str]) -> int:
    """Make every chosen mistake, one after the other, and print a row of a table for each."""
    root = repository_root()
    assert str(root) == os.path.realpath(os.environ[IN_THE_COPY]), (
        f"the suite of {root} would be edited"
    )
    chosen = [one for one in MISTAKES if not texts or any(text in one.name for text in texts)]
    print("| mistake | kind | noticed before by | noticed now by | s |\n|---|---|---|---|---|")
    results = []
    golden = [one for one in chosen if one.proof == GOLDEN]
    for result in chain(
        of_shared_code(golden, root), of_frameworks(chosen, root), of_implementations(chosen, root)
    ):
        results.append(result)
        print(
            f"| {result.mistake.name} | {result.mistake.kind} | {result.before or '—'} |"
            f" {result.now or '—'} | {result.time_s:.0f} |",
            flush=True,
        )
    summarise(results)
    missed = sum(result.now is None for result in results)
    hand_over(
        mistakes=len(results),
        noticed=len(results) - missed,
        noticed_by_nothing=missed,
        allowed_to_be_missed=MAX_MISSED,
    )
    return int(missed > MAX_MISSED)


def summarise(results: list[Result]) -> None:
    """Numbers by class of mistakes and framework."""
    print(
        "\n| kind | in | mistakes | noticed before | noticed now | s |\n|---|---|---|---|---|---|"
    )
    classes = dict.fromkeys(
        (result.mistake.kind, result.mistake.framework or "shared code") for result in results
    )
    for kind, place in classes:
        own = [
            result
            for result in results
            if (result.mistake.kind, result.mistake.framework or "shared code") == (kind, place)
        ]
        before, now = (
            sum(value is not None for value in values)
            for values in zip(*((one.before, one.now) for one in own), strict=True)
        )
        print(
            f"| {kind} | {place} | {len(own)} | {before} | {now} |"
            f" {sum(one.time_s for one in own):.0f} |"
        )
    before, now = (
        sum(value is not None for value in values)
        for values in zip(*((one.before, one.now) for one in results), strict=True)
    )
    print(
        f"| all | | {len(results)} | {before} | {now} | {sum(one.time_s for one in results):.0f} |"
    )


def of_shared_code(mistakes: Sequence[Mistake], root: Path) -> Iterator[Result]:
    """What the golden values notice, and what the tests that were there before them do."""
    golden, others = (
        failed_tests(root, which, mistakes) if mistakes else {} for which in ("golden", "others")
    )
    for mistake in mistakes:
        (now, now_s), (before, before_s) = golden[mistake.name], others[mistake.name]
        yield Result(mistake, before or None, now or before or None, now_s + before_s)


def of_frameworks(mistakes: Sequence[Mistake], root: Path) -> Iterator[Result]:
    """What a test that runs the mistake's framework notices, of shared code the reference's."""
    from suite.catalog.frameworks import REFERENCE  # start-up: not for mistakes in shared code

    for mistake in (one for one in mistakes if one.proof in TESTS):
        file, test = TESTS[mistake.proof]
        name = f"{test} and {mistake.framework or REFERENCE}"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            f"tests/reference_impls/{file}",
            "-k",
            name,
        ]
        started_s = time.monotonic()
        with made(mistake, root):
            done = subprocess.run(
                command,
                cwd=root,
                env={**os.environ, "PYTHONPATH": str(root), "EVERY_CASE": "1"},
                capture_output=True,
                text=True,
                check=False,
            )
        assert done.returncode in (0, 1), done.stdout[-2000:]
        yield Result(mistake, None, test if done.returncode else None, time.monotonic() - started_s)


def of_implementations(mistakes: Sequence[Mistake], root: Path) -> Iterator[Result]:
    """What the probes notice."""
    for mistake in sorted(
        (one for one in mistakes if one.proof == PROBE),
        key=lambda one: (one.workload, one.batch_size or 0, one.framework or ""),
    ):
        clean(mistake.workload, mistake.batch_size)
        started_s = time.monotonic()
        with made(mistake, root):
            before, now = by_probe(mistake)
        yield Result(mistake, before, now, time.monotonic() - started_s)


def failed_tests(
    root: Path, which: str, mistakes: Sequence[Mistake]
) -> dict[str, tuple[str, float]]:
    """The first test that fails in the copy, and the seconds, by the name of the mistake
    (proofs.mistakes.forked)."""
    command = [
        sys.executable,
        "-m",
        "proofs.mistakes.forked",
        which,
        *(mistake.name for mistake in mistakes),
    ]
    variables = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=root, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    rows = (line.split("\t") for line in done.stdout.splitlines())
    return {name: (test, float(time_s)) for name, test, time_s in rows}


@cache
def clean(workload: str, batch_size: int | None):  # type: ignore[no-untyped-def]
    """A workload's definition, the reference's arrays, and the entered context of its timed steps,
    from sources without a mistake."""
    from suite.catalog.workloads import load_workload  # start-up: not for mistakes in shared code
    from suite.verify.verdict import probe_both

    definition = load_workload(workload)
    context = of_referee(definition, batch_size)
    return (
        definition,
        probe_both(probed_framework("pytorch"), definition),
        context.__enter__(),
        context,
    )


def of_referee(definition, batch_size: int | None):  # type: ignore[no-untyped-def]
    """The context of a workload's timed steps."""
    from suite.verify.timed_steps import VerifyOptions, timed_reference

    return timed_reference(
        definition,
        definition.verification.timed,
        VerifyOptions(batch_size=batch_size),
        lambda line: None,
    )


def probed_framework(name: str):  # type: ignore[no-untyped-def]
    """The probe of a framework."""
    from suite.catalog.frameworks import load_framework
    from suite.launch.environments import find_environment
    from suite.verify.probing import build_probe

    framework = load_framework(name)
    return build_probe(framework, find_environment(framework))


def by_probe(mistake: Mistake) -> tuple[str | None, str | None]:
    """What misses its tolerance: of the model probe, and of both probes."""
    from suite.catalog.frameworks import REFERENCE
    from suite.errors import SuiteError

    implementation = probed_framework(mistake.framework or REFERENCE)
    try:
        of_steps = list(missed_by_steps(mistake, implementation))
    except SuiteError as error:
        of_steps = [f"error: {str(error)[:60]}"]
    try:
        of_model = list(missed_by_model(mistake, implementation))
    except SuiteError as error:
        of_model = [f"error: {str(error)[:60]}"]
    return ", ".join(of_model) or None, ", ".join([*of_model, *of_steps]) or None


def missed_by_steps(mistake: Mistake, implementation):  # type: ignore[no-untyped-def]
    """Quantities of the timed steps. The referee has the reference's model, and so the mistakes in
    it."""
    from suite.catalog.frameworks import REFERENCE
    from suite.verify.timed_steps import timed_differences

    definition, _, timed, _ = clean(mistake.workload, mistake.batch_size)
    is_referees = mistake.framework == REFERENCE and mistake.kind == MODEL
    with (
        of_referee(definition, mistake.batch_size) if is_referees else nullcontext(timed)
    ) as reference:
        return [
            one.quantity for one in timed_differences(implementation, reference) if not one.passed
        ]


def missed_by_model(mistake: Mistake, implementation):  # type: ignore[no-untyped-def]
    """Quantities of the model. The reference is compared with itself, mistakes included, and with
    pinned numbers."""
    from suite.catalog.frameworks import REFERENCE
    from suite.verify.verdict import judge_implementation, probe_both, shapes_of

    definition, expected, _, _ = clean(mistake.workload, mistake.batch_size)
    found = probe_both(implementation, definition, shapes_of(expected))
    verdict = judge_implementation(
        implementation, definition, found if mistake.framework == REFERENCE else expected, found
    )
    return [
        f"{one.quantity} ({precision})" for precision, one in verdict.differences if not one.passed
    ]


if __name__ == "__main__":
    sys.exit(main())
