"""The structure of models as they were built: what differs from the suite's, and active dropout, is
refused with the remedy."""

import hashlib
import re

import pytest

from reference_impls import structure
from reference_impls.contract import ContractError
from reference_impls.structure import STRUCTURES, Layer, described, layers_as_built
from suite.files.paths import repository_root

LENET = (
    Layer("conv1", (6, 1, 5, 5), has_bias=True),
    Layer("conv2", (16, 6, 5, 5), has_bias=True),
    Layer("fc1", (120, 400), has_bias=True),
    Layer("fc2", (84, 120), has_bias=True),
    Layer("fc3", (10, 84), has_bias=True),
)


def test_a_description_says_what_shapes_do_not_say() -> None:
    layers = (
        Layer("bn", (8,), True, epsilon=1e-5, momentum=1 - 0.9),
        Layer("a", (8, 1, 3, 3), False, stride=2, groups=8),
        LENET[4],
    )
    assert described(layers, 10) == [
        "a, 8x1x3x3, stride 2, groups 8",
        "bn, 8, epsilon 1e-05, momentum 0.1, bias",
        "fc3, classesx84, bias",
    ]


def test_a_model_has_the_same_structure_for_any_number_of_classes() -> None:
    assert described((*LENET[:4], Layer("fc3", (144, 84), has_bias=True)), 144) == described(
        LENET, 10
    )


def test_the_page_lists_the_layers_of_every_model() -> None:
    page = (repository_root() / "docs" / "layers.md").read_text(encoding="utf-8")
    listed = re.findall(r"`(\w+)`, SHA-256 `(\w+)`.*?```text\n(.*?)\n```", page, re.DOTALL)
    assert {name for name, _, _ in listed} == STRUCTURES.keys() - {"resnet50_imagenet"}
    for name, digest, lines in listed:
        assert STRUCTURES[name] == digest == hashlib.sha256(lines.encode()).hexdigest()


def test_the_layers_of_lenet_are_its_structure() -> None:
    assert layers_as_built("lenet5", "a library", reversed(LENET), (), 10) == {
        "layers": 5,
        "sha256": STRUCTURES["lenet5"],
        "dropout": 0.0,
    }


@pytest.mark.parametrize(
    "changed",
    [
        Layer("fc3", (10, 84), has_bias=False),
        Layer("fc3", (10, 83), has_bias=True),
        Layer("fc4", (10, 84), has_bias=True),
        Layer("fc3", (10, 84, 1, 1), has_bias=True),
    ],
    ids=["no bias", "another shape", "another name", "a convolution"],
)
def test_other_layers_are_refused_with_the_library_and_the_remedy(changed: Layer) -> None:
    with pytest.raises(
        ContractError,
        match=r"lenet5 that torchvision 0\.11 built has other layers .*suite env create",
    ):
        layers_as_built("lenet5", "torchvision 0.11", (*LENET[:4], changed), (), 10)


def test_an_active_dropout_is_refused() -> None:
    with pytest.raises(ContractError, match=r"torchvision 0\.11 built has a dropout of 0\.2"):
        layers_as_built("lenet5", "torchvision 0.11", LENET, (0.0, 0.2), 10)


def test_a_model_of_somebody_else_is_described_and_not_judged() -> None:
    built = layers_as_built("theirs", "a library", LENET[:2], (), 10)
    assert "theirs" not in structure.STRUCTURES and built["layers"] == 2
