"""What commands print for a person, of records made for it: units, ends of intervals, and which of
several is named."""

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from reference_impls.contract import DataSet
from suite.catalog.reference_points import ReferencePoint, ReferenceRun
from suite.catalog.workloads import load_workload
from suite.cli import (
    cluster,
    data,
    explain,
    finish,
    power_modes,
    quick,
    reference,
    results,
    verify_model,
    watching,
)
from suite.cli.app import app
from suite.cli.durations import parse_duration, parse_limit
from suite.cli.json_output import expect_place
from suite.cluster.links import LinkMeasure, LinkMeasures
from suite.cluster.node_answers import Link, NodeAnswer, NodeFacts
from suite.errors import SuiteError
from suite.execution import events
from suite.execution.finish import FinishedRun
from suite.experiments.quick import QuickLook
from suite.machine.clock_domains import CPU, MEMORY, Clock
from suite.machine.modes.available_modes import AvailableModes, Domain, Turbo
from suite.machine.modes.restore_journal import JournalKind
from suite.machine.modes.set_and_restore import LeftSettings, PutBack
from suite.machine.nvpmodel import Model
from suite.machine.power_settings import PowerSettings
from suite.metrics.comparisons import Interval
from suite.metrics.figure import Figure
from suite.metrics.projection import TimeProjection
from suite.verify.array_differences import QuantityDifference
from tests.builders import Scenario, make_request


def lines(found: Iterable[str]) -> str:
    return "\n".join(found)


def test_a_board_s_modes_cores_and_clocks() -> None:
    steps = tuple(range(100_000_000, 100_000_000 * 43, 100_000_000))
    cpu = Domain(CPU, "policy0", "max", None, 1000, steps, None, None, governors=("ondemand",))
    other = Domain(CPU, "policy4", "max", None, 1000, (), None, None, governors=("ondemand", "no"))
    memory = Domain(MEMORY, "emc", "max", None, 1, (), 204_000_000, 3_199_000_000)
    mode = Model(
        2,
        "15W",
        (
            ("CPU_ONLINE", "CORE_0", "1"),
            ("CPU_ONLINE", "CORE_1", "1"),
            ("CPU_ONLINE", "CORE_2", "0"),
            ("CPU_DENVER_0", "MAX_FREQ", "1113600"),
            ("GPU", "MIN_FREQ", "114750000"),
            ("GPU", "MAX_FREQ", "420750000"),
            ("EMC", "MAX_FREQ", "0"),
        ),
    )
    switches = {1: "cpu1/online", 2: "cpu2/online"}
    available = AvailableModes(
        (mode,), (0, 1, 2), switches, (cpu, other, memory), Turbo("boost", "1", "0")
    )
    said = lines(power_modes._available_lines(available))
    assert "15W: 2 cores, CPU_DENVER_0 1114 MHz, GPU 421 MHz, EMC not limited" in said
    assert "Cores (--cores): 3; always on line: 0" in said
    assert "CPU clock policy0 (--cpu-mhz): 100 200 " in said and " 4000 MHz and 2 more" in said
    assert "policy4 (--cpu-mhz): the kernel does not list the frequencies" in said
    assert "memory (EMC) clock emc (--emc-mhz): 204 to 3199 MHz" in said
    assert "Governors (--governor): ondemand, no\n" in said, "each once"
    assert "Turbo (--turbo on|off): there is a switch" in said
    assert "no program jetson_clocks" in said and "none that the kernel controls" in said
    bare = lines(power_modes._available_lines(AvailableModes(cores=(0,), switches={0: "x"})))
    assert "always on line" not in bare and "no cpufreq" in bare and "no switch" in bare


