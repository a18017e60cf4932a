"""The mistakes of `make prove mistakes` in PyTorch's models and steps, made in an implementation
outside the checkout: `make prove strangers`.

It is PyTorch's, behind the commands and files of docs/implementing.md, and its probe stays honest
where the mistake is in float32 only. ``python -m proofs.strangers [TEXT…]`` takes the mistakes
whose names contain one of the texts. A program that a mistake ended shows no tolerance that was
missed: it is counted by itself. Exit code 1 if a mistake is noticed by nothing, or the honest one
misses a tolerance or ends.

Resumable: the rows of a campaign of all mistakes are kept until it has ended.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from proofs.figures import hand_over
from proofs.mistakes.__main__ import IN_THE_COPY, clean, copy_sources
from proofs.mistakes.mistake import PROBE, Mistake, made
from proofs.mistakes.mistakes import MISTAKES
from proofs.proof import find_proof
from proofs.strangers.mistakes import OF_DEEP_NETWORKS
from suite.catalog.frameworks import REFERENCE, load_framework, load_implementation
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.launch.environments import find_environment
from suite.verify.probing import ProbedImplementation, build_probe
from suite.verify.timed_steps import timed_differences
from suite.verify.verdict import judge_implementation, probe_both, shapes_of

TRAIN = """
from reference_impls.main import main
from reference_impls.pytorch.implementation import build

main(build)
"""
ANSWER = """
import json
import sys
from pathlib import Path

import numpy as np

from reference_impls.communication import World
from reference_impls.probe import probe, read_probe_request
from reference_impls.pytorch.probe import ProbedPyTorchModel

path = Path(sys.argv[2])
values = json.loads(path.read_text())
del values["inputs"]  # drawn from the seed, as reference_impls.probe does
path.write_text(json.dumps(values))
request = read_probe_request(str(path))
for name, value in probe(request, ProbedPyTorchModel(request), World()).items():
    np.save(Path(request.output) / f"{name}.npy", value)
"""


KEPT_IN = "STRANGERS_KEPT_IN"


def stranger(root: Path) -> ProbedImplementation:
    """PyTorch's implementation in the copy ``root``, in a folder of its own."""
    folder = root / "stranger"
    folder.mkdir()
    found_in = f"import sys\n\nsys.path.insert(0, {str(root)!r})\n"
    (folder / "train.py").write_text(found_in + TRAIN)
    (folder / "probe.py").write_text(found_in + ANSWER)
    interpreter = find_environment(load_framework(REFERENCE)).interpreter
    (folder / "framework.toml").write_text(
        f'name = "stranger"\ntitle = "Stranger"\ntrain = ["{interpreter}", "train.py"]\nprobe ='
        f' ["{interpreter}", "probe.py"]\ncapabilities = ["training-states"]\n'
    )
    framework = load_implementation(folder)
    return build_probe(framework, find_environment(framework))


@dataclass(frozen=True)
class Outcome:
    """The quantities that miss a tolerance, or the ``error`` that ended the program before they
    could be compared."""

    missed: tuple[str, ...] = ()
    error: str | None = None


def outcome(one: Mistake, implementation: ProbedImplementation) -> Outcome:
    """What shows a mistake."""
    definition, expected, timed, _ = clean(one.workload, one.batch_size)
    try:
        outputs = probe_both(implementation, definition, shapes_of(expected))
        found = judge_implementation(implementation, definition, expected, outputs)
        steps = timed_differences(implementation, timed)
    except SuiteError as error:
        # what the program said, without its command: that names folders of this machine
        return Outcome(error=re.sub(r" \(`.*?`\)", "", " ".join(str(error).split()))[:100])
    every = [*(each for _, each in found.differences), *steps]
    return Outcome(tuple(each.quantity for each in every if not each.passed))


def score(texts: Sequence[str]) -> int:
    """Make every chosen mistake of PyTorch's in this copy."""
    root = repository_root()
    assert str(root) == os.path.realpath(os.environ[IN_THE_COPY])
    own = [one for one in MISTAKES if (one.proof, one.framework) == (PROBE, REFERENCE)]
    return table([*own, *OF_DEEP_NETWORKS], stranger(root), root, texts, Path(os.environ[KEPT_IN]))


def table(
    mistakes: Sequence[Mistake],
    implementation: ProbedImplementation,
    root: Path,
    texts: Sequence[str],
    kept: Path,
) -> int:
    """Make every mistake whose name has one of the ``texts`` (none: all), after the honest one of
    its workload, and print a row for each. ``kept`` has the rows of a campaign of all that was
    broken off."""
    chosen = [one for one in mistakes if not texts or any(text in one.name for text in texts)]
    if texts:
        kept = Path(tempfile.mkdtemp(prefix="strangers-"))
    kept.mkdir(parents=True, exist_ok=True)
    print("| mistake | workload | noticed by | ended by | s |\n|---|---|---|---|---|")
    honest, mistaken = [], []
    for workload in dict.fromkeys(one.workload for one in chosen):
        honest.append(row(Mistake("none", "", "", "", "", PROBE, workload), implementation, kept))
        for one in chosen:
            if one.workload == workload:
                with made(one, root):
                    mistaken.append(row(one, implementation, kept))
    shutil.rmtree(kept)
    accused = sum(each != Outcome() for each in honest)
    hand_over(
        mistakes=len(mistaken),
        noticed=sum(bool(each.missed) for each in mistaken),
        ended=sum(each.error is not None for each in mistaken),
        honest_ones_accused=accused,
    )
    return int(accused > 0 or Outcome() in mistaken)


def row(one: Mistake, implementation: ProbedImplementation, kept: Path) -> Outcome:
    """Print what a mistake comes to; returns it, and keeps it."""
    path = kept / f"{re.sub('[^a-z0-9]+', '-', f'{one.workload} {one.name}'.lower())}.json"
    if path.is_file():
        found, time_s = read_row(path)
    else:
        clean(one.workload, one.batch_size)
        started_s = time.monotonic()
        found = outcome(one, implementation)
        time_s = time.monotonic() - started_s
        path.write_text(json.dumps([asdict(found), time_s]), encoding="utf-8")
    print(
        f"| {one.name} | {one.workload} | {', '.join(found.missed) or '—'} | {found.error or '—'} |"
        f" {time_s:.0f} |",
        flush=True,
    )
    return found


def read_row(path: Path) -> tuple[Outcome, float]:
    """What a mistake came to, and its seconds."""
    found, time_s = json.loads(path.read_text(encoding="utf-8"))
    return Outcome(tuple(found["missed"]), found["error"]), time_s


def main() -> int:
    """Copy the sources, start again inside the copy, and print the table there."""
    if IN_THE_COPY in os.environ:
        return score(sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="strangers-") as folder:
        copy_sources(Path(folder))
        return subprocess.run(
            [sys.executable, "-m", "proofs.strangers", *sys.argv[1:]],
            cwd=folder,
            env={
                **os.environ,
                IN_THE_COPY: folder,
                KEPT_IN: str(find_proof("strangers").kept),
                "PYTHONPATH": folder,
            },
        ).returncode


if __name__ == "__main__":
    sys.exit(main())
