"""Measuring links leaves nothing behind."""

from pathlib import Path

import pytest

from suite.cluster.links import measure_links
from suite.launch.placement import Placement
from tests.launchers import hearing_ctrl_c, interrupted_launcher


@pytest.mark.slow
def test_ctrl_c_ends_what_mpirun_put_into_a_session_of_its_own(tmp_path: Path) -> None:
    launcher = interrupted_launcher(tmp_path / "bin")
    with hearing_ctrl_c(), pytest.raises(KeyboardInterrupt):
        measure_links(Placement(("pi1", "pi2")), launcher.interpreter)
    launcher.assert_nothing_runs()