def test_what_is_set_now_and_what_the_suite_left() -> None:
    clocks = (
        Clock(CPU, "policy0", (0, 1), None, 1_500_000_000, 0, 0, None, "ondemand"),
        Clock(MEMORY, "emc", (), 204_000_000, 665_600_000, 0, 0, None, None),
    )
    settings = PowerSettings(
        "nvpmodel", "15W", 2, differences=("CPU 0 off",), cores_online=(0, 3), clocks=clocks
    )
    said = lines(power_modes._setting_lines(settings))
    assert "  differs from the mode: CPU 0 off\nCores on line: 0, 3\n" in said
    assert "CPU clock policy0: ? to 1500 MHz, governor ondemand\n" in said
    assert "memory (EMC) clock emc: 204 to 666 MHz\nFan: unknown" in said
    unknown = PowerSettings(None, None, notes={"mode": "no cpufreq", "fan": "no fan"})
    said = lines(power_modes._setting_lines(unknown))
    assert said == "Power mode: unknown: no cpufreq\nCores on line: unknown\nFan: no fan"
    changes = tuple(f"file {number}" for number in range(10))
    left = LeftSettings(JournalKind.KEPT, "15W", 41, True, True, changes)
    found = power_modes._left_lines(left)
    assert found[0] == (
        "Set by `suite power set` (15W; process 41, which still runs). Different from before:"
    )
    assert found[8:] == [
        "  file 7",
        "  and 2 more",
        "To restore the earlier settings: suite power restore",
    ]
    cut = LeftSettings(JournalKind.KEPT, "", 41, False, False, changes[:8])
    found = power_modes._left_lines(cut)
    assert found[0].startswith(
        "Changed by a command that restores the earlier settings when it ends (several modes;"
    )
    assert "still runs" not in found[0] and "more" not in "".join(found)
    assert "2 power settings from before process 7 set 15W." in (
        power_modes.put_back_sentence(PutBack("15W", 7, ("a", "b")))
    )
    assert "power settings are as they were" in power_modes.put_back_sentence(PutBack("", 7, ()))


def facts(name: str, speed: int | None, unreached: dict[str, str] | None = None) -> NodeFacts:
    link = Link("eth0", "10.0.0.1", "ethernet", speed, None if speed else "it states none")
    return NodeFacts(name, "3.11", "1", "", None, None, {}, link, unreached=unreached or {})


def test_a_cluster_s_hosts_have_their_own_links(capsys: pytest.CaptureFixture[str]) -> None:
    """The third host is fit and the second is not: measures go by the fit ones' ranks."""
    answers = (
        NodeAnswer("pi1", True, facts("pi1", 1000)),
        NodeAnswer("pi2", False, None),
        NodeAnswer("pi3", True, None),
        NodeAnswer("pi4", True, facts("pi4", None)),
    )
    measure = LinkMeasure(1, "pi4", 0.0004, 94.26, 1, 0, -2_500_000, 40_000)
    cluster._show(
        cast(
            Any,
            SimpleNamespace(
                framework="pytorch",
                answers=answers,
                links=LinkMeasures((measure,), None),
                problems=(),
            ),
        )
    )
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "pi1              eth0 (ethernet, 1000 Mbit/s stated)"
    assert said[1:3] == ["pi2              no answer", "pi3              not ready"]
    assert said[3] == (
        "pi4              eth0 (ethernet, speed unknown: it states none); from the first node:"
        " round trip 0.4 ms, 94.3 Mbit/s, clock difference -2.5 ms ± 0.04 ms"
    )
    assert said[-1] == "These hosts can train together in PyTorch."
    assert [cluster._rate(rate) for rate in (99.94, 100.0, 940.6)] == [
        "99.9 Mbit/s",
        "100 Mbit/s",
        "941 Mbit/s",
    ]


def test_a_difference_stands_beside_its_tolerance() -> None:
    missed = QuantityDifference("loss", 2.5e-4, 1e-6, "step 2")
    assert verify_model._line(missed, 6) == "loss    2.5e-04  tolerance 1e-06  MISSED   step 2"
    met = QuantityDifference("loss", 2.5e-7, 1e-6, "")
    assert verify_model._line(met, 6) == "loss    2.5e-07  tolerance 1e-06  ok"
    unlike = QuantityDifference("loss", None, 1e-6, "fc1", "other shapes")
    assert verify_model._line(unlike, 6).endswith("—  tolerance 1e-06  MISSED  other shapes fc1")


@pytest.mark.parametrize("value", ["", "10", "10 s", "1d", "-5s", "s", "1e3s"])
def test_what_is_no_duration_is_refused(value: str) -> None:
    with pytest.raises(SuiteError, match="--within"):
        parse_duration(value, "--within")


def test_durations_are_read_by_their_unit() -> None:
    said = {"250ms": 0.25, "1.5s": 1.5, "10m": 600.0, "8h": 28_800.0}
    assert {text: parse_duration(text, "--within") for text in said} == said
    for typed, write in {
        "10": "10h for hours, 10m for minutes, 10s for seconds",
        "8hours": "write 8h\\.",
        "30 s": "write 30s\\.",
        "2Min": "write 2m\\.",
    }.items():
        with pytest.raises(SuiteError, match=write):
            parse_duration(typed, "--within")
    for nothing in ("0", "0.0", "0h"):
        with pytest.raises(SuiteError, match=f"--within {nothing} leaves no time"):
            parse_limit(nothing, "--within")
    with pytest.raises(SuiteError, match="'' is not a duration"):
        parse_limit("", "--within")


