"""Figures of a run on two nodes whose clocks differ by two months and drift: energy, bytes on the
wire, and readings per node."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pandas
import pytest

from reference_impls import contract
from suite.bundle import frames
from suite.bundle.layout import BASELOAD, READINGS, SUMMARY
from suite.bundle.log import run_window
from suite.bundle.node_records import NODES, read_nodes
from suite.bundle.reader import Bundle
from suite.catalog.power import Coverage, Tier, load_power_rules
from suite.cli.results import show_result
from suite.errors import FileError, SuiteError
from suite.execution.run import RunResult
from suite.files.json_file import write_json
from suite.metrics.figure import Sensor
from suite.metrics.left_out import refuse_left_out
from suite.metrics.node_readings import node_readings
from suite.metrics.power_totals import write_power_rules
from suite.metrics.summary import Summary, derive_summary
from tests.builders import AHEAD_NS, Scenario, make_bundle, wire_bytes_per_s

POWER_W, IDLE_W = 5.0, 2.0
SCENARIO = Scenario(ranks=2, nodes=2, power_w=POWER_W, idle_w=IDLE_W, step_s=0.0025)
OTHER, OTHER_IDLE = "readings.node1.parquet", "baseload.node1.parquet"

SHELLY = Sensor(("shelly",), ("shelly",), Coverage.WALL, Tier.WALL_METER)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two nodes, each with a plug that reads 5 W, 2 W before the run."""
    path = make_bundle(tmp_path_factory.mktemp("nodes") / "run", SCENARIO)
    for table, power_w in (
        (READINGS, POWER_W),
        (OTHER, POWER_W),
        (BASELOAD, IDLE_W),
        (OTHER_IDLE, IDLE_W),
    ):
        readings = frames.read_readings(path / table)
        readings.loc[readings["source"] == "shelly", "value"] = power_w
        frames.write_table(readings, path / table)
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    """A fresh copy."""
    return Path(shutil.copytree(made, tmp_path / "run"))


def seconds(path: Path) -> float:
    window = run_window(Bundle(path).log())
    assert window is not None
    return (window[1] - window[0]) * 1e-9


def edit(path: Path, change: Callable[[pandas.DataFrame], pandas.DataFrame]) -> Summary:
    """The summary with other readings of the second node."""
    changed = change(frames.read_readings(path / OTHER)).astype(frames.READING_TYPES)
    frames.write_table(changed, path / OTHER)
    write_power_rules(path, ["shelly", *changed["source"].unique()])
    return derive_summary(Bundle(path))


def test_a_meter_of_the_second_node_alone_can_be_left_out(path: Path) -> None:
    """The first node has a plug of another kind."""
    change = {"source": {"shelly": "tasmota"}}
    edit(path, lambda readings: readings.replace(change))
    for meter in ("shelly", "tasmota"):
        refuse_left_out(Bundle(path), meter, "loose")
    with pytest.raises(SuiteError, match="those that count: shelly, tasmota"):
        refuse_left_out(Bundle(path), "um25c", "loose")


def test_energy_is_the_sum_over_the_nodes(path: Path) -> None:
    summary = derive_summary(Bundle(path))
    energy, epoch = summary.figures["energy_j"], summary.figures["energy_per_epoch_j"]
    assert energy.value == pytest.approx(2 * POWER_W * seconds(path), rel=1e-6)
    assert (energy.method, energy.sensor) == ("sum over 2 nodes", SHELLY)
    assert epoch.value == pytest.approx(2 * POWER_W * summary.epochs[1].end_to_end_s, rel=1e-6)
    assert summary.epochs[1].energy_j == pytest.approx(epoch.value)
    assert [node["figures"]["energy_j"]["value"] for node in summary.nodes] == pytest.approx(
        [energy.value / 2] * 2
    )


