"""Student and teacher: the seal, the figures, a student that learned what the teacher labelled, and
the idle machine."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.layout import MANIFEST
from suite.compliance.faults.fault import of_viewpoint
from suite.compliance.faults.viewpoint_edits import (
    change_record,
    change_row,
    lose_rows,
    recomputed,
    resealed,
)
from suite.compliance.folder_rule import FolderKind, FolderRule, check_figures, check_whole_seal
from suite.compliance.rule import Violation
from suite.errors import SuiteError
from suite.metrics.viewpoint import FIGURES, as_dict, labels_of, read_results
from suite.metrics.viewpoint_records import SETTING, Recording, read_recording

ORDER = 101  # after the rules of replications
AGAIN = "do it again (`suite viewpoint`); records are never edited"
IDLE = ("cpu.idle", "least weight")
MARGIN = 1.1
"""CPU time may exceed the time's cores by this much: it is read at other moments than the load."""


def _sealed(folder: Path) -> Iterator[Violation]:
    """Compare the manifest with every file."""
    return check_whole_seal(folder, AGAIN)


def _recomputed(folder: Path) -> Iterator[Violation]:
    """Compute the figures from the raw records again and compare them, to 1e-9 relative."""
    return check_figures(folder, FIGURES, lambda records: as_dict(read_results(records)), AGAIN)


def _of_records(
    check: Callable[[Recording, Path], Iterator[Violation]],
) -> Callable[[Path], Iterator[Violation]]:
    """A check of records that can be read; `viewpoint-recompute` reports others."""

    def checked(folder: Path) -> Iterator[Violation]:
        with suppress(SuiteError):
            yield from check(read_recording(folder), folder)

    return checked


def _learned(found: Recording, folder: Path) -> Iterator[Violation]:
    """Compare the models' sizes, the order of the work, and what the student trained on."""
    if found.student.parameters >= found.teacher.parameters:
        yield Violation(
            "student.json",
            f"fewer than the teacher's {found.teacher.parameters} parameters",
            f"{found.student.parameters}",
            AGAIN,
        )
    if found.student.start_ns < found.teacher.end_ns:
        yield Violation(
            "student.json",
            "a student that trains after its teacher has labelled",
            "one that began before",
            AGAIN,
        )
    labels, trained = labels_of(found, folder), sum(step.samples for step in found.steps)
    expected = labels.frames * found.setting.epochs
    if trained != expected:
        yield Violation(
            "steps.csv",
            f"{found.setting.epochs} epochs of the {labels.frames} kept frames: {expected} samples",
            f"{trained}",
            AGAIN,
        )
    for number, (step, following) in enumerate(
        zip(found.steps, found.steps[1:], strict=False), start=2
    ):
        if following.start_ns < step.end_ns:
            yield Violation(
                "steps.csv",
                "steps one after the other",
                "a step that begins before its predecessor ended",
                AGAIN,
                number + 1,
            )
            return


def _idle(found: Recording, _folder: Path) -> Iterator[Violation]:
    """Check how the student was kept to idle time, and that its CPU time and that of other programs
    fit the machine's cores."""
    setting, time_s = (
        found.setting,
        (found.student.end_ns - found.student.start_ns) * SECONDS_PER_NS,
    )
    if setting.idle not in IDLE:
        yield Violation(SETTING, f"idle = {' or '.join(IDLE)}", setting.idle[:100], AGAIN)
    if not 0 < found.student.cpu_s <= MARGIN * setting.cores * time_s:
        yield Violation(
            "student.json",
            f"CPU time above 0 and within {setting.cores} cores for {time_s:.1f} s",
            f"{found.student.cpu_s:.6g} s",
            AGAIN,
        )


def _more_correct(content: Any) -> None:
    content["views"][1]["after"]["value"] = 1.0


RULES = (
    FolderRule(
        kind=FolderKind.VIEWPOINT,
        id="viewpoint-sealed",
        sentence="The manifest of a student and its teacher seals every file.",
        rationale="It shows changed, lost and added files.",
        check=_sealed,
        faults=(
            of_viewpoint("an accuracy raised", change_record(FIGURES, _more_correct)),
            of_viewpoint(
                "the teacher's predictions lost", lambda folder: (folder / "teacher.csv").unlink()
            ),
            of_viewpoint("no manifest", lambda folder: (folder / MANIFEST).unlink()),
            of_viewpoint("a file added", lambda folder: (folder / "better.json").write_text("{}")),
        ),
    ),
    FolderRule(
        kind=FolderKind.VIEWPOINT,
        id="viewpoint-recompute",
        sentence=(
            "viewpoint.json follows from the raw records: the teacher's probabilities, every"
            " prediction, and the student's steps."
        ),
        rationale="Labels and accuracies can be counted again by anybody.",
        check=_recomputed,
        faults=(
            resealed("an accuracy raised", change_record(FIGURES, _more_correct)),
            resealed(
                "a wrong prediction corrected", change_row("student_after.csv", 0, "predicted", 0)
            ),
            resealed("a wrong label corrected", change_row("tracks.csv", 0, "label", 0)),
            resealed("an unsure track made sure", change_row("tracks.csv", 1, "confidence", 0.999)),
            resealed("tracks left out", lose_rows("tracks.csv", 5)),
            resealed("pictures left out", lose_rows("student_after.csv", 5)),
            resealed("another truth", change_row("student_after.csv", 0, "truth", 9)),
            resealed(
                "more storage",
                change_record(SETTING, lambda content: content.update(storage_bytes=10**9)),
            ),
            resealed(
                "a view that there is not",
                change_record(SETTING, lambda content: content.update(views_deg=[0, 30, 95])),
            ),
            resealed("steps outside the training", change_row("steps.csv", 0, "start_ns", 1)),
        ),
    ),
    FolderRule(
        kind=FolderKind.VIEWPOINT,
        id="viewpoint-student",
        sentence=(
            "The student is smaller than its teacher, and trained every epoch on all kept frames,"
            " after they were labelled."
        ),
        rationale=(
            "A student as large as its teacher shows no compression, and frames that the teacher"
            " was not sure of have no label."
        ),
        check=_of_records(_learned),
        faults=(
            recomputed(
                "a larger student",
                change_record("student.json", lambda content: content.update(parameters=10**6)),
            ),
            recomputed("steps left out", lose_rows("steps.csv", 3)),
            recomputed(
                "another number of epochs",
                change_record(SETTING, lambda content: content.update(epochs=7)),
            ),
            recomputed(
                "a teacher that was still at work",
                change_record("teacher.json", lambda content: content.update(end_ns=10**12)),
            ),
            recomputed(
                "a step within another one", change_row("steps.csv", 1, "start_ns", 110 * 10**9 + 1)
            ),
        ),
    ),
    FolderRule(
        kind=FolderKind.VIEWPOINT,
        id="viewpoint-idle",
        sentence=(
            "The student ran on idle CPU time only (a cgroup's cpu.idle or least weight), and its"
            " CPU time fits the machine."
        ),
        rationale="Training in place must take nothing from what the node is there for.",
        check=_of_records(_idle),
        faults=(
            recomputed(
                "an ordinary priority",
                change_record(SETTING, lambda content: content.update(idle="none")),
            ),
            recomputed(
                "more CPU time than cores",
                change_record("student.json", lambda content: content.update(cpu_s=1000.0)),
            ),
            recomputed(
                "no CPU time",
                change_record("student.json", lambda content: content.update(cpu_s=0.0)),
            ),
        ),
    ),
)
