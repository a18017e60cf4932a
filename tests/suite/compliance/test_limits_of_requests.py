"""Requests of closed runs at the limits of the rules."""

from typing import Any

import pytest

from suite.catalog.workloads import load_workload
from suite.compliance.rule import BundleContext
from tests.checks_alone import found, log, request_of, varied

EPOCH = 1875


def ranks(batch_size: int, **parallel: Any) -> dict[str, Any]:
    """Two ranks that share mini-batches."""
    return {"global_batch_size": batch_size, "parallel": {"ranks": 2, **parallel}}


@pytest.mark.parametrize(
    ("check", "workload", "changes", "is_refused"),
    [
        *(
            ("closed-tuning-range", "lenet", {"global_batch_size": n}, n in (15, 33))
            for n in (15, 16, 32, 33)
        ),
        *(
            (
                "closed-tuning-range",
                "lenet",
                {"optimizer": {"base_learning_rate": n}},
                n in (4e-4, 0.11),
            )
            for n in (4e-4, 5e-4, 0.1, 0.11)
        ),
        ("closed-samples-per-rank", "resnet18", ranks(32), False),
        ("closed-samples-per-rank", "resnet18", ranks(31), True),
        ("closed-samples-per-rank", "resnet18", ranks(31, ranks=1), False),
        ("closed-samples-per-rank", "resnet18", ranks(31, normalisation="synchronised"), False),
        ("closed-samples-per-rank", "lenet", ranks(31), False),
        *(
            ("short-length", "lenet", {"steps": n}, n not in (4 * EPOCH, 9 * EPOCH))
            for n in (3 * EPOCH, 4 * EPOCH, 4 * EPOCH + 1, 9 * EPOCH, 10 * EPOCH)
        ),
    ],
)
def test_a_request(
    check: str, workload: str, changes: dict[str, Any], is_refused: bool, context: BundleContext
) -> None:
    made = request_of(varied(context, request=changes))
    object.__setattr__(made, "workload", load_workload(workload))
    assert bool(found(check, made)) is is_refused


@pytest.mark.parametrize(("four_epochs_s", "is_refused"), [(34_560.1, False), (34_559.9, True)])
def test_a_schedule_of_a_day_may_be_shortened(
    four_epochs_s: float, is_refused: bool, context: BundleContext
) -> None:
    """Its ten epochs take 86,400 s."""
    stops = [("epoch_stop", 1, 0, {"epoch_num": epoch}) for epoch in range(1, 5)]
    made = log(("run_start", 0, 0), *stops, ("run_stop", four_epochs_s, 0))
    given = varied(context, log=made, request={"steps": 4 * EPOCH})
    assert bool(found("short-needed", given)) is is_refused
