"""A training that takes turns with the harness."""

import array
import sys
from pathlib import Path

from reference_impls.contract import DataSet, Start
from reference_impls.state_file import Progress, write_state
from reference_impls.turns.messages import STEP_TIMES
from reference_impls.turns.training import WARM_UP
from suite.launch.turns import Side, start_training
from tests.builders import Scenario, make_request


def test_an_adaptation_makes_way_without_its_checkpoint_and_its_old_task(
    digits: Path, tmp_path: Path
) -> None:
    """Its steps take as long with other weights, and have no training state."""
    checkpoint = str(tmp_path / "checkpoint.npz")
    write_state(checkpoint, {"parameter/weights": array.array("d", [0.5])}, Progress(1, 1))
    data = DataSet("digits", str(digits), "idx", 10, 1438, 359, False, False)
    request = make_request(tmp_path, Scenario(framework="fake"))._replace(
        data=data, threads=1, start=Start("other", checkpoint, []), old_task=data
    )
    side = Side(request, "reference_impls.fake.implementation", Path(sys.executable))
    with start_training(side, tmp_path / "training"):
        rows = (tmp_path / "training" / STEP_TIMES).read_text(encoding="ascii").splitlines()
    assert len(rows) > WARM_UP
