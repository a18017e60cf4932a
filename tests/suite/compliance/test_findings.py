"""What findings say: golden examples. A vendor must be able to act on each: which step, epoch,
rank, file, by how much."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from suite.compliance.checker import check_bundle
from suite.compliance.wording import (
    joined_names,
    numbers_text,
    ranks_text,
    seconds_text,
    value_text,
)
from tests.builders import RICH, make_bundle
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Edit
from tests.faults.edits.file_edits import set_run, set_system
from tests.faults.edits.log_edits import remove_event, set_event, set_everywhere, shift_event
from tests.faults.edits.table_edits import scale_column, set_cell


def cut_first_epoch(bundle: EditableBundle) -> None:
    """End the run within its first epoch, which is evaluated."""
    bundle.request["steps"] = 5
    bundle.events = [
        event for event in bundle.events if (event["metadata"].get("epoch_num") or 1) == 1
    ]
    bundle.steps = bundle.steps[bundle.steps["epoch"] == 1]


GOLDEN: tuple[tuple[str, Edit, str], ...] = (
    (
        "steps-in-time",
        set_cell("copy_s", 500, -0.5),
        "copy_s of 0 s or more on rank 0 | -0.5 s in step 501 of epoch 1; 1 such step",
    ),
    (
        "epoch-filled",
        scale_column("compute_s", 0.5),
        (
            "fetch, copy, compute and communication together to take at least 90% of every epoch | "
            "less in 3 of 3 epochs (1 to 3), least in epoch 3: 5.155 s of 9.375 s (55%)"
        ),
    ),
    (
        "epoch-ends",
        shift_event("epoch_stop", 1, -50_000_000),
        (
            "epoch_stop of epoch 2 at the end of its last step (within 0.01 s) | "
            "0.050 s before the end of step 3750"
        ),
    ),
    (
        "epochs-in-order",
        remove_event("eval_accuracy", 1),
        "one evaluation after each of the epochs 1 to 3 | 2 evaluations, after epochs 1, 3",
    ),
    (
        "epochs-in-order",
        cut_first_epoch,
        (
            "no evaluation: the requested number of steps ends within epoch 1 | "
            "1 evaluation, after epoch 1"
        ),
    ),
    (
        "losses-possible",
        set_cell("loss", 500, -1.0),
        "finite losses of zero or more | -1.0 in step 501 of epoch 1 on rank 0; 1 such step",
    ),
    (
        "log-agrees-with-request",
        set_event("seed", value={"a": 1, "b": 2}),
        "seed = 1, as run.json requests | an object with a, b",
    ),
    (
        "command-agrees",
        set_run("command", ["suite", "run", "--seed", "9"]),
        "seed = 9, as the command says (--seed 9) | 1",
    ),
    (
        "data-as-defined",
        set_everywhere("data.train_samples", 30_000),
        "data.train_samples = 60000, as MNIST handwritten digits has | 30000",
    ),
    (
        "cores-described",
        set_system("cpu_cores", 1),
        "readings of at most 1 core, the number in system.json | readings of 2 cores",
    ),
)


@pytest.mark.parametrize(("rule", "edit", "text"), GOLDEN, ids=[rule for rule, *_ in GOLDEN])
def test_a_finding_says_where_and_by_how_much(
    rule: str, edit: Edit, text: str, tmp_path: Path
) -> None:
    bundle = EditableBundle(make_bundle(tmp_path / "run", RICH))
    edit(bundle)
    bundle.save(recomputed=True)
    finding = next(
        finding for finding in check_bundle(bundle.path).findings if finding.check == rule
    )
    assert f"{finding.expected} | {finding.observed}" == text


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (numbers_text, [3, 1, 2, 5], "1 to 3, 5"),
        (numbers_text, [], "none"),
        (numbers_text, range(0, 40, 2), "0, 2, 4, 6, 8, 10, 12, 14 and 12 more"),
        (numbers_text, [2, 1, 2], "1 to 2"),
        (ranks_text, [2], "rank 2"),
        (ranks_text, range(4), "ranks 0 to 3"),
        (ranks_text, (), "no rank"),
        (joined_names, "abcdefgh", "a, b, c, d, e, f, g, h"),
        (joined_names, "abcdefghi", "a, b, c, d, e, f, g, h and 1 more"),
        (value_text, None, "nothing"),
        (value_text, {"v" * 41: 1, "w": 2}, f"an object with {'v' * 40}, w"),
        (value_text, {}, "an empty object"),
        (value_text, [1, 2], "a list of 2"),
        (value_text, "x" * 999, repr("x" * 999)[:200]),
        (seconds_text, 0.05, "0.050 s"),
        (seconds_text, 123.456, "123.5 s"),
    ],
)
def test_values_in_words(write: Callable[[Any], str], value: Any, text: str) -> None:
    assert write(value) == text