def test_baseload_is_that_of_every_node_and_its_share_is_of_the_whole_energy(path: Path) -> None:
    idle = frames.read_readings(path / OTHER_IDLE)
    frames.write_table(idle.assign(value=3.0), path / OTHER_IDLE)
    summary = derive_summary(Bundle(path))
    power, share = summary.figures["baseload_power_w"], summary.figures["baseload_share"]
    assert power.value == pytest.approx(IDLE_W + 3.0)
    assert (power.method, power.sensor) == ("sum over 2 nodes", SHELLY)
    assert share.value == pytest.approx((IDLE_W + 3.0) / (2 * POWER_W), rel=1e-6)
    assert summary.figures["baseload_per_epoch_j"].value == pytest.approx(
        (IDLE_W + 3.0) * float(summary.figures["time_to_epoch_s"].value or 0)
    )
    of_nodes = [node["figures"]["baseload_share"]["value"] for node in summary.nodes]
    assert of_nodes == pytest.approx([IDLE_W / POWER_W, 3.0 / POWER_W], rel=1e-6)


def test_a_node_that_was_not_measured_idle_leaves_no_baseload_and_is_named(path: Path) -> None:
    (path / OTHER_IDLE).unlink()
    figures = derive_summary(Bundle(path)).figures
    for name in ("baseload_power_w", "baseload_per_epoch_j", "baseload_share"):
        assert figures[name].value is None
        assert (
            figures[name].reason
            == "not every node has a baseload (node1: the idle machine was not measured before the"
            " run); measured on: node0"
        )
    assert figures["energy_j"].value is not None


def dead_after(path: Path, share: float) -> Summary:
    """The summary with a sensor of the second node that dies after this share of the run."""
    start_ns, _ = run_window(Bundle(path).log()) or (0, 0)
    dead_ns = start_ns + AHEAD_NS + round(seconds(path) * share * 1e9)
    return edit(
        path,
        lambda readings: readings[(readings["source"] != "shelly") | (readings["t_ns"] < dead_ns)],
    )


def test_a_sensor_that_died_in_the_last_epoch_leaves_the_mean_of_the_others_with_its_instrument(
    path: Path,
) -> None:
    figures = dead_after(path, 0.75).figures
    assert figures["energy_j"].value is None
    epoch = figures["energy_per_epoch_j"]
    assert (epoch.count, epoch.method, epoch.sensor) == (1, "sum over 2 nodes", SHELLY)


def test_a_sensor_that_died_on_one_node_leaves_the_idle_power_and_no_energy(path: Path) -> None:
    summary = dead_after(path, 0.5)
    assert summary.figures["baseload_power_w"].value == pytest.approx(2 * IDLE_W)
    for name in ("baseload_share", "energy_j"):
        assert "node1: power: the last reading is" in str(summary.figures[name].reason)
    assert summary.epochs[-1].energy_j is None


def test_a_run_without_a_record_of_its_nodes_has_neither_energy_nor_baseload(path: Path) -> None:
    (path / NODES).unlink()
    summary = derive_summary(Bundle(path))
    for name in ("energy_j", "baseload_power_w", "baseload_share"):
        reason = str(summary.figures[name].reason)
        assert "nodes.json, the record of their readings, is missing" in reason
    assert ({epoch.energy_j for epoch in summary.epochs}, summary.energies) == ({None}, [])


def test_a_node_without_a_sensor_leaves_no_energy_and_is_named(path: Path) -> None:
    figures = edit(path, lambda readings: readings[readings["source"] != "shelly"]).figures
    for name in ("energy_j", "energy_per_epoch_j"):
        assert figures[name].value is None
        assert (
            figures[name].reason
            == "not every node has an energy (node1: no power sensor was read); measured on: node0"
        )


def test_sensors_that_do_not_cover_the_same_are_not_added_up(path: Path) -> None:
    names = {"source": {"shelly": "ina3221"}, "channel": {"power": "VDD_IN"}}
    figures = edit(path, lambda readings: readings.replace(names)).figures
    assert (
        figures["energy_j"].reason
        == "the nodes' sensors cover different parts (node0: wall, node1: module)"
    )


def test_readings_of_all_nodes_are_on_rank_0s_clock_drift_included(path: Path) -> None:
    bundle = Bundle(path)
    first, second = node_readings(bundle, bundle.log(), load_power_rules())
    assert (first.node, second.node, second.ranks) == ("node0", "node1", (1,))
    assert abs(first.channels.head_ns - second.channels.head_ns).max() < 1000
    raw = bundle.channels(1).head_ns - AHEAD_NS - bundle.channels().head_ns
    # without the second pair of offsets they would be this far apart
    assert int(abs(raw).max()) > 10**5


