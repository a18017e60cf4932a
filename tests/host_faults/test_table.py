"""The table of docs/host-faults.md: one row per fault, each of its tries in it once."""

import shutil
from pathlib import Path

import pytest

from tests.host_faults import __main__ as campaign
from tests.host_faults.__main__ import Moment, Outcome, moments, rows_of, said, write_document
from tests.host_faults.faults import FAULTS

STOPPED = next(fault for fault in FAULTS if fault.name == "rank 1 stopped")
ROLLED = FAULTS[0]


@pytest.fixture
def document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the document whose table has no rows."""
    copy = Path(shutil.copy(campaign.DOCUMENT, tmp_path / "faults.md"))
    kept = [line for line in copy.read_text().splitlines() if not line.startswith("| ") or line.startswith("| fault |")]
    copy.write_text("\n".join(kept) + "\n")
    monkeypatch.setattr(campaign, "DOCUMENT", copy)
    return copy


def tried(moment: Moment | None, sentence: str, epochs: int, left: int = 0) -> Outcome:
    fault = ROLLED if moment is None else STOPPED
    return Outcome(fault, said(moment), 1.5, 2, sentence, epochs, left, False)


def test_a_fault_has_three_moments_and_each_is_tried_once(document: Path) -> None:
    chosen = moments(STOPPED, 7)
    assert len(chosen) == 3 and chosen != moments(STOPPED, 8)
    write_document(tried(chosen[0], "rank 1 was stopped; no epoch was finished", 0), 7)
    assert moments(STOPPED, 7) == chosen[1:]
    assert moments(ROLLED, 7) == [None]
    write_document(tried(None, "node2 has other data", 0), 7)
    assert moments(ROLLED, 7) == []


def test_tries_stand_one_after_the_other_and_sentences_where_they_differ(document: Path) -> None:
    chosen = moments(STOPPED, 7)
    stopped, cut = "rank 1 was stopped; ", "no heartbeat for 10 s; "
    write_document(tried(chosen[0], stopped + "no epoch was finished", 0), 7)
    write_document(tried(chosen[1], stopped + "the last finished epoch is epoch 1", 1, left=1), 7)
    write_document(tried(chosen[2], cut + "the last finished epoch is epoch 9", 9), 7)
    when = "; ".join(map(said, chosen))
    line = rows_of(document.read_text())["rank 1 stopped"]
    sentences = f"{stopped}no epoch was finished **or** {cut}the last finished epoch is epoch 9"
    assert line == f"| rank 1 stopped | {when} | 1.5; 1.5; 1.5 | 2 | {sentences} | 0 epochs; 1 epoch, 1 process; 9 epochs |"
