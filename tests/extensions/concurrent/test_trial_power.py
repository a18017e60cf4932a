"""The power of a tuning's trials: an option that needs it is refused where nothing measures it."""

import pytest

from suite.errors import SuiteError
from suite.extensions.concurrent.measuring import trial_power
from suite.extensions.concurrent.measuring.trial_power import refuse_without_meter


@pytest.mark.parametrize("option", ["--max-watts", "--minimise energy"])
def test_without_a_power_meter_the_option_is_refused(
    option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_power, "open_meters", lambda: ())
    with pytest.raises(SuiteError) as refused:
        refuse_without_meter(option)
    assert (
        str(refused.value)
        == f"{option} needs a power meter, and there is none here. Connect one (`suite doctor`"
        f" says how), or leave out {option}."
    )
