"""Every mutation, by what it spoils; and those that nothing can find, with the reason."""

from collections.abc import Callable, Iterator

from suite.compliance.editing import EditableBundle
from tests.mutation.file_faults import figure_faults, file_faults, line_faults, machine_faults, record_faults
from tests.mutation.log_faults import accuracy, accuracy_faults, clock_faults, event_faults, everywhere, request_faults, run_time_scaled
from tests.mutation.mutation import Mutation, edit, forged
from tests.mutation.rank_faults import node_faults, one_more_correct, rank_faults
from tests.mutation.submission_faults import convergence_faults, duplicate_faults, layout_faults
from tests.mutation.table_faults import PARTS, cell, power_scaled, reading_faults, step_faults


def survivors() -> Iterator[Mutation]:
    """Faults that leave a bundle that could be true: nothing in it contradicts anything else."""
    alone = "every witness in the bundle says the same; the run has to be done again to contradict it"
    yield forged("another seed everywhere", None, everywhere("seed", 77), alone)
    yield forged("an accuracy a sample better, with its count", None, one_more_correct(1), alone)
    yield forged("an accuracy lowered below the target, with its count", None, accuracy(1, 0.97), alone)
    yield forged("a tenth less power", None, power_scaled(0.9), "no second meter was there; a tenth is what sensors differ by")
    yield forged("one step's loss", None, cell("loss", 50, 1.7), "losses scatter more than that from step to step")
    yield forged("every time of the run halved, in log and steps", None, all_times_halved(), "another, faster machine would have written just that")
    yield forged("one step's fetch counted as copying", None, fetch_as_copy(50), "only the training loop knows how a step's time is divided")


GROUPS: tuple[Callable[[], Iterator[Mutation]], ...] = (
    event_faults, clock_faults, accuracy_faults, request_faults, step_faults, reading_faults, machine_faults, figure_faults, record_faults,
    file_faults, line_faults, rank_faults, node_faults, duplicate_faults, layout_faults, convergence_faults, survivors,
)  # fmt: skip


def all_mutations() -> tuple[Mutation, ...]:
    """Every one, in order."""
    return tuple(mutation for group in GROUPS for mutation in group())


@edit
def all_times_halved(bundle: EditableBundle) -> None:
    """A run that was twice as fast, as log, steps and readings tell it."""
    start_ns = bundle.event("run_start")["metadata"]["mono_ns"]
    run_time_scaled(wall=0.5, monotonic=0.5)(bundle)
    bundle.steps[list(PARTS)] *= 0.5
    for table, column in ((bundle.steps, "start_ns"), (bundle.readings, "t_ns")):
        table[column] = start_ns + (table[column] - start_ns) // 2


@edit
def fetch_as_copy(bundle: EditableBundle, row: int) -> None:
    """A step whose batch was there at once, and took longer to copy."""
    bundle.steps.loc[row, "copy_s"] += bundle.steps.loc[row, "fetch_stall_s"]
    bundle.steps.loc[row, "fetch_stall_s"] = 0.0