def test_a_node_whose_clock_is_not_known_has_no_readings(path: Path) -> None:
    log = path / "log.txt"
    log.write_text(log.read_text().replace("clock_offsets_ns", "clock_offsets_lost"))
    bundle = Bundle(path)
    assert "no clock offset" in str(
        node_readings(bundle, bundle.log(), load_power_rules())[1].reason
    )
    assert "node1: the log has no clock offset" in str(
        derive_summary(bundle).figures["energy_j"].reason
    )


def test_bytes_on_the_wire_are_those_of_all_nodes_per_step(path: Path) -> None:
    summary = derive_summary(Bundle(path))
    steps = sum(epoch.steps for epoch in summary.epochs)
    figure = summary.figures["wire_bytes_per_step"]
    assert figure.value == pytest.approx(
        2 * wire_bytes_per_s(SCENARIO) * seconds(path) / steps, rel=1e-6
    )
    assert figure.method == "sent by eth0 of node0, eth0 of node1"
    assert (
        summary.nodes[1]["figures"]["received_bytes_per_step"]["reason"]
        == "eth0.received was not read"
    )


@pytest.mark.parametrize("later_s", [0.1, 0.2, 0.4])
def test_the_interval_of_bytes_on_the_wire_holds_those_that_were_sent(
    path: Path, later_s: float
) -> None:
    """Nothing is sent before run_start, which is between two readings half a second apart:
    interpolated, bytes are missing."""
    start_ns, stop_ns = (moment_ns + AHEAD_NS for moment_ns in run_window(Bundle(path).log()) or ())

    def from_run_start(readings: pandas.DataFrame) -> pandas.DataFrame:
        of_network = readings["source"] == "network"
        times_ns = readings["t_ns"].where(~of_network, readings["t_ns"] + round(later_s * 1e9))
        sent = (times_ns.clip(start_ns, stop_ns) - start_ns) * 1e-9 * wire_bytes_per_s(SCENARIO)
        return readings.assign(
            t_ns=times_ns, value=readings["value"].where(~of_network, sent)
        ).sort_values("t_ns")

    summary = edit(path, from_run_start)
    figure, steps = (
        summary.nodes[1]["figures"]["sent_bytes_per_step"],
        sum(epoch.steps for epoch in summary.epochs),
    )
    sent = wire_bytes_per_s(SCENARIO) * seconds(path) / steps
    assert figure["value"] < sent * 0.999
    assert figure["low"] < sent <= figure["high"] * (1 + 1e-12)
    whole = summary.figures["wire_bytes_per_step"]
    assert (
        whole.low is not None
        and whole.high is not None
        and whole.low < 2 * sent <= whole.high * (1 + 1e-12)
    )


def test_a_run_of_a_few_readings_has_no_bytes_per_step(tmp_path: Path) -> None:
    figure = derive_summary(
        Bundle(make_bundle(tmp_path / "short", Scenario(ranks=2, nodes=2)))
    ).figures["wire_bytes_per_step"]
    assert (figure.value, figure.reason) == (
        None,
        "eth0 of node0: the window is shorter than 10 reading periods of 0.5 s",
    )


def test_a_node_whose_interface_was_not_read_leaves_no_bytes(path: Path) -> None:
    figure = edit(path, lambda readings: readings[readings["source"] != "network"]).figures[
        "wire_bytes_per_step"
    ]
    assert (figure.value, figure.reason) == (None, "eth0 of node1: eth0.sent was not read")


def test_a_node_without_readings_carries_its_recorders_problem(path: Path) -> None:
    (path / OTHER).unlink()
    nodes = json.loads((path / NODES).read_text())
    nodes["nodes"][1]["problem"] = "Connection refused"
    (path / NODES).write_text(json.dumps(nodes))
    summary = derive_summary(Bundle(path))
    assert "node1: Connection refused" in str(summary.figures["energy_j"].reason)
    assert summary.nodes[1]["reason"] == "Connection refused"
    assert summary.nodes[0]["reason"] is None


