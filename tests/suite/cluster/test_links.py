"""Measuring links leaves nothing behind."""

from pathlib import Path

import pytest

from suite.cluster.links import measure_links
from suite.launch.placement import Placement
from tests.launchers import interrupted_launcher, with_ctrl_c


@pytest.mark.slow
def test_ctrl_c_ends_the_processes_that_mpirun_started_in_a_new_session(tmp_path: Path) -> None:
    launcher = interrupted_launcher(tmp_path / "bin")
    with with_ctrl_c(), pytest.raises(KeyboardInterrupt):
        measure_links(Placement(("pi1", "pi2")), launcher.interpreter)
    launcher.assert_nothing_runs()
