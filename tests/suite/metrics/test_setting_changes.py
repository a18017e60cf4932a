"""Changes of the power mode during a run: found with their times from the meter's readings, and a
rule's warning."""

from pathlib import Path

import pandas
import pytest

from suite.bundle.channels import Channels
from suite.bundle.readings_table import channels_of_frame
from suite.compliance.checker import check_bundle
from suite.meters.meter import MeteredProcess
from suite.meters.sources.setting_changes import PowerModeMeter
from suite.metrics.disturbances import find_setting_changes
from suite.metrics.machine_figures import channel_statistics, recorded_disturbances
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.power_mode_edits import claim_jetson, lower_limits_in_mid_run

COLUMNS = ["t_ns", "source", "channel", "value", "unit"]
RUN = (10, 100)


def readings(*rows: tuple[int, str, float]) -> Channels:
    """Readings of the meter ``power-mode`` at these times."""
    return channels_of_frame(
        pandas.DataFrame(
            [(t_ns, "power-mode", name, value, "Hz") for t_ns, name, value in rows], columns=COLUMNS
        )
    )


def test_only_changes_within_the_run_count() -> None:
    found = find_setting_changes(
        readings(
            (1, "policy0.max", 2.0),
            (5, "policy0.max", 1.0),
            (50, "policy0.max", 2.0),
            (200, "policy0.max", 1.0),
        ),
        *RUN,
    )
    assert [(change.t_ns, change.before, change.after) for change in found] == [(50, 1.0, 2.0)]


def test_the_count_of_changes_is_no_setting_and_settings_have_no_mean() -> None:
    channels = readings((1, "changed", 0), (50, "changed", 1), (51, "policy0.max", 2.0))
    assert find_setting_changes(channels, *RUN) == () and channel_statistics(channels, RUN) == []


def test_a_summary_has_the_changes_only_where_the_meter_read() -> None:
    read = recorded_disturbances(readings((1, "cores", 4.0), (60, "cores", 2.0)), RUN, False)
    assert read["settings"] == [
        {"channel": "cores", "at_s": 50e-9, "before": 4.0, "after": 2.0, "unit": "Hz"}
    ]
    assert "settings" not in recorded_disturbances(
        channels_of_frame(pandas.DataFrame([], columns=COLUMNS)), RUN, False
    )


def test_what_the_meter_reads_is_what_is_found(tmp_path: Path) -> None:
    policy = tmp_path / "sys/devices/system/cpu/cpufreq/policy0"
    policy.mkdir(parents=True)
    (policy / "scaling_max_freq").write_text("1800000\n")
    meter = PowerModeMeter(tmp_path)
    meter.open(MeteredProcess(1, tmp_path))
    rows = [meter.read(), meter.read()]
    (policy / "scaling_max_freq").write_text("600000\n")
    rows += [meter.read()]
    assert [len(row) for row in rows] == [2, 1, 2], "a setting is written when it changes"
    taken = pandas.DataFrame(
        [(r.t_ns, r.source, r.channel, r.value, r.unit) for row in rows for r in row],
        columns=COLUMNS,
    )
    (change,) = find_setting_changes(
        channels_of_frame(taken), int(taken["t_ns"].min()), int(taken["t_ns"].max())
    )
    assert (change.channel, change.before, change.after) == ("policy0.max", 1.8e9, 6e8)


def test_a_governor_that_changes_during_the_run_is_found(tmp_path: Path) -> None:
    policy = tmp_path / "sys/devices/system/cpu/cpufreq/policy0"
    policy.mkdir(parents=True)
    (policy / "scaling_available_governors").write_text("performance schedutil \n")
    (policy / "scaling_governor").write_text("schedutil\n")
    meter = PowerModeMeter(tmp_path)
    meter.open(MeteredProcess(1, tmp_path))
    rows = [meter.read()]
    (policy / "scaling_governor").write_text("performance\n")
    rows += [meter.read()]
    assert meter.settings() == {"policy0.governor": "performance schedutil"}
    taken = pandas.DataFrame(
        [(r.t_ns, r.source, r.channel, r.value, r.unit) for row in rows for r in row],
        columns=COLUMNS,
    )
    (change,) = find_setting_changes(
        channels_of_frame(taken), int(taken["t_ns"].min()), int(taken["t_ns"].max())
    )
    assert (change.channel, change.before, change.after, change.unit) == (
        "policy0.governor",
        1,
        0,
        "governor",
    )


def test_a_change_is_a_warning_with_its_time_and_a_remedy(good_bundle: Path) -> None:
    bundle = EditableBundle(good_bundle)
    lower_limits_in_mid_run(bundle)
    bundle.save(recomputed=True)
    verdict = check_bundle(good_bundle)
    found = [finding for finding in verdict.findings if finding.check == "power-mode-steady"]
    assert verdict.complies and len(found) == 2
    assert (
        "policy0.max from 2.2e+09 to 1.1e+09 Hz" in found[1].observed
        and "s after run_start" in found[1].observed
        and "cool the processor better" in found[1].fix
    )


@pytest.mark.parametrize(
    ("mode", "complies"), [("MAXN: 12 cores up to 2202 MHz", True), (None, False)]
)
def test_a_jetson_in_the_closed_division_needs_its_mode(
    mode: str | None, complies: bool, good_bundle: Path
) -> None:
    bundle = EditableBundle(good_bundle)
    claim_jetson("orin", mode, mode="MAXN")(bundle)
    bundle.save(recomputed=True)
    assert (
        "power-mode-known" not in {finding.check for finding in check_bundle(good_bundle).findings}
    ) == complies


def test_the_mode_s_id_agrees_with_the_readings(good_bundle: Path) -> None:
    bundle = EditableBundle(good_bundle)
    lower_limits_in_mid_run(bundle)
    claim_jetson("orin", "MODE_30W", mode_id=2)(bundle)
    bundle.save(recomputed=True)
    (finding,) = (
        finding
        for finding in check_bundle(good_bundle).findings
        if finding.check == "power-mode-known"
    )
    assert "mode_id = 0" in finding.expected and "mode_id = 2" in finding.observed
