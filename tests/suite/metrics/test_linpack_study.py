"""A LINPACK study follows from its records: efficiency, share of the peak, joules; another file is
refused."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from suite.bundle import manifest
from suite.bundle.layout import LINPACK_RECORD, LINPACK_STUDY_RECORD
from suite.catalog.devices import load_device
from suite.errors import SuiteError
from suite.files.json_file import write_json
from suite.metrics.linpack_record import SCHEMA, Linpack, LinpackPower, OtherLoad, Problem, Solution
from suite.metrics.linpack_study_record import (
    LINPACK_STUDY,
    analyse_linpack_study,
    folder_name,
    read_linpack_study,
)

PI = "raspberry-pi-4"


def make_record(
    folder: Path,
    nodes: int,
    gflops: float,
    energy_j: float | None = None,
    foreign: float = 0.0,
    device: str = PI,
    kind: str = "HPL",
) -> None:
    folder.mkdir(parents=True)
    problem = Problem(1280, 128, 1, 4 * nodes)
    power = (
        LinpackPower(energy_j, 2.0, gflops * 2.0 / energy_j, "plug", None)
        if energy_j
        else LinpackPower(None, None, None, None, "no power sensor was read")
    )
    solution = Solution(problem, 2.0, gflops, 0.003)
    load = OtherLoad(4, 0.0, foreign)
    record = Linpack(
        SCHEMA,
        kind,
        "hpcc",
        device,
        "Cortex-A72",
        nodes,
        4 * nodes,
        1,
        None,
        solution,
        gflops / nodes,
        power,
        "out",
        load=load,
    )
    write_json(folder / LINPACK_RECORD, record)
    manifest.seal(folder)


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """The rates of the Raspberry Pi cluster of Mwase et al.: 15.5 GFLOPS on one board, 47 on
    four."""
    for nodes, rates in ((1, (15.4, 15.6)), (4, (46.0, 48.0))):
        for number, rate in enumerate(rates, start=1):
            make_record(tmp_path / folder_name(nodes, number), nodes, rate, energy_j=12.0 * nodes)
    return tmp_path


def test_the_published_sentence_follows_from_its_rates(published: Path) -> None:
    study = analyse_linpack_study(published, "LINPACK", (1, 4), 2)
    assert study.sentence == "15.5 GFLOPS on one node, 47 on 4, 76 %"
    one, four = study.points
    peak = load_device(PI).cpu.peak_fp64_gflops  # type: ignore[union-attr]
    assert peak == 28.8
    assert one.peak_share.value == pytest.approx(
        15.5 / 28.8
    ) and four.peak_share.value == pytest.approx(47 / 4 / 28.8)
    assert four.gflops.spread == pytest.approx(2**0.5) and four.efficiency.spread == pytest.approx(
        2**0.5 / 62
    )
    assert four.energy_j.value == 48.0 and [note.partition(",")[0] for note in study.notes] == [
        "Unknown: the program has no STREAM"
    ]


def test_a_study_that_was_edited_or_whose_records_were_is_refused(published: Path) -> None:
    LINPACK_STUDY.write(published, asdict(analyse_linpack_study(published, "LINPACK", (1, 4), 2)))
    assert read_linpack_study(published).points[1].nodes == 4
    values = json.loads((published / LINPACK_STUDY_RECORD).read_text())
    values["points"][1]["gflops"]["value"] = 60.0
    write_json(published / LINPACK_STUDY_RECORD, values)
    ((name, _),) = LINPACK_STUDY.differences(published)
    assert name == "points[1].gflops.value"


def test_unknown_figures_have_their_reasons_and_load_is_noted(tmp_path: Path) -> None:
    make_record(tmp_path / folder_name(2, 1), 2, 30.0, foreign=0.9, device="generic")
    study = analyse_linpack_study(tmp_path, "LINPACK", (2,), 1)
    assert study.sentence == "30 GFLOPS on 2 nodes"
    assert study.points[0].efficiency.reason == "the study has no run on one node"
    assert "0.90 cores" in study.notes[0]
    assert any("double-precision peak of 'generic'" in note for note in study.notes)


def test_records_of_several_machines_are_no_study(tmp_path: Path) -> None:
    make_record(tmp_path / folder_name(1, 1), 1, 15.0)
    make_record(tmp_path / folder_name(2, 1), 2, 30.0, device="raspberry-pi-5")
    with pytest.raises(SuiteError, match="several machines"):
        analyse_linpack_study(tmp_path, "LINPACK", (1, 2), 1)


def test_rates_of_lu_are_no_study(tmp_path: Path) -> None:
    make_record(tmp_path / folder_name(1, 1), 1, 15.0, kind="LU")
    with pytest.raises(SuiteError, match="SciPy's LU, and this study is of HPL"):
        analyse_linpack_study(tmp_path, "LINPACK", (1,), 1)
