"""Verdicts on models: the numbers that a workload pins are nobody's own proof."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suite.catalog.workloads import (
    NARROW,
    WIDE,
    GoldenValues,
    Workload,
    load_workload,
    load_workloads,
)
from suite.errors import SuiteError
from suite.verify import verdict
from suite.verify.array_differences import Arrays
from suite.verify.probing import ProbedImplementation
from suite.verify.verdict import PARAMETER_COUNT

REFERENCE, OTHER = (
    ProbedImplementation(name, Path("python"), f"reference_impls.{name}.probe")
    for name in ("pytorch", "chainer")
)
LOGITS, LOSSES = (0.5, -1.0, 0.25), (2.0, 1.5)


@pytest.fixture
def workload() -> Workload:
    """LeNet-5 that pins a few numbers, without timed steps."""
    lenet = load_workload("lenet")
    return replace(
        lenet,
        verification=replace(lenet.verification, timed=None, golden=GoldenValues(LOGITS, LOSSES)),
    )


def arrays(
    logits: tuple[float, ...] = LOGITS, losses: tuple[float, ...] = LOSSES, size: int = 61_706
) -> dict[str, Arrays]:
    """What a probe writes of a model with one parameter, by precision."""
    both = {"parameter/w": np.zeros(size), "gradient/w": np.ones(1), "loss": np.array(2.0)}
    both |= {"logits": np.array([[*logits], [9.0] * len(logits)]), "losses": np.array(losses)}
    return {WIDE: both, NARROW: both}


def missed(
    workload: Workload, computed: dict[str, dict[str, Arrays]], *subjects: ProbedImplementation
) -> dict[str, set[str]]:
    """Of each implementation the quantities that miss their tolerances."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(
            verdict, "probe_both", lambda implementation, *others: computed[implementation.name]
        )
        made = verdict.verify_implementations(workload, REFERENCE, subjects, lambda line: None)
    return {
        subject.name: {one.quantity for _, one in subject.differences if not one.passed}
        for subject in made.subjects
    }


def test_a_reference_that_computes_something_else_is_not_its_own_proof(workload: Workload) -> None:
    """PyTorch with a tanh in place of a ReLU agrees with itself."""
    assert missed(workload, {"pytorch": arrays()}, REFERENCE) == {"pytorch": set()}
    other = arrays((0.5, -1.0, 0.26), (2.0, 1.5))
    assert missed(workload, {"pytorch": other}, REFERENCE) == {"pytorch": {"golden logits"}}
    assert missed(workload, {"pytorch": arrays(losses=(2.0, 1.4))}, REFERENCE) == {
        "pytorch": {"golden losses"}
    }


@pytest.mark.parametrize("size", [61_705, 61_707])
def test_a_reference_has_as_many_parameters_as_the_workload_says(
    workload: Workload, size: int
) -> None:
    found = missed(workload, {"pytorch": arrays(size=size)}, REFERENCE)
    assert found == {"pytorch": {PARAMETER_COUNT}}


def test_another_is_not_compared_with_such_a_reference(workload: Workload) -> None:
    with pytest.raises(
        SuiteError,
        match=("The reference pytorch no longer computes the golden logits and golden losses that"),
    ):
        missed(workload, {"pytorch": arrays((0.0,) * 3, (1.0, 1.0)), "chainer": arrays()}, OTHER)


def test_of_two_that_differ_the_pinned_numbers_say_which_is_wrong(workload: Workload) -> None:
    found = missed(
        workload, {"pytorch": arrays((0.5, -1.0, 0.26)), "chainer": arrays()}, REFERENCE, OTHER
    )
    assert "golden logits" in found["pytorch"]
    assert not {name for name in found["chainer"] if name.startswith("golden")}


def test_what_the_probe_showed_is_said_before_the_timed_steps(
    workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which take minutes, and may be interrupted."""
    shown: list[tuple[str, set[str]]] = []

    def interrupted(*settings: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(verdict, "probe_both", lambda *settings: arrays())
    monkeypatch.setattr(verdict, "timed_reference", interrupted)
    timed = load_workload("lenet").verification.timed
    with pytest.raises(KeyboardInterrupt):
        verdict.verify_implementations(
            replace(workload, verification=replace(workload.verification, timed=timed)),
            REFERENCE,
            [replace(OTHER, train=("true",))],
            lambda line: None,
            found_part=lambda name, found: shown.append((name, {one.quantity for _, one in found})),
        )
    ((name, quantities),) = shown
    assert (name, "golden logits" in quantities) == ("chainer", True)


@pytest.mark.parametrize("shape", [(0,), (2, 2), (40,)])
def test_outputs_of_another_shape_are_a_difference(
    shape: tuple[int, ...], workload: Workload
) -> None:
    found = arrays()
    found[WIDE] = {**found[WIDE], "logits": np.zeros(shape)}
    assert "golden logits" in missed(workload, {"pytorch": found}, REFERENCE)["pytorch"]


@pytest.mark.parametrize("workload_", load_workloads(), ids=lambda each: each.name)
def test_every_workload_pins_numbers_of_every_step(workload_: Workload) -> None:
    golden, settings = workload_.verification.golden, workload_.verification
    assert golden is not None
    assert len(golden.losses) == len(settings.learning_rates)
    assert len(golden.logits) == min(settings.classes, verdict.GOLDEN_LOGITS)
    assert max(map(abs, golden.logits)) > 0.1, "far from what a network of zeros computes"
