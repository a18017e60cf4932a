"""A trace in a bundle: readings, record, figures and checks; nothing changes where the trace does
not fit."""

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suite import api
from suite.bundle.arrays import Values
from suite.bundle.attached import KEPT, SOURCE
from suite.bundle.reader import Bundle
from suite.cli.app import main
from suite.compliance.checker import check_bundle, find_bundles
from suite.errors import SuiteError
from suite.execution import attach
from suite.metrics.power_totals import power_rules
from suite.metrics.traces import attaching, reading
from suite.metrics.traces.course import Course, course_of
from tests.builders import RICH, START_MS, make_bundle
from tests.faults.edits.attached_edits import START_S, made_trace, scale_own
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.load_edits import add_load
from tests.faults.edits.reading_edits import count_written
from tests.faults.edits.witness_edits import witnessed


@pytest.fixture
def trace(good_bundle: Path, tmp_path: Path) -> Path:
    """A logger's file of the good bundle's run, 2 W idle, 4 W loading, 7 W computing."""
    path = tmp_path / "logger.csv"
    path.write_text(made_trace(course_of(Bundle(good_bundle))), encoding="utf-8")
    return path


def found_in(bundle: Path) -> set[str]:
    return {finding.check for finding in check_bundle(bundle).findings}


def write_power(path: Path, t_s: Values, power_w: Values) -> None:
    """As a logger's file."""
    rows = zip(t_s, power_w, strict=True)
    path.write_text("time (s),power (W)\n" + "".join(f"{a:.4f},{b:.4f}\n" for a, b in rows))


def shares_of(course: Course, t_s: Values, step_s: float) -> tuple[Values, Values]:
    """Of every phase in each step, and how much of it was idle."""
    shares = course.shares(t_s - step_s / 2, t_s + step_s / 2)
    idle = [phase.name in ("before", "after") for phase in course.phases]
    return shares, shares[:, np.flatnonzero(idle)].sum(axis=1)


def digest(folder: Path) -> str:
    """Of all files of a folder."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    return hashlib.sha256(
        b"".join(file.name.encode() + file.read_bytes() for file in files)
    ).hexdigest()


def test_the_energy_of_an_attached_trace_is_that_of_its_power(
    good_bundle: Path, trace: Path
) -> None:
    """run.json says when and how the trace was attached, and the leaderboard that it was."""
    before = Bundle(good_bundle).json("summary.json")
    assert api.energy_figure(good_bundle)["value"] is None, "no meter was there"
    command = ("suite", "power", "attach", "run", "logger.csv")
    found = api.attach_power(good_bundle, trace, covers="wall", tier="analyser", command=command)
    assert found.fit.offset_s == pytest.approx(-START_S, abs=0.1)
    energy, run_s = api.energy_figure(good_bundle), found.course.run_s
    assert energy["value"] == pytest.approx(7.0 * run_s, rel=0.05)
    assert energy["sensor"]["instruments"] == [SOURCE]
    assert (energy["sensor"]["covers"], energy["sensor"]["tier"]) == ("wall", "analyser")
    assert 0 < energy["uncertainty"]["time"] < 5
    after = Bundle(good_bundle).json("summary.json")
    assert after["figures"]["compute_s"] == before["figures"]["compute_s"]
    assert SOURCE in {row["source"] for row in after["energies"]}
    assert "low" not in energy, "rows of a clock may miss a load in step with it"
    figures = api.load(good_bundle).figures
    (shown,) = figures[figures["figure"] == "energy_j"].to_dict("records")
    assert (shown["tier"], shown["attached"]) == ("analyser", True)
    record = Bundle(good_bundle).run().attached
    assert record is not None
    assert (record["by"], tuple(record["command"])) == ("suite power attach", command)
    assert record["time_ms"] > 1_700_000_000_000
    assert record["trace"]["sha256"] == hashlib.sha256(trace.read_bytes()).hexdigest()
    assert record["fit"]["method"] == "correlation"
    assert "'power (W)'" in record["understood"]


@pytest.mark.proof
def test_what_other_programs_took_of_the_cpu_widens_the_clocks_bound_in_the_bundle_and_in_the_check(
    tmp_path: Path,
) -> None:
    paths, logged = [tmp_path / "alone", tmp_path / "shared"], tmp_path / "logger.csv"
    for path, own in zip(paths, (1.0, 0.4), strict=True):
        bundle = EditableBundle(make_bundle(path, RICH))
        add_load(busy=1.0, own=own)(bundle)
        bundle.save(recomputed=True)
    logged.write_text(made_trace(course_of(Bundle(paths[0]))), encoding="utf-8")
    alone, shared = (course_of(Bundle(path)).foreign_share for path in paths)
    assert alone == pytest.approx(0.0, abs=0.01) and shared > 0.1
    fits = [api.attach_power(path, logged, covers="wall").fit for path in paths]
    assert fits[1].half_width_s / fits[0].half_width_s == pytest.approx((1 + shared) / (1 + alone))
    assert not any("attached-trace" in found_in(path) for path in paths)


def test_the_leaderboard_says_that_the_trace_was_attached(good_bundle: Path, trace: Path) -> None:
    """Of rows that are means, the energy has an interval."""
    means = api.TraceOptions(mean=True)
    found = api.attach_power(good_bundle, trace, covers="wall", tier="analyser", options=means)
    figures = api.load(good_bundle).figures
    (energy,) = figures[figures["figure"] == "energy_j"].to_dict("records")
    assert (energy["tier"], energy["attached"]) == ("analyser", True)
    assert energy["low"] < 7.0 * found.course.run_s < energy["high"] < 1.1 * energy["low"]
    assert api.load(good_bundle).verdicts[energy["run_id"]].complies


def test_the_readings_of_a_trace_are_not_counted_as_the_recorder_s(
    good_bundle: Path, trace: Path
) -> None:
    """A real run has the recorder's own record, with the number of readings that it wrote."""
    bundle = EditableBundle(good_bundle)
    count_written(0)(bundle)
    bundle.save(recomputed=True)
    assert "readings-counted" not in found_in(good_bundle)
    api.attach_power(good_bundle, trace, covers="wall", tier="analyser")
    assert "readings-counted" not in found_in(good_bundle)


