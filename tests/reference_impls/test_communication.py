"""What ranks share out and how gradients are put together; the exchange itself is tested in
tests/suite/verify/test_verify_ranks.py."""

import signal
import subprocess
import sys

import pytest

from reference_impls.communication import (
    ClockOffset,
    Machine,
    Plan,
    World,
    join,
    node_names,
    plan_buckets,
    whole_offsets,
)
from suite.files.paths import repository_root
from suite.launch.process import describe_signal


def test_buckets_fill_from_the_last_parameter_to_the_first() -> None:
    assert plan_buckets([10, 20, 30, 40], item_bytes=4, bucket_bytes=200) == Plan(
        [[3, 2], [1, 0]], [70, 30]
    )


def test_a_parameter_larger_than_a_bucket_has_one_of_its_own() -> None:
    assert plan_buckets([1000, 5], item_bytes=8, bucket_bytes=16) == Plan([[1], [0]], [5, 1000])


@pytest.mark.parametrize("bucket_bytes", [1, 100, 10**9])
def test_every_parameter_is_in_one_bucket(bucket_bytes: int) -> None:
    sizes = [7, 1, 300, 20, 20, 4]
    plan = plan_buckets(sizes, 4, bucket_bytes)
    assert sorted(place for members in plan.members for place in members) == list(range(len(sizes)))
    assert plan.lengths == [sum(sizes[place] for place in members) for members in plan.members]


def test_a_single_rank_is_a_world_of_size_one() -> None:
    world = join(1)
    assert type(world) is World
    assert (world.rank, world.size, world.allgather(3), world.gather(4), world.bcast(5)) == (
        0,
        1,
        [3],
        [4],
        5,
    )


def test_one_rank_imports_neither_mpi_nor_numpy() -> None:
    words = (
        "import sys; from reference_impls import communication, loop; communication.join(1); assert"
        " not {'mpi4py', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", words], check=True, cwd=repository_root())


def test_clock_offsets_add_up_along_the_tree() -> None:
    """Rank 7 was measured by rank 6, that one by rank 4, and that one by rank 0."""
    edges = {rank: ClockOffset(10**rank, rank) for rank in range(1, 8)}
    whole = whole_offsets(edges, 8)
    assert whole[0] == ClockOffset(0, 0)
    assert whole[4] == edges[4]
    assert whole[6] == ClockOffset(10**6 + 10**4, 10)
    assert whole[7] == ClockOffset(10**7 + 10**6 + 10**4, 17)


@pytest.mark.parametrize(
    ("machines", "names"),
    [
        ([("a", "pi1", "10.0.0.1"), ("b", "pi2", "10.0.0.2")], ["pi1", "pi2"]),
        (
            [("a", "raspberrypi", "10.0.0.1"), ("b", "raspberrypi", "10.0.0.2")],
            ["10.0.0.1", "10.0.0.2"],
        ),
        (
            [("a", "raspberrypi", None), ("b", "raspberrypi", None)],
            ["raspberrypi (a)", "raspberrypi (b)"],
        ),
        ([("a", "pi1", None), ("a", "pi1", None), ("b", "pi2", None)], ["pi1", "pi1", "pi2"]),
    ],
)
def test_machines_of_one_name_are_named_by_their_addresses(
    machines: list[tuple[str, str, str | None]], names: list[str]
) -> None:
    assert node_names([Machine(*each) for each in machines]) == names


def test_a_rank_that_hears_nothing_over_mpi_is_ended_by_an_alarm() -> None:
    words = (
        "import time; from reference_impls import communication;"
        " communication.MpiWorld = lambda size: time.sleep(3600);"
        " communication.JOIN_TIMEOUT_S = 1; communication.join(2)"
    )
    ended = subprocess.run([sys.executable, "-c", words], cwd=repository_root(), check=False)
    assert ended.returncode == -signal.SIGALRM
    assert describe_signal(signal.SIGALRM).startswith(
        "signal 14 (SIGALRM), which ends a rank that has not exchanged its first messages with all"
        " others over MPI within 300 s;"
    )
