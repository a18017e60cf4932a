"""The campaign of faults on hosts: one row per fault, each of its tries in it once; it goes on
where it was broken off, and only then."""

from pathlib import Path

import pytest

from proofs.host_faults import __main__ as campaign
from proofs.host_faults.__main__ import Moment, Outcome, begin, keep, main, moments, rows_of, said
from proofs.host_faults.faults import FAULTS, Fault

STOPPED = next(fault for fault in FAULTS if fault.name == "rank 1 stopped")
ROLLED = FAULTS[0]


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The rows of a campaign that has just begun."""
    path = tmp_path / "rows.md"
    monkeypatch.setattr(campaign, "ROWS", path)
    monkeypatch.setattr(campaign, "digest_of_sources", lambda: "0123")
    begin("0123")
    return path


def tried(moment: Moment | None, sentence: str, epochs: int, left: int = 0) -> Outcome:
    fault = ROLLED if moment is None else STOPPED
    return Outcome(fault, said(moment), 1.5, 2, sentence, epochs, left, False)


def test_a_fault_has_three_moments_and_each_is_tried_once(rows: Path) -> None:
    chosen = moments(STOPPED, 7)
    assert len(chosen) == 3 and chosen != moments(STOPPED, 8)
    keep(tried(chosen[0], "rank 1 was stopped; no epoch was finished", 0))
    assert moments(STOPPED, 7) == chosen[1:]
    assert moments(ROLLED, 7) == [None]
    keep(tried(None, "node2 has other data", 0))
    assert moments(ROLLED, 7) == []


def test_tries_stand_one_after_the_other_and_sentences_where_they_differ(rows: Path) -> None:
    chosen = moments(STOPPED, 7)
    stopped, cut = "rank 1 was stopped; ", "no heartbeat for 10 s; "
    keep(tried(chosen[0], stopped + "no epoch was finished", 0))
    keep(tried(chosen[1], stopped + "the last finished epoch is epoch 1", 1, left=1))
    keep(tried(chosen[2], cut + "the last finished epoch is epoch 9", 9))
    when = "; ".join(map(said, chosen))
    line = rows_of(rows.read_text())["rank 1 stopped"]
    sentences = f"{stopped}no epoch was finished **or** {cut}the last finished epoch is epoch 9"
    assert (
        line
        == f"| rank 1 stopped | {when} | 1.5; 1.5; 1.5 | 2 | {sentences} | 0 epochs; 1 epoch, 1"
        " process; 9 epochs |"
    )


def test_rows_of_other_sources_are_not_gone_on_with(rows: Path) -> None:
    keep(tried(None, "node2 has other data", 0))
    begin("0123")
    assert list(rows_of(rows.read_text())) == [ROLLED.name]
    begin("4567")
    assert rows_of(rows.read_text()) == {}


def test_a_campaign_goes_on_prints_the_whole_table_and_removes_its_rows(
    rows: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[str] = []

    def quickly(fault: Fault, moment: Moment | None) -> Outcome:
        made.append(fault.name)
        return Outcome(fault, said(moment), 1.5, 2, "a sentence", 0, 0, False)

    monkeypatch.setattr(campaign, "tried", quickly)
    keep(tried(None, "node2 has other data", 0))
    assert main(["0", STOPPED.name]) == 0 and rows.exists()  # a part
    assert set(made) == {fault.name for fault in FAULTS if fault.name.startswith(STOPPED.name)}
    made.clear()
    capsys.readouterr()
    assert main([]) == 0 and not rows.exists()
    assert ROLLED.name not in made and STOPPED.name not in made
    printed = rows_of(capsys.readouterr().out)
    assert [name for name in printed if name != "fault"] == [fault.name for fault in FAULTS]


@pytest.mark.parametrize(("is_silent", "left"), [(True, 0), (False, 1)])
def test_a_silent_fault_and_a_process_that_stays_fail_the_proof(
    rows: Path, monkeypatch: pytest.MonkeyPatch, is_silent: bool, left: int
) -> None:
    monkeypatch.setattr(
        campaign,
        "tried",
        lambda fault, moment: Outcome(fault, said(moment), 1.5, 0, "", 0, left, is_silent),
    )
    assert main(["0", ROLLED.name]) == 1