def test_a_second_trace_replaces_the_first(good_bundle: Path, trace: Path) -> None:
    api.attach_power(good_bundle, trace, covers="board")
    first = Bundle(good_bundle).run().attached
    api.attach_power(good_bundle, trace, covers="wall")
    second = Bundle(good_bundle).run().attached
    assert first is not None and second is not None
    assert second["replaces"] == first["trace"]["sha256"]
    assert {channel.name for channel in Bundle(good_bundle).channels().of_source(SOURCE)} == {
        "wall.wall meter",
        "clock_error",
    }
    verdict = check_bundle(good_bundle)
    assert verdict.complies
    assert {one.check for one in verdict.findings} <= {"baseload-measured", "baseload-meter"}


def test_a_record_with_an_unknown_encoding_is_a_finding(good_bundle: Path, trace: Path) -> None:
    api.attach_power(good_bundle, trace, covers="wall")
    record = json.loads((good_bundle / "run.json").read_text(encoding="utf-8"))["attached"]
    _edit_run(good_bundle, attached={**record, "format": {**record["format"], "encoding": "rot13"}})
    assert "attached-trace" in found_in(good_bundle)


def test_a_dry_run_writes_nothing(good_bundle: Path, trace: Path) -> None:
    before = digest(good_bundle)
    found = api.attach_power(good_bundle, trace, covers="board", dry_run=True)
    assert found.fit.correlation > 0.9
    assert digest(good_bundle) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(",7", ",2").replace(",6", ",2"),
        lambda text: text[: len(text) // 3],
        lambda text: re.sub(r",(?=\d)", ",-", text),
    ],
    ids=["no course", "too short", "wired the wrong way round"],
)
def test_a_refused_trace_changes_nothing(
    change: Callable[[str], str], good_bundle: Path, trace: Path
) -> None:
    trace.write_text(change(trace.read_text(encoding="utf-8")), encoding="utf-8")
    before = digest(good_bundle)
    with pytest.raises(SuiteError):
        api.attach_power(good_bundle, trace, covers="board")
    assert digest(good_bundle) == before
    assert [path.name for path in good_bundle.parent.iterdir() if "attach" in path.name] == []


