"""The options that make an original run again."""

from pathlib import Path

from suite.bundle.reader import Bundle
from suite.bundle.request import read_request
from suite.catalog.precisions import Precision
from suite.experiments.replication.originals import Original, options_of


def test_a_run_is_made_again_in_its_precision_and_in_the_frameworks_own_where_it_names_none(
    good_bundle: Path,
) -> None:
    bundle = Bundle(good_bundle)
    request = read_request(bundle.run(), "run.json")
    named = request._replace(precision=Precision.BF16_MIXED.value)
    asked = [
        options_of(Original(bundle, one), "lab", None, None).precision for one in (request, named)
    ]
    assert asked == [None, Precision.BF16_MIXED]
