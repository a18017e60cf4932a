"""What the mutation score tries: every fault of every check, and the documented survivors, which
no check can find."""

from collections.abc import Iterator
from dataclasses import dataclass

from suite.compliance.registry import all_checks
from tests.faults import all_faults
from tests.faults.edits.fault import Fault, recomputed
from tests.faults.edits.log_edits import add_correct, set_accuracy, set_everywhere
from tests.faults.edits.table_edits import (
    count_fetch_as_copy,
    halve_all_times,
    scale_power,
    set_cell,
)

CONSISTENT = "every record in the bundle agrees; only repeating the run contradicts it"


@dataclass(frozen=True)
class Mutation:
    """A fault and the id of the check that must find it; None, with the reason, if none can."""

    fault: Fault
    check: str | None
    reason: str = ""

    @property
    def name(self) -> str:
        """The check, what was changed, and the fault."""
        return f"{self.check or 'survivor'}: {self.fault.scope.name}: {self.fault.name}"


def survivors() -> tuple[Mutation, ...]:
    """Faults that leave a bundle that could be true: nothing in it contradicts anything else."""
    faults = {
        recomputed("another seed everywhere", set_everywhere("seed", 77)): CONSISTENT,
        recomputed("an accuracy a sample better, with its count", add_correct(1, 1)): CONSISTENT,
        recomputed(
            "an accuracy lowered below the target, with its count", set_accuracy(1, 0.97)
        ): CONSISTENT,
        recomputed(
            "a tenth less power", scale_power(0.9)
        ): "there was no second meter; sensors differ by a tenth",
        recomputed(
            "one step's loss", set_cell("loss", 50, 1.75)
        ): "losses scatter more than that from step to step",
        recomputed(
            "every time of the run halved, in log, steps, readings and meters' records",
            halve_all_times(),
        ): "a faster machine would have written these records",
        recomputed(
            "one step's fetch counted as copying", count_fetch_as_copy(50)
        ): "only the training loop measures the parts of a step",
    }
    return tuple(Mutation(fault, None, reason) for fault, reason in faults.items())


def rule_mutations() -> Iterator[Mutation]:
    """Every fault of every check."""
    for _, check in all_checks():
        yield from (Mutation(fault, check.id) for fault in all_faults()[check.id])


def all_mutations() -> tuple[Mutation, ...]:
    """Every mutation, the survivors last."""
    return (*rule_mutations(), *survivors())
