"""Steps of a schedule in a process of PyTorch's environment: CPU time, and the highest resident
set."""

from dataclasses import dataclass

from suite.errors import SuiteError
from suite.memory.chain import Chain
from suite.memory.programs import answers_of
from suite.memory.schedule import Schedule


@dataclass(frozen=True)
class MeasuredStep:
    """One step: CPU seconds, and the highest resident set of the process so far (VmHWM)."""

    cpu_s: float
    peak_bytes: int


def measured_steps(
    network: str, image: int, batch: int, blocks: Chain, schedule: Schedule, steps: int
) -> tuple[MeasuredStep, ...]:
    """``steps`` steps on random pictures with one thread, after one that warms up. Raises
    SuiteError if the process ends early."""
    request = {
        "model": f"torchvision:{network}",
        "image": [3, image, image],
        "batch": batch,
        "classes": 1000,
        "threads": 1,
        "seed": 1,
        "blocks": [[block.first, block.last] for block in blocks],
        "schedule": [step.as_list for step in schedule.steps],
    }
    what = f"Training {network} with the schedule {schedule.name}"
    try:
        answers = answers_of(
            "reference_impls.pytorch.memory_steps", request, "\n" * (steps + 1), what
        )
    except SuiteError as error:
        raise SuiteError(
            error.problem, "lower --measure-below, or measure fewer --networks"
        ) from error
    return tuple(MeasuredStep(answer["cpu_s"], answer["VmHWM"]) for answer in answers[2:])
