"""The environment of an implementation: no library computes in TF32 unless that is requested,
whatever the environment of the harness says."""

import pytest

from suite.errors import SuiteError
from suite.launch.child_environment import SUITE_VARIABLES, child_environment, refuse_threads

CONTAINER = {
    "NVIDIA_TF32_OVERRIDE": "1",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1",
    "HOME": "/home/somebody",
}


def test_tf32_is_off_on_every_host_unless_it_is_requested() -> None:
    assert child_environment(2, CONTAINER)["NVIDIA_TF32_OVERRIDE"] == "0"
    assert "NVIDIA_TF32_OVERRIDE" in SUITE_VARIABLES


def test_the_frameworks_own_switch_decides_where_tf32_is_requested() -> None:
    assert "NVIDIA_TF32_OVERRIDE" not in child_environment(2, CONTAINER, tf32=True)


def test_what_a_container_sets_does_not_override_a_switch() -> None:
    for tf32 in (False, True):
        found = child_environment(2, CONTAINER, tf32=tf32)
        assert "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE" not in found and found["HOME"] == "/home/somebody"


def test_freed_memory_is_kept_and_in_a_budget_returned() -> None:
    kept, returned = child_environment(1, {}), child_environment(1, {}, in_budget=True)
    assert (kept["MALLOC_MMAP_MAX_"], int(kept["MALLOC_TRIM_THRESHOLD_"]) > 2**60) == ("0", True)
    assert returned["MALLOC_MMAP_THRESHOLD_"] == "262144" and "MALLOC_MMAP_MAX_" not in returned
    assert "PYTHONPATH" not in child_environment(1, {"PYTHONPATH": "/elsewhere"})


def test_threads_are_from_one_to_the_cores() -> None:
    for threads in (1, 4):
        refuse_threads(threads, cores=4)
    for threads, cores, words in ((0, 4, "on 4 cores"), (5, 4, "1 to 4"), (2, 1, "on 1 core;")):
        with pytest.raises(SuiteError, match=words):
            refuse_threads(threads, cores=cores)


def test_the_runs_own_settings_win_over_those_of_the_shell() -> None:
    """Else a run would compute with other threads, or another memory, than it records."""
    own = child_environment(3, {})
    assert child_environment(3, dict.fromkeys(own, "of the shell")) == own