def point(*runs: tuple[int, bool]) -> ReferencePoint:
    made = (
        ReferenceRun(f"run-{number}", "pytorch", number, epochs, reached, "")
        for number, (epochs, reached) in enumerate(runs)
    )
    return ReferencePoint("lenet", 16, 0.01, 1, tuple(made))


def test_a_reference_point_s_expectation_has_both_ends() -> None:
    said = reference._expectation(point((4, True), (5, True), (6, True)))
    assert said == "5 epochs, 95% interval 4 to 6 (bootstrap over 3 runs)"
    said = reference._expectation(point((4, True), (10, False)))
    assert "14 epochs, 95% interval at least 4" in said, "some draws reach it in no run"
    assert "no run reached" in reference._expectation(point((10, False)))


def test_a_waiting_training_says_so_from_a_quarter_on(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(stall_s: float | None, epoch_s: float = 10.0) -> str:
        names = {"time_to_epoch_s": epoch_s, "fetch_stall_s": stall_s}
        results._show_waiting({name: {"value": value} for name, value in names.items()})
        return capsys.readouterr().out

    assert shown(0.9, epoch_s=1.0) == "", "no card or disk is that slow"
    assert shown(2.5) == shown(None) == "" and shown(2.6).startswith("WAITING FOR DATA: 26% of an")


def figure(value: float | None, unit: str = "s", reason: str = "") -> dict[str, Any]:
    return {"value": value, "unit": unit, "reason": reason, "spread": None}


def test_parts_below_a_hundredth_of_an_epoch_are_left_out_and_a_reason_is_said_once() -> None:
    figures = {
        "time_to_epoch_s": figure(100.0),
        "first_epoch_s": figure(None, reason="it was cut short"),
        "fetch_stall_s": figure(1.0),
        "copy_s": figure(1.1),
        "compute_s": figure(None, reason="not split"),
        "communication_s": figure(None, reason="it was cut short"),
        "overhead_s": figure(-3.0),
        "best_accuracy": figure(0.9, "ratio"),
    }
    said = list(results._figure_lines(figures, all_of_them=False))
    assert [line.split("  ")[0] for line in said] == [
        "time of an epoch",
        "copying to the device",
        "unknown: time of the first epoch, communicating: it was cut short",
        "unknown: computing: not split",
    ]
    assert len(list(results._figure_lines(figures, all_of_them=True))) == 7


def test_of_several_ranks_the_slowest_is_named_and_of_nodes_what_was_not_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    still = {"throttling": [], "clock_steps": []}
    moved = {"throttling": [], "clock_steps": [{"step_s": -2.0, "at_s": 3.0}]}
    ranks = [(0, 1.01, "pi1"), (1, 1.2, "pi2"), (2, None, "pi3"), (3, 0.79, None)]
    results._show_ranks_and_nodes(
        {
            "figures": {
                "exchange_span_s": figure(0.5),
                "wire_limit_s": figure(0.4),
                "wire_limit_share": figure(0.8, "ratio"),
            },
            "ranks": [
                {"rank": rank, "busy_ratio": ratio, "node": node} for rank, ratio, node in ranks
            ],
            "nodes": [
                {"node": "pi1", "reason": None, "disturbances": moved},
                {"node": "pi2", "reason": None, "disturbances": moved},
                {"node": "pi3", "reason": "it was lost", "disturbances": still},
            ],
        }
    )
    said = capsys.readouterr().out
    assert "1 on pi2: busy time 1.200 times the mean of 3 ranks" in said
    assert "0.5 s per update, of which the nodes' links need at least 0.4 s (80%)" in said
    assert "NOT MEASURED: pi3: it was lost" in said and said.count("NOT MEASURED") == 1
    assert said.count("wall clock on pi2 was moved by -2 s, 3.0 s after") == 1
    assert "on pi1 was" not in said, "the first node's are the run's own"


def test_a_figure_in_a_table_is_scaled_with_its_spread() -> None:
    assert results.figure_text(Figure(0.01234, "s", "log", 3, spread=0.001), 1e3, " ms") == (
        "12.34 ± 1 ms"
    )
    assert results.figure_text(Figure(None, "s", "log", 0, reason="none")) == "unknown"


def look(**changes: Any) -> QuickLook:
    projection = TimeProjection("lenet", Interval(9000.0, 7200.0, None), 4, 5.0, 6, True)
    given = {"workload": "lenet", "epochs": 4, "epoch_s": 12.345, "reached_s": None}
    return cast(
        QuickLook,
        SimpleNamespace(
            **{
                **given,
                "projection": projection,
                "reason": None,
                "estimate": None,
                "most_epochs": 10,
                "run": "runs/lenet",
                **changes,
            }
        ),
    )


def test_a_projection_is_in_hours_where_it_is_long_and_says_where_epochs_differ() -> None:
    assert quick.quick_sentence(look()) == (
        "lenet: 4 epochs, 12.3 s an epoch\n  projected: 2.5 h to the target, if it takes 5"
        " epochs (from 6 reference runs)\n  run:       runs/lenet"
    )
    both = TimeProjection("lenet", Interval(90.0, 80.0, 100.0), 4, 5.0, 6, False)
    said = quick.quick_sentence(look(projection=both, reached_s=61.5))
    assert (
        "  measured:  61.5 s to the target, with this seed\n  projected: 90 s (80 to 100 s) to"
        in (said)
    )
    assert "; not steady: the last epoch" in said
    steps = SimpleNamespace(steps=50, epoch_s=Interval(1000.0, 900.0, 1100.0))
    said = quick.quick_sentence(look(estimate=steps, projection=None, reason="few steps"))
    assert "lenet: 50 steps; at their speed an epoch takes 1000 s (900 to 1100 s)\n" in said
    assert "training:  2.778 h (2.5 to 3.056 h) for all 10 epochs" in said
    assert "no projection: few steps" in said


def test_a_workload_named_twice_or_for_too_many_epochs_is_refused_before_the_first() -> None:
    assert quick.chosen_workloads(["vgg11", "lenet"], 4) == ["vgg11", "lenet"]
    with pytest.raises(SuiteError, match="'lenet' is named twice"):
        quick.chosen_workloads(["lenet", "vgg11", "lenet"], 4)
    most = quick.load_workload("lenet").epochs
    assert quick.chosen_workloads(["lenet", "vgg11"], most) == ["lenet", "vgg11"]
    with pytest.raises(SuiteError, match=f"type --epochs {most} or fewer"):
        quick.chosen_workloads(["vgg11", "lenet"], most + 1)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (
            events.BaseloadStarted(60.0, ("ina3221", "plug")),
            "Measuring the idle machine's power for 60 s (ina3221, plug)",
        ),
        (
            events.NodeMismatch("pi2's clock is off", "set it"),
            "warning: pi2's clock is off; set it",
        ),
        (events.BatchSizeTried(64), "  64 samples …"),
        (events.CoolingDown(71.26, 45.0), "Cooling from 71.3 to 45 degC"),
        (events.SweepRunKept(2, 8, "batch 16"), "[2/8] batch 16: finished before, kept"),
        (
            events.CostEstimated(0, None, None, ""),
            "0 runs to make: all are finished",
        ),
        (
            events.CostEstimated(3, None, None, "nothing ran yet"),
            "3 runs to make; how long they take is unknown: nothing ran yet",
        ),
        (
            events.CostEstimated(3, 90.0, None, "from 1 run"),
            "3 runs to make: about 1 min 30 s (from 1 run)",
        ),
    ],
)
def test_an_event_is_one_line(event: Any, said: str) -> None:
    assert watching._sentence(event) == said


