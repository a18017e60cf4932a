"""Bytes that nodes exchange where a part of the model is trained."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checks_alone import context_of, found
from tests.faults.edits.fault import in_turn, save_after
from tests.faults.edits.file_edits import set_link
from tests.faults.edits.log_edits import request_also
from tests.faults.edits.rank_log_edits import add_to_all_logs
from tests.faults.edits.reading_edits import scale_readings
from tests.faults.edits.table_edits import change_second_node, scale_unit

LENET_PARAMETERS = 61_706
HEAD_PARAMETERS = 850
HEAD = {"names": ["fc3.bias", "fc3.weight"], "parameters": HEAD_PARAMETERS}


@pytest.mark.parametrize(("of_head", "findings"), [(1.0, 0), (0.5, 2)])
def test_nodes_that_train_a_part_exchange_the_gradients_of_that_part(
    of_head: float, findings: int, good_bundle_of: Callable[[int], Path]
) -> None:
    """On a link too slow for those of the whole model."""
    bundle = good_bundle_of(2)
    share = of_head * HEAD_PARAMETERS / LENET_PARAMETERS
    edits = in_turn(
        request_also("trains", {"parameters": ["fc3.*"], "statistics": "frozen"}),
        add_to_all_logs("trained", [HEAD, HEAD]),
        set_link(1, speed_mbit_s=10),
        scale_readings("network", "", share),
        change_second_node(scale_unit("B", share)),
    )
    save_after(edits)(bundle)
    assert len(found("links-carry", context_of(bundle))) == findings
