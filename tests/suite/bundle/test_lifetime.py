"""When the harness worked for a run: what is written reads back, and what the suite does not write
is refused."""

from dataclasses import replace
from typing import Any

import pytest

from suite.bundle.lifetime import Lifetime, read_lifetime

WRITTEN = Lifetime(process_ns=5, begin_ns=10, idle_ns=((20, 30), (70, 80)), closed_ns=100)


@pytest.mark.parametrize(
    "lifetime", [WRITTEN, replace(WRITTEN, process_ns=None, idle_ns=(), closed_ns=None)]
)
def test_what_is_written_reads_back(lifetime: Lifetime) -> None:
    assert read_lifetime(lifetime.to_dict()) == lifetime
    assert lifetime.to_dict()["clock"] == "CLOCK_MONOTONIC"


def test_bundles_of_earlier_versions_have_none() -> None:
    assert read_lifetime(None) is None


@pytest.mark.parametrize(
    "changed",
    [
        {"begin_ns": None},
        {"begin_ns": "10"},
        {"begin_ns": True},
        {"begin_ns": 101},
        {"begin_ns": -1},
        {"closed_ns": 2**63},
        {"closed_ns": 1.5},
        {"process_ns": "5"},
        {"idle_ns": None},
        {"idle_ns": [20, 30]},
        {"idle_ns": [[20]]},
        {"idle_ns": [[30, 20]]},
        {"idle_ns": [[20, "30"]]},
        {"idle_ns": [[1, 2]] * 101},
    ],
)
def test_what_the_suite_does_not_write_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="lifetime"):
        read_lifetime({**WRITTEN.to_dict(), **changed})


def test_a_lifetime_without_its_idle_windows_is_refused() -> None:
    values = {name: value for name, value in WRITTEN.to_dict().items() if name != "idle_ns"}
    with pytest.raises(ValueError, match="the key 'idle_ns' is missing"):
        read_lifetime(values)