def test_samples_and_loss_of_an_epoch_are_those_of_all_ranks(path: Path) -> None:
    epoch = derive_summary(Bundle(path)).epochs[1]
    assert epoch.samples == 60000
    steps = Bundle(path).steps_frame()
    of_epoch = steps[steps["epoch"] == 2]
    assert epoch.mean_loss == pytest.approx(of_epoch["loss"].mean())


def test_the_loss_of_an_epoch_with_a_nan_is_unknown(path: Path) -> None:
    steps = Bundle(path).steps_frame()
    steps.loc[(steps["epoch"] == 2) & (steps["rank"] == 1), "loss"] = float("nan")
    frames.write_table(steps, path / "steps.parquet")
    first, second, *_ = derive_summary(Bundle(path)).epochs
    assert first.mean_loss is not None and second.mean_loss is None


def test_a_rank_that_is_slower_is_seen_as_the_straggler(path: Path) -> None:
    steps = Bundle(path).steps_frame()
    steps[["fetch_stall_s", "copy_s", "compute_s", "communication_s"]] = 0.001, 0.0005, 0.008, 0.0
    steps.loc[steps["rank"] == 1, "compute_s"] *= 2
    steps.loc[steps["rank"] == 0, "communication_s"] += 0.0016
    frames.write_table(steps, path / "steps.parquet")
    summary = derive_summary(Bundle(path))
    first, second = summary.ranks
    assert (first["slowest_share"], second["slowest_share"]) == (0.0, 1.0)
    assert first["busy_ratio"] == pytest.approx(0.95 / (0.95 + 0.4)) and second[
        "busy_ratio"
    ] == pytest.approx(1.75 / 1.35)
    assert first["communication_s"] > second["communication_s"] == 0.0
    assert (first["samples"], second["samples"], second["node"]) == (90000, 90000, "node1")
    assert summary.figures["straggler_ratio"].value == pytest.approx(second["busy_ratio"])


def test_a_run_of_one_rank_has_neither_table(tmp_path: Path) -> None:
    values = derive_summary(Bundle(make_bundle(tmp_path / "one"))).to_dict()
    assert not {"ranks", "nodes"} & set(values)


def test_the_peak_of_every_rank_is_what_rank_0_logged(path: Path) -> None:
    log = path / "log.txt"
    events = [json.loads(line[len(contract.TOKEN) :]) for line in log.read_text().splitlines()]
    (told,) = (event for event in events if event["key"] == "peak_rss_of_ranks")
    told["value"] = [2**28, None]
    log.write_text("".join(f"{contract.TOKEN}{json.dumps(event)}\n" for event in events))
    assert [rank["peak_rss_bytes"] for rank in derive_summary(Bundle(path)).ranks] == [2**28, None]


@pytest.mark.parametrize(
    "change",
    [
        {"ranks": []},
        {"ranks": [-1]},
        {"node": 3},
        {"link": {"interface": 7}},
        {"colour": "red"},
        {"host": "node0"},
        {"meters": {}},
    ],
    ids=str,
)
def test_a_malformed_nodes_file_is_refused(change: dict[str, object], path: Path) -> None:
    nodes = json.loads((path / NODES).read_text())
    nodes["nodes"][1].update(change)
    (path / NODES).write_text(json.dumps(nodes))
    with pytest.raises(FileError):
        read_nodes(Bundle(path))


def test_the_command_names_the_slowest_rank_and_the_nodes_that_were_not_measured(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path / OTHER).unlink()
    write_json(path / SUMMARY, derive_summary(Bundle(path)).to_dict())
    show_result(RunResult(path, "finished", None), False)
    said = capsys.readouterr().out
    assert (
        "slowest rank                   0 on node0: busy time 1.000 times the mean of 2 ranks"
        in said
    )
    assert "NOT MEASURED: node1: the node has no readings" in said


def test_the_command_shows_the_wires_limit_beside_the_exchange(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = derive_summary(Bundle(path)).to_dict()
    for name, value in (
        ("exchange_span_s", 0.025),
        ("wire_limit_s", 0.02),
        ("wire_limit_share", 0.8),
    ):
        summary["figures"][name]["value"] = value
    write_json(path / SUMMARY, summary)
    show_result(RunResult(path, "finished", None), False)
    assert (
        "exchange                       0.025 s per update, of which the nodes' links need at"
        " least 0.02 s (80%)" in capsys.readouterr().out
    )
