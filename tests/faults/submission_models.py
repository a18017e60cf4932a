"""Faults that the rules of suite.compliance.rules.submission_models find, by check."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from suite.catalog.workloads import GOLDEN, OF_STATES
from suite.compliance.rules.submission_models import ROUNDED
from suite.submission.declaration import NAME
from suite.submission.folder_names import PROBES
from tests.faults.edits.fault import Fault, in_turn, of_submission
from tests.faults.edits.file_edits import edit_json
from tests.faults.edits.submission_edits import (
    add_file,
    delete_folder,
    rename_implementation,
    set_run_value,
    set_value,
)
from tests.relabelled import relabel

OTHER_PROBES = (
    ("accelerator", "cuda"),
    ("passed", False),
    ("passed", "yes"),
    ("workload", "vgg11"),
    ("model", "lenet4"),
)


def _set_in_verdict(name: str, value: object) -> Callable[[Path], None]:
    return set_value(f"{PROBES}/*.json", name, value)


def _verdicts_with(values: Sequence[tuple[str, object]]) -> Iterator[Fault]:
    for name, value in values:
        yield of_submission(f"a verdict with {name} = {value!r}", _set_in_verdict(name, value))


def _without_rounding(submission: Path) -> None:
    """Set the error of every timed quantity to 0."""
    for number in range(FIRST_TIMED, FIRST_TIMED + len(ROUNDED)):
        _set_in_verdict(f"subjects.0.differences.{number}.error", 0.0)(submission)


def train_by_other_files(submission: Path) -> None:
    """Set the digest of the implementation's files in runs, verdict and declaration."""
    digest = "1" * 64
    for number in range(1, 4):
        set_run_value(number, "implementation.sha256", digest)(submission)
    _set_in_verdict("subjects.0.implementation_sha256", digest)(submission)
    set_value(NAME, "implementations.0.sha256", digest)(submission)


def hand_over_no_states(submission: Path) -> None:
    """Make the implementation one from elsewhere whose verdict compares no training states."""
    for path in submission.glob(f"{PROBES}/*.json"):
        edit_json(
            path,
            "subjects.0.differences",
            lambda every: [one for one in every if one["quantity"] not in OF_STATES],
        )
    rename_implementation("lenet-c")(submission)


FIRST_TIMED = 1 + len(GOLDEN)
"""Of the differences of the reference's verdict, after the number of parameters and the pinned
numbers."""


OTHER_IMPLEMENTATIONS: tuple[object, ...] = ("1" * 64, None)


FIRST, PINNED, TIMED = (f"subjects.0.differences.{number}" for number in (0, 1, FIRST_TIMED + 1))


OTHER_TOLERANCES: tuple[tuple[str, object], ...] = (
    (f"{FIRST}.tolerance", 0.5),
    (f"{FIRST}.quantity", "loss"),
    (f"{FIRST}.precision", "float32"),
    ("subjects.0.parameters", 44_426),
    ("expected_parameters", 44_426),
    ("reference", "lenet-c"),
    ("accelerator", "cuda"),
    (f"{PINNED}.error", 0.37),
    (f"{PINNED}.quantity", "logits"),
    (f"{TIMED}.tolerance", 0.5),
    (f"{TIMED}.quantity", "losses"),
)


OTHER_RESULTS: tuple[tuple[str, object], ...] = (
    (f"{FIRST}.error", 0.37),
    (f"{FIRST}.error", None),
    (f"{FIRST}.passed", False),
    ("subjects.0.differences", []),
    ("subjects.0.name", "numpy"),
    ("subjects.0.digests", {"float64": "0"}),
    ("suite_version", "0.1.0"),
    ("subjects", []),
)


FAULTS: dict[str, tuple[Fault, ...]] = {
    "submission-equivalence": (
        of_submission("no verdict on the model", delete_folder(PROBES)),
        *_verdicts_with(OTHER_PROBES),
    ),
    "submission-verdicts": (
        *_verdicts_with(OTHER_RESULTS),
        of_submission(
            "a verdict on an implementation without runs",
            add_file(f"{PROBES}/lenet-chainer.json"),
        ),
    ),
    "submission-tolerances": (
        *_verdicts_with(OTHER_TOLERANCES),
        of_submission("a verdict without rounding", _without_rounding),
        of_submission(
            "an implementation without its differences", rename_implementation("lenet-c")
        ),
    ),
    "submission-timed-states": (
        of_submission("an implementation without training states", hand_over_no_states),
    ),
    "submission-batch-size": (
        of_submission(
            "a verdict on smaller mini-batches",
            _set_in_verdict("timed_batch_size", 4),
        ),
    ),
    "submission-implementation": (
        *(
            of_submission(
                f"a verdict on the files {value!r}",
                _set_in_verdict("subjects.0.implementation_sha256", value),
            )
            for value in OTHER_IMPLEMENTATIONS
        ),
        *(
            of_submission(
                f"a run by the files {value!r}",
                set_run_value(2, "implementation.sha256", value),
            )
            for value in (*OTHER_IMPLEMENTATIONS, "1")
        ),
        of_submission(
            "another title of the same files",
            in_turn(relabel, set_run_value(2, "implementation.title", "Rust")),  # today's files
        ),
        of_submission(
            "a run without a record of its implementation",
            set_run_value(2, "implementation", None),
        ),
        of_submission(
            "other files declared", set_value(NAME, "implementations.0.sha256", "1" * 64)
        ),
        of_submission("no implementation declared", set_value(NAME, "implementations", [])),
    ),
    "submission-own-files": (
        of_submission("runs by a changed implementation", train_by_other_files),
    ),
}