def test_data_that_differ_from_the_published_are_named_where_digests_are_known() -> None:
    def of(name: str, verified: bool, synthetic: bool) -> str:
        return watching._difference(
            DataSet(name, "", "idx", 10, 1, 1, verified=verified, synthetic=synthetic)
        )

    assert of("cifar10", False, False) == " (different from the published files)"
    assert of("cifar10", True, False) == of("cifar10", False, True) == ""
    assert of("imagefolder", False, False) == "", "anybody's pictures"


def test_of_prepared_data_it_is_said_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    def shown(
        verified: bool,
        different: str | None,
        samples: int,
        synthetic: bool = False,
        published: int | None = 50,
    ) -> str:
        contents = SimpleNamespace(
            verified=verified, different=different, train_samples=samples, eval_samples=2, classes=3
        )
        definition = SimpleNamespace(name="cifar10", title="CIFAR-10", train_samples=published)
        data._show(
            cast(
                Any,
                SimpleNamespace(
                    contents=contents, definition=definition, directory="d", is_synthetic=synthetic
                ),
            ),
            json=False,
        )
        return capsys.readouterr().out.splitlines()[1]

    assert shown(True, None, 50) == (
        "50 training and 2 evaluation samples of 3 classes; as published"
    )
    assert shown(False, "one file differs", 40).startswith("40 of 50 training")
    assert shown(False, "one file differs", 50).endswith("different: one file differs")
    assert shown(False, None, 50).endswith("not verified: no checksum is known")
    assert shown(False, None, 40, synthetic=True).startswith("40 training")
    assert shown(False, None, 40, published=None).startswith("40 training"), "anybody's pictures"


