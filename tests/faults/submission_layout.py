"""Faults that the rules of suite.compliance.rules.submission_layout find, by check."""

from collections.abc import Iterator

from suite.bundle.layout import SYSTEM
from suite.bundle.machines import BOARD_DIGEST, MACHINE
from suite.submission.declaration import NAME
from tests.faults.edits.fault import Fault, of_first_run, of_submission, sealed
from tests.faults.edits.file_edits import set_run, set_system
from tests.faults.edits.log_edits import set_everywhere
from tests.faults.edits.submission_edits import (
    add_file,
    add_file_to_first_run,
    add_link,
    rename_framework,
    rename_workload,
    set_boards,
    set_value,
)


def _layout_faults() -> Iterator[Fault]:
    """Files, folders and names out of place."""
    yield of_submission("a file without a place", add_file("notes.txt"))
    yield of_submission(
        "a file without a place, in a run's folder", add_file_to_first_run("extra/file")
    )
    yield of_submission("a link without a place", add_link("more", "/etc"))
    yield of_submission(
        "a link in a run's folder", add_link("lenet/pytorch/run_2/more.txt", "/etc/passwd")
    )
    yield of_submission("another framework's folder", rename_framework("tensorflow"))
    yield of_submission("another workload's folder", rename_workload("resnet18"))
    yield of_submission("another organization", set_value(NAME, "organization", "globex"))
    yield of_submission("another round", set_value(NAME, "round", "v9"))


FIRST, SECOND = "0123456789abcdef", "fedcba9876543210"

FAULTS: dict[str, tuple[Fault, ...]] = {
    "submission-round": (
        *(
            of_submission(f"round {value!r} declared", set_value(NAME, "round", value))
            for value in ("banana", "v0.1")
        ),
        of_first_run(sealed("one run of another round", set_run("round", "v0.1"))),
    ),
    "submission-suite-version": (
        of_submission("another version declared", set_value(NAME, "suite_version", "0.1.0")),
    ),
    "submission-layout": tuple(_layout_faults()),
    "submission-organization": (
        of_first_run(
            sealed("a run for another organization", set_everywhere("organization", "globex"))
        ),
    ),
    "submission-text": (
        *(
            of_submission(f"notes {text!r}", set_value(NAME, "notes", text))
            for text in ("=1+1", " @SUM(A1)", "a\x07bell")
        ),
        *(
            of_submission(f"{name} {text!r}", set_value(NAME, name, text))
            for name, text in (("code.address", "=1+1"), ("code.commit", "the last one"))
        ),
    ),
    "submission-system": (
        *(
            of_first_run(sealed(f"one run on another {name}", set_system(name, "another")))
            for name in MACHINE
            if name not in ("device", BOARD_DIGEST)
        ),
        of_submission(
            "one run on another board of this kind",
            set_boards((FIRST, SECOND, SECOND), of_submission=SECOND),
        ),
        of_submission("two boards, and a run that names none", set_boards((None, FIRST, SECOND))),
        *(
            of_submission(
                f"another {name} in the submission's system.json",
                set_value(SYSTEM, name, "another"),
            )
            for name in ("cpu_model", "memory_size_bytes", "kernel")
        ),
    ),
    "submission-software": (
        of_first_run(sealed("one run with another Python", set_system("python", "3.12.1"))),
        of_first_run(
            sealed("one run with another NumPy", set_system("libraries", {"numpy": "1.26.0"}))
        ),
        of_first_run(
            sealed(
                "one run with another version of the framework",
                set_system("framework_version", "2.0.0"),
            )
        ),
    ),
}
