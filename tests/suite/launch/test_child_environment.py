"""The environment of an implementation: no library computes in TF32 unless that is requested,
whatever the environment of the harness says."""

from suite.launch.child_environment import SUITE_VARIABLES, child_environment

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


def test_the_runs_own_settings_win_over_those_of_the_shell() -> None:
    """Else a run would compute with other threads, or another memory, than it records."""
    own = child_environment(3, {})
    assert child_environment(3, dict.fromkeys(own, "of the shell")) == own
