"""Student and teacher: a student that learned what the teacher labelled, and the idle machine."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from reference_impls.contract import SECONDS_PER_NS
from suite.compliance.folder_rule import OfFolder, RecordFolder
from suite.compliance.rule import Rule, Violation, Violations
from suite.errors import SuiteError
from suite.extensions.viewpoint.record.records import SETTING, Recording, read_recording
from suite.extensions.viewpoint.record.results import STUDENT, labels_of

ORDER = 101  # after the rules of replications
RECORD = STUDENT
AGAIN = STUDENT.again
IDLE = ("cpu.idle", "least weight")
MARGIN = 1.1
"""CPU time may exceed the time's cores by this much: it is read at other moments than the load."""


def _of_records(
    check: Callable[[Recording, Path], Violations],
) -> Callable[[RecordFolder], Violations]:
    """A check of records that can be read; `record-recomputes` reports others."""

    def checked(folder: RecordFolder) -> Violations:
        with suppress(SuiteError):
            yield from check(read_recording(folder.path), folder.path)

    return checked


def _learned(found: Recording, folder: Path) -> Violations:
    """Compare the models' sizes, the order of the work, and what the student trained on."""
    if found.student.parameters >= found.teacher.parameters:
        yield Violation(
            "student.json",
            f"fewer than the teacher's {found.teacher.parameters} parameters",
            f"{found.student.parameters}",
        )
    if found.student.start_ns < found.teacher.end_ns:
        yield Violation(
            "student.json",
            "a student that trains after its teacher has labelled the frames",
            "a student that began earlier",
        )
    labels, trained = labels_of(found, folder), sum(step.samples for step in found.steps)
    expected = labels.frames * found.setting.epochs
    if trained != expected:
        yield Violation(
            "steps.csv",
            f"{found.setting.epochs} epochs of the {labels.frames} kept frames: {expected} samples",
            f"{trained}",
        )
    for number, (step, following) in enumerate(
        zip(found.steps, found.steps[1:], strict=False), start=2
    ):
        if following.start_ns < step.end_ns:
            yield Violation(
                "steps.csv",
                "a step that begins only when its predecessor has ended",
                "a step that begins earlier",
                number + 1,
            )
            return


def _idle(found: Recording, _folder: Path) -> Violations:
    """Check how the student was kept to idle time, and that its CPU time and that of other programs
    fit the machine's cores."""
    setting = found.setting
    time_s = (found.student.end_ns - found.student.start_ns) * SECONDS_PER_NS
    if setting.idle not in IDLE:
        yield Violation(SETTING, f"idle = {' or '.join(IDLE)}", setting.idle)
    if not 0 < found.student.cpu_s <= MARGIN * setting.cores * time_s:
        yield Violation(
            "student.json",
            f"CPU time above 0 s, and at most {MARGIN:g} x {setting.cores} cores x {time_s:.1f} s",
            f"{found.student.cpu_s:.6g} s",
        )


RULES = (
    Rule(
        "viewpoint-student",
        "The student is smaller than its teacher. It was trained, in every epoch, on all kept"
        " frames, after they were labelled.",
        "A student as large as its teacher shows no compression. Students learn only from"
        " labelled frames: those that the teacher was sure of.",
        AGAIN,
        (OfFolder("viewpoint-student", _of_records(_learned)),),
    ),
    Rule(
        "viewpoint-idle",
        "The student ran only in idle CPU time (in a cgroup with cpu.idle or the lowest weight),"
        " and its CPU time is at most 10 % more than the machine's cores could give.",
        "Training on the node must not slow down the node's own work.",
        AGAIN,
        (OfFolder("viewpoint-idle", _of_records(_idle)),),
    ),
)