def test_a_write_that_fails_changes_nothing(
    good_bundle: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(attaching, "_write_readings", full)
    before = digest(good_bundle)
    with pytest.raises(SuiteError, match="is full"):
        api.attach_power(good_bundle, trace, covers="board")
    assert digest(good_bundle) == before


def test_the_originals_are_on_the_medium_before_the_bundle_is_replaced(
    good_bundle: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: set[Path] = set()
    monkeypatch.setattr(attach, "sync_to_storage", synced.add)
    api.attach_power(good_bundle, trace, covers="board")
    copy = good_bundle.with_name(f".{good_bundle.name}.attaching")
    assert {copy / file.relative_to(good_bundle) for file in good_bundle.rglob("*")} <= synced
    assert list((good_bundle / "before_attach").iterdir())


def test_an_offset_by_hand_is_recorded_and_warned_of(good_bundle: Path, trace: Path) -> None:
    api.attach_power(good_bundle, trace, covers="board", offset_s=-START_S)
    record = Bundle(good_bundle).run().attached
    assert record is not None and record["fit"]["method"] == "by hand"
    verdict = check_bundle(good_bundle)
    assert verdict.complies
    assert "attached-fitted" in {finding.check for finding in verdict.findings}


def test_a_counter_of_coarse_steps_is_attached_by_its_offset(
    good_bundle: Path, tmp_path: Path
) -> None:
    """As a plug's in whole watt hours. A step is a reading: few ones, at uneven times."""
    path, run_s = tmp_path / "plug.csv", course_of(Bundle(good_bundle)).run_s
    t_s = np.arange(-run_s, 2 * run_s, run_s / 60)
    power_w = np.where((t_s >= 0) & (t_s < run_s), 6, 3) * 3.6 / run_s
    counted_mwh = np.floor(np.cumsum(power_w) * run_s / 60 / 3.6)
    rows = zip(t_s + 100, counted_mwh, strict=True)
    path.write_text("time (s),energy (mWh)\n" + "".join(f"{a:.4f},{b:.0f}\n" for a, b in rows))
    api.attach_power(good_bundle, path, covers="wall", offset_s=-100)
    energy = api.energy_figure(good_bundle)
    assert energy["low"] < 6 * 3.6 < energy["high"], "joules"
    assert "attached-fitted" in found_in(good_bundle)
    assert "meter-jitter" not in found_in(good_bundle)


@pytest.mark.proof
def test_a_witnessed_run_keeps_its_witness(good_bundle: Path, trace: Path) -> None:
    """The witness stamps the request and the logs, which attaching does not touch."""
    witnessed()(good_bundle)
    before, said = (good_bundle / "witness.json").read_bytes(), of_witness(good_bundle)
    api.attach_power(good_bundle, trace, covers="board")
    api.attach_power(good_bundle, trace, covers="wall")
    assert (good_bundle / "witness.json").read_bytes() == before
    assert of_witness(good_bundle) == said
    assert len(find_bundles(good_bundle.parent)) == 1


def of_witness(bundle: Path) -> set[str]:
    """The witness's rules that have a finding."""
    return {check for check in found_in(bundle) if check.startswith("witness")}


def test_a_large_file_is_kept_averaged_and_checked(
    good_bundle: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = course_of(Bundle(good_bundle))
    t_s = np.arange(course.begin_s, course.end_s, 0.005)
    _, idle = shares_of(course, t_s, 0.005)
    write_power(trace, t_s, 7 - 5 * idle + np.random.default_rng(0).normal(0, 0.3, len(t_s)))
    monkeypatch.setattr(reading, "MAX_READINGS", 1000)
    found = api.attach_power(good_bundle, trace, covers="board")
    record = Bundle(good_bundle).run().attached
    assert record is not None
    assert found.read.trace.averaged > 1
    assert (record["trace"]["is_kept_whole"], record["trace"]["averaged"]) == (
        False,
        found.read.trace.averaged,
    )
    assert "attached-trace" not in found_in(good_bundle)


def with_pulse(path: Path) -> Path:
    """A bundle whose run made a power pulse before its processes."""
    bundle = make_bundle(path, RICH)
    plain = course_of(Bundle(bundle))
    begin_ns = plain.origin_ns + round((plain.begin_s + 10) * 1e9)
    loads_ns = [
        [begin_ns - round(a * 1e9), begin_ns - round(b * 1e9)] for a, b in ((10, 7), (5, 3.5))
    ]
    _edit_run(bundle, power_pulse={"loads_ns": loads_ns})
    return bundle


def test_a_level_that_changes_within_the_run_is_asked_for_and_moves_no_clock(
    tmp_path: Path,
) -> None:
    """Watts become kilowatts at 17 s: power follows the run 11 s away, too."""
    bundle, path = with_pulse(tmp_path / "run"), tmp_path / "logger.csv"
    course = course_of(Bundle(bundle))
    assert course.wall_s == pytest.approx(START_MS / 1000, abs=1)
    t_s = np.arange(course.begin_s - 60, course.end_s + 60, 0.1)
    shares, idle = shares_of(course, t_s, 0.1)
    pulse = shares[:, [phase.name for phase in course.phases].index("pulse")]
    power_w = 7 - 5 * idle + 2 * pulse + np.random.default_rng(0).normal(0, 0.2, len(t_s))
    write_power(path, t_s + course.wall_s, power_w)
    found = api.attach_power(bundle, path, covers="board", dry_run=True)
    assert found.fit.offset_s + course.wall_s == pytest.approx(0, abs=0.1)
    write_power(path, t_s + course.wall_s, np.where(t_s > 17.05, power_w / 1000, power_w))
    asked = r"wrong by \+11\..* the power fell 17 s after run_start"
    with pytest.raises(SuiteError, match=asked):
        api.attach_power(bundle, path, covers="board")
    api.attach_power(bundle, path, covers="board", offset_s=-course.wall_s)
    energies = Bundle(bundle).json("summary.json")["energies"]
    (energy,) = [row for row in energies if row["source"] == SOURCE]
    assert energy["energy_j"] is None and "the last reading is 11." in energy["reason"]


def test_a_power_pulse_places_a_run_among_equal_ones(tmp_path: Path) -> None:
    """Three equal runs follow one another in the trace; only one has the pulse of this run."""
    bundle = with_pulse(tmp_path / "run")
    course = course_of(Bundle(bundle))
    t_s = np.arange(course.begin_s, course.end_s, 0.1)
    shares, idle = shares_of(course, t_s, 0.1)
    pulse = shares[:, [phase.name for phase in course.phases].index("pulse")]
    power_w = 7 - 5 * idle + 2 * pulse
    without = np.where(pulse > 0.5, 2.0, power_w)
    random, length_s = np.random.default_rng(0), t_s[-1] - t_s[0] + 0.1
    whole_s = np.concatenate([t_s + length_s * place for place in range(3)])
    whole_w = np.concatenate([without, power_w, without]) + random.normal(0, 0.2, 3 * len(t_s))
    path = tmp_path / "logger.csv"
    write_power(path, whole_s, whole_w)
    assert api.attach_power(
        bundle, path, covers="wall", dry_run=True
    ).fit.offset_s == pytest.approx(-length_s, abs=0.1)
    _edit_run(bundle, power_pulse=None)
    with pytest.raises(SuiteError, match="run again with --power-pulse"):
        api.attach_power(bundle, path, covers="wall", dry_run=True)


STARTED_S, CLOSED_S, IDLE_S = 8.0, 5.0, (-5.0, -3.0)
"""Of the harness: its work before the run's processes and after them, and a baseload before
them."""


def harness_trace(bundle: Path, path: Path) -> dict[str, object]:
    """A logger's file of a run whose harness worked before and after its processes, but in a pause,
    and the record of that."""
    plain = course_of(Bundle(bundle))
    lived = plain.begin_s + 10, plain.end_s - 10
    t_s = np.arange(lived[0] - STARTED_S - 12, lived[1] + CLOSED_S + 12, 0.1)
    _, idle = shares_of(plain, t_s, 0.1)
    worked = ((t_s > lived[0] - STARTED_S) & (t_s < lived[0] + IDLE_S[0])) | (
        (t_s > lived[0] + IDLE_S[1]) & (t_s < lived[0])
    )
    worked |= (t_s > lived[1]) & (t_s < lived[1] + CLOSED_S)
    power_w = (
        7 - 5 * np.where(worked, 0.2, idle) + np.random.default_rng(1).normal(0, 0.2, len(t_s))
    )
    write_power(path, START_S + t_s, power_w)

    def at(time_s: float) -> int:
        return plain.origin_ns + round(time_s * 1e9)

    idle_ns = [[at(lived[0] + IDLE_S[0]), at(lived[0] + IDLE_S[1])]]
    return {
        "process_ns": None,
        "begin_ns": at(lived[0] - STARTED_S),
        "idle_ns": idle_ns,
        "closed_ns": at(lived[1] + CLOSED_S),
    }


@pytest.mark.proof
def test_the_harness_s_own_work_is_part_of_the_course(tmp_path: Path) -> None:
    """Its start and closing draw power as the run does."""
    bundle, path = make_bundle(tmp_path / "run", RICH), tmp_path / "logger.csv"
    _edit_run(bundle, lifetime=harness_trace(bundle, path))
    found = api.attach_power(bundle, path, covers="wall", dry_run=True)
    assert found.fit.offset_s == pytest.approx(-START_S, abs=0.15)
    assert abs(found.fit.offset_s + START_S) <= found.fit.half_width_s
    names = [phase.name for phase in found.course.phases]
    lengths_s = {phase.name: phase.length_s for phase in found.course.phases}
    assert names[:2] == ["before", "after"]
    assert lengths_s["starting"] == pytest.approx(STARTED_S - 2.0)
    assert lengths_s["closing"] == pytest.approx(CLOSED_S)


@pytest.mark.proof
def test_another_program_s_load_is_not_taken_for_the_run(tmp_path: Path) -> None:
    """Beside the run, in the ten minutes before it and after it, something else draws more power
    than it, again and again."""
    bundle, path, random = (
        make_bundle(tmp_path / "run", RICH),
        tmp_path / "logger.csv",
        np.random.default_rng(2),
    )
    plain = course_of(Bundle(bundle))
    t_s = np.arange(plain.begin_s - 300, plain.end_s + 300, 0.2)
    _, idle = shares_of(plain, t_s, 0.2)
    places = []
    for _ in range(5):
        busy = np.cumsum(random.choice([1, -1], len(t_s)) * (random.random(len(t_s)) < 0.02)) % 2
        write_power(path, t_s, 7 - 5 * idle + 10 * busy + random.normal(0, 0.2, len(t_s)))
        try:
            places.append(api.attach_power(bundle, path, covers="wall", dry_run=True).fit)
        except SuiteError as error:
            assert "--power-pulse" in str(error) or "does not follow the run" in str(error)
    assert all(abs(fit.offset_s) <= fit.half_width_s for fit in places)


@pytest.mark.parametrize(
    ("earlier_s", "names"), [(0.2, {"starting"}), (20.0, {"starting", "unclear start"})]
)
def test_a_process_that_waited_before_the_suite_began_is_told_from_its_start(
    earlier_s: float, names: set[str], tmp_path: Path
) -> None:
    bundle = make_bundle(tmp_path / "run", RICH)
    lifetime = harness_trace(bundle, tmp_path / "logger.csv")
    process_ns = int(str(lifetime["begin_ns"])) - round(earlier_s * 1e9)
    _edit_run(bundle, lifetime={**lifetime, "process_ns": process_ns})
    phases = {phase.name: phase.length_s for phase in course_of(Bundle(bundle)).phases}
    assert {"starting", "unclear start"} & set(phases) == names
    assert phases["starting"] == pytest.approx(
        STARTED_S - 2.0 + (earlier_s if "unclear start" not in names else 0)
    )
    assert phases.get("unclear start", earlier_s) == pytest.approx(earlier_s)


def test_a_malformed_record_of_the_harness_is_one_sentence(good_bundle: Path, trace: Path) -> None:
    _edit_run(good_bundle, lifetime={"begin_ns": "early"})
    with pytest.raises(SuiteError, match="lifetime"):
        api.attach_power(good_bundle, trace, covers="wall", dry_run=True)


def _edit_run(bundle: Path, **values: object) -> None:
    run = json.loads((bundle / "run.json").read_text(encoding="utf-8"))
    (bundle / "run.json").write_text(json.dumps({**run, **values}), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "message"),
    [("run.json", "is not a run directory"), ("MANIFEST.sha256", "is not sealed")],
)
def test_what_is_no_closed_run_is_refused(
    name: str, message: str, good_bundle: Path, trace: Path
) -> None:
    (good_bundle / name).unlink()
    with pytest.raises(SuiteError, match=message):
        api.attach_power(good_bundle, trace, covers="board")


def test_a_run_on_several_nodes_is_refused(tmp_path: Path, trace: Path) -> None:
    with pytest.raises(SuiteError, match="several nodes"):
        api.attach_power(
            make_bundle(tmp_path / "nodes", replace(RICH, ranks=2, nodes=2)), trace, covers="board"
        )


def test_the_command_says_what_it_understood_and_found(
    suite: Callable[..., object], good_bundle: Path, trace: Path
) -> None:
    answer = suite.done(f"power attach {good_bundle} {trace} --covers board")
    lines = answer.stdout.splitlines()  # type: ignore[attr-defined]
    assert (
        lines[0]
        == "Columns between commas, decimal point; time from 'time (s)' (s); power = 'power (W)'"
        " (W)."
    )
    assert "offset -1000." in lines[1] or "offset -999.9" in lines[1]
    assert lines[2].startswith("Energy of the run: ")
    shutil.copy(good_bundle / KEPT, trace.with_suffix(".csv.gz"))
    again = suite.typed(
        f"power attach {good_bundle} {trace.with_suffix('.csv.gz')} --covers board --dry-run --json"
    )
    assert json.loads(again.stdout)["fit"]["method"] == "correlation"  # type: ignore[attr-defined]


def test_within_the_folder_of_a_run_its_power_is_changed_as_from_outside(
    good_bundle: Path,
    trace: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The current folder is replaced, and is then gone."""
    for words in (f"attach . {trace} --covers board", f"leave-out . {SOURCE} --reason loose"):
        monkeypatch.chdir(good_bundle)
        monkeypatch.setattr("sys.argv", ["suite", "power", *words.split()])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        assert not end.value.code, said.err
        assert said.out.endswith(f"Check it: suite check {good_bundle}\n")


def test_one_of_two_meters_that_contradict_each_other_is_left_out_with_the_reason(
    suite: Callable[..., object], tmp_path: Path
) -> None:
    """7 W by the trace, and 6 W by the meter."""
    path, logged = make_bundle(tmp_path / "run", RICH), tmp_path / "logger.csv"
    logged.write_text(made_trace(course_of(Bundle(path))), encoding="utf-8")

    def checks() -> set[str]:
        verdict = check_bundle(path)
        assert "attached-trace" not in {each.check for each in verdict.findings}
        return {each.check for each in verdict.findings} & {"meters-agree", "meters-left-out"}

    for expected in ({"meters-agree"}, {"meters-left-out"}):
        api.attach_power(path, logged, covers="board")
        assert checks() == expected
        suite.typed(f"power leave-out {path} um25c --reason loose")
        assert checks() == {"meters-left-out"}
        assert api.energy_figure(path)["sensor"]["instruments"] == [SOURCE]
    with pytest.raises(SuiteError, match="is not a power meter that counts"):
        api.leave_meter_out(path, "um25c", reason="loose")
    api.leave_meter_out(path, SOURCE, reason="of another plug")
    assert api.energy_figure(path)["value"] is None
    api.attach_power(path, logged, covers="board")
    assert api.energy_figure(path)["sensor"]["instruments"] == [SOURCE], "the new trace counts"


def test_nothing_else_changes_where_a_meter_is_left_out(tmp_path: Path) -> None:
    """A witness stamped the files from before, so that another power would go unseen."""
    path = make_bundle(tmp_path / "run", RICH)
    api.leave_meter_out(path, "um25c", reason="loose")
    assert found_in(path) == {"meters-left-out"}
    scale_own("um25c", 0.9)(path)
    assert "attached-trace" in found_in(path)


def test_a_trace_in_a_run_of_round_v02_leaves_its_power_rules_as_they_were(
    tmp_path: Path,
) -> None:
    """They have neither ``still_factor`` nor ``must_agree``; nor do the trace's own then."""
    path, logged = make_bundle(tmp_path / "run", RICH), tmp_path / "logger.csv"
    rules = json.loads((path / "power.json").read_text(encoding="utf-8"))
    for rule in rules["rules"]:
        del rule["still_factor"], rule["must_agree"]
    (path / "power.json").write_text(json.dumps(rules), encoding="utf-8")
    _edit_run(path, round="v0.2")
    logged.write_text(made_trace(course_of(Bundle(path))), encoding="utf-8")
    api.attach_power(path, logged, covers="wall", tier="analyser")
    carried = power_rules(Bundle(path))
    assert {rule.still_factor for rule in carried} == {0.0}
    assert SOURCE in {source for rule in carried for source in rule.sources}
    fired = found_in(path)
    assert not fired & {"power-rules-known", "attached-trace"}
