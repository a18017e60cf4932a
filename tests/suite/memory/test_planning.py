"""Plans: parts, verdicts, and the sentences for what cannot be planned."""

import pytest

from suite.errors import SuiteError
from suite.memory.network import Network, Operation, load_network
from suite.memory.planning import Workplace, plan_memory
from suite.memory.resident import Resident
from suite.memory.sizes import parse_size

FRAMEWORK = Resident(300_000_000, "of this test")


def workplace(
    name: str = "resnet50", image: int = 224, optimizer: str = "sgd-momentum"
) -> Workplace:
    return Workplace(load_network(name), image, optimizer, FRAMEWORK)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("2GB", 2_000_000_000),
        ("1.5 GB", 1_500_000_000),
        ("800MB", 800_000_000),
        ("2GiB", 2**31),
        ("1gb", 10**9),
        ("512kB", 512_000),
    ],
)
def test_gb_is_ten_to_the_nine_bytes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["2", "GB", "-1GB", "2 gigs", "1e3GB", "", "0GB", "nan GB"])
def test_other_sizes_are_refused(text: str) -> None:
    with pytest.raises(SuiteError, match=r"not a size of memory|holds nothing"):
        parse_size(text)


def test_a_plan_that_fits_needs_no_recomputation() -> None:
    made = plan_memory(workplace(), 8, 4_000_000_000)
    assert made.fits
    assert made.schedule is not None
    assert made.schedule.cost.recompute_factor == 1
    assert made.planned_bytes is not None
    assert made.planned_bytes <= made.peak_bytes, "gradients do not gather"


@pytest.mark.proof
def test_a_plan_that_does_not_fit_says_what_does() -> None:
    made = plan_memory(workplace("resnet152"), 8, 1_500_000_000)
    assert not made.fits
    assert made.schedule is not None and made.planned_bytes is not None
    assert made.planned_bytes <= 1_500_000_000
    assert 1 < made.schedule.cost.recompute_factor < 1.3
    assert made.largest_batch_size is not None and made.largest_image is not None
    assert plan_memory(workplace("resnet152"), made.largest_batch_size, 1_500_000_000).fits
    assert not plan_memory(workplace("resnet152"), made.largest_batch_size + 1, 1_500_000_000).fits
    assert plan_memory(workplace("resnet152", made.largest_image), 8, 1_500_000_000).fits


@pytest.mark.parametrize(("budget_bytes", "largest"), [(2_000_000_000, 32), (500_000_000, None)])
def test_a_network_of_one_picture_size_has_no_larger_one(
    budget_bytes: int, largest: int | None
) -> None:
    made = plan_memory(workplace("workload-vgg11", 32), 128, budget_bytes)
    assert made.largest_image == largest
    assert made.fits == (largest is not None)


def test_a_picture_that_is_too_small_for_the_network_is_not_the_largest_that_fits() -> None:
    """All gradients fit at no size, the largest layer's alone fits: only a schedule does."""
    rows = (
        Operation("x", "input", ()),
        Operation("a", "conv", ("x",), "a", 1_000_000, channels=4, kernel=(16, 16)),
        Operation("b", "conv", ("a",), "b", 1_000_000, channels=4),
    )
    network = Network("large_kernel", "", "", (3, 32, 32), rows)
    made = plan_memory(Workplace(network, 32, "sgd", FRAMEWORK), 1, 314_000_000)
    assert made.schedule is not None and made.largest_image is None


def test_a_large_budget_fits_what_it_says_and_no_more() -> None:
    budget_bytes = 128_000_000_000
    batch = plan_memory(workplace("workload-lenet", 28), 1, budget_bytes).largest_batch_size
    assert batch is not None and batch > 100_000
    assert plan_memory(workplace("workload-lenet", 28), batch, budget_bytes).fits
    assert not plan_memory(workplace("workload-lenet", 28), batch + 1, budget_bytes).fits
    image = plan_memory(workplace("workload-resnet18", 32), 1, budget_bytes).largest_image
    assert image is not None and image > 4096
    assert plan_memory(workplace("workload-resnet18", image), 1, budget_bytes).fits
    assert not plan_memory(workplace("workload-resnet18", image + 8), 1, budget_bytes).fits


@pytest.mark.parametrize(("optimizer", "words"), [("sgd", 0), ("sgd-momentum", 1), ("adam", 2)])
def test_the_optimizers_state_is_counted(optimizer: str, words: int) -> None:
    assert (
        plan_memory(workplace(optimizer=optimizer), 1, 3_000_000_000).state_bytes
        == words * 4 * 25_557_032
    )


def test_a_budget_below_the_weights_is_refused_with_one_that_works() -> None:
    with pytest.raises(
        SuiteError, match=r"does not train in 400 MB .*give at least --budget (\d+)MB"
    ) as refused:
        plan_memory(workplace(), 8, 400_000_000)
    least = int(str(refused.value).split("give at least --budget ")[1].split("MB")[0]) * 1_000_000
    assert plan_memory(workplace(), 1, least).schedule is not None


@pytest.mark.proof
def test_a_mini_batch_that_no_schedule_fits_is_refused_with_one_that_does() -> None:
    with pytest.raises(SuiteError, match=r"use --batch-size (\d+), or --budget") as refused:
        plan_memory(workplace(), 64, 800_000_000)
    batch = int(str(refused.value).split("--batch-size ")[1].split(",")[0])
    assert plan_memory(workplace(), batch, 800_000_000).schedule is not None