@pytest.mark.parametrize(
    ("status", "epochs", "said"),
    [
        ("finished", 2, "Check it: suite check runs/first"),
        ("failed", 2, "It is not a result. To see its epochs: suite watch runs/first"),
        ("failed", 0, "It is not a result: run it again"),
    ],
)
def test_a_closed_run_is_followed_by_the_command_that_reads_it(
    status: str, epochs: int, said: str
) -> None:
    run = FinishedRun(Path("runs/first"), status, epochs, False, "it was killed")
    assert finish._sentence(run).endswith(f"(it was killed). {said}")


def test_a_run_s_title_names_the_data_that_are_not_the_workload_s_and_what_a_look_is() -> None:
    def titled(data: str, is_look: bool = False) -> str:
        training = make_request(Path("run"), Scenario(data=data))._replace(steps=5)
        framework = SimpleNamespace(outside=None, title="PyTorch")
        request = SimpleNamespace(
            training=training, workload=load_workload("lenet"), framework=framework
        )
        return watching._title(cast(Any, request), is_look)

    assert titled("mnist").startswith("LeNet-5 on MNIST in PyTorch, closed division, data: mnist")
    assert "mnist in place" not in titled("mnist")
    assert ", data: digits in place of mnist" in titled("digits")
    assert titled("mnist", is_look=True).startswith(
        "LeNet-5 on MNIST in PyTorch, 5 trial steps, data: mnist"
    )


def test_a_bundle_whose_record_cannot_be_read_has_no_round_and_no_division(
    good_bundle: Path,
) -> None:
    (good_bundle / "run.json").write_text("{")
    answer = CliRunner().invoke(app, ["check", str(good_bundle)])
    last = f"{good_bundle}: does not comply with any division: its run.json cannot be read"
    assert (answer.exit_code, answer.stdout.splitlines()[-1]) == (1, last)
    assert "is not valid JSON" in answer.stdout and "fix       " in answer.stdout


def test_a_rule_s_severity_is_said_of_breaking_it_and_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    explain.explain("closed-data")
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "closed-data, a rule of the closed division"
    assert said[3].startswith("Severity of a finding: invalid in rounds v0.1, v0.2, ")
    assert explain._in_rounds({"v1": "note", "v2": "invalid", "v3": "note"}) == (
        "note in rounds v1, v3; invalid in round v2"
    )


def test_nothing_closed_is_no_empty_line(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["finish", str(tmp_path)])
    assert answer.stdout == "" and answer.exit_code


@pytest.mark.usefixtures("builds_a_site")
def test_what_exists_is_replaced_only_on_force(good_bundle: Path, tmp_path: Path) -> None:
    for name, words in {
        "a.trace.json.gz": ("trace", good_bundle),
        "a.pdf": ("figure", "accuracy", good_bundle),
        "a.csv": ("export", good_bundle),
    }.items():
        place = tmp_path / name
        typed = [str(word) for word in (*words, "--output", place)]
        place.write_text("mine")
        refused = CliRunner().invoke(app, typed)
        assert str(refused.exception) == (
            f"{place} exists; replace it with --force, or choose another --output."
        )
        assert place.read_text() == "mine"
        assert CliRunner().invoke(app, [*typed, "--force"]).exit_code == 0
        assert place.read_bytes() != b"mine"
    nothing = CliRunner().invoke(app, ["export", str(tmp_path / "none"), "--output", str(place)])
    assert "none does not exist" in str(nothing.exception), "the input is wrong first"
    place.write_text("mine")
    with pytest.raises(SuiteError, match="exists; remove it, or choose another --output"):
        expect_place(place)
