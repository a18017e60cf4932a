"""Texts, days and optional fields as pages show them."""

from pathlib import Path
from typing import Any

import pytest

from reporter.board.columns import show_facet
from reporter.data.figure_fields import sensor_columns
from reporter.data.link_losses import link_loss
from reporter.data.machines import Machine, differing_software
from reporter.data.shown_replications import ShownReplication, provenance_of, replication_badges
from reporter.data.text import one_line, plain_or_none, reason_of
from reporter.data.words import any_of, day_of, moment_of, property_in_words
from reporter.pages.headlines import _listed
from suite.errors import FileError, SuiteError


def test_untrusted_text_is_one_line_without_control_or_direction_characters() -> None:
    assert one_line("a\tb\nc\r\x1b\u202e\u2028é") == "a b c \\u001b\\u202e\\u2028é"
    assert (one_line("x" * 160), one_line("x" * 161)) == ("x" * 160, "x" * 160 + "…")
    assert one_line("abcd", 3) == "abc…"
    assert [plain_or_none(each) for each in (" \n", "", 5, None, "a")] == [None] * 4 + ["a"]


def test_a_reason_does_not_say_where_the_folder_lies() -> None:
    folder = Path("/tmp/some/run")
    errors = (SuiteError(f"{folder}/a/log.txt and {folder} differ"), SuiteError("no"))
    assert [reason_of(each, folder) for each in errors] == ["a/log.txt and it differ", "no"]
    assert reason_of(FileError(folder / "deep" / "x.json", "is no JSON"), folder) == (
        "x.json is no JSON"
    )


def test_lists_are_written_as_they_are_spoken() -> None:
    values = ((4,), (4.0, 8), (4, 8, 16.5))
    assert [any_of(each) for each in values] == ["4", "4 or 8", "4, 8 or 16.5"]
    names = ["a", "b", "c", "d"]
    assert [_listed(names[:count]) for count in (1, 2, 3, 4)] == [
        "a",
        "a and b",
        "a, b and 1 more",
        "a, b and 2 more",
    ]


@pytest.mark.parametrize(
    ("time_ms", "day", "moment"),
    [
        (0, "1970-01-01", "1970-01-01T00:00:00Z"),
        (951_782_399_999, "2000-02-28", "2000-02-28T23:59:59Z"),
        (951_782_400_000.0, "2000-02-29", "2000-02-29T00:00:00Z"),
        *((wrong, "unknown", "1970-01-01T00:00:00Z") for wrong in (-1, None, float("nan"), 1e15)),
    ],
)
def test_a_time_is_a_day_and_a_second_in_utc(time_ms: object, day: str, moment: str) -> None:
    assert (day_of(time_ms), moment_of(time_ms)) == (day, moment)


def test_a_property_is_yes_or_no_a_number_or_unknown() -> None:
    values = {"x": True, "y": False, "z": 0, "a": 2.0, "b": 0.005, "c": float("nan")}
    texts = ["yes", "no", "0", "2", "0.005", "unknown"]
    assert [property_in_words(values, name) for name in values] == texts
    assert [show_facet(each) for each in (None, 128.0, "cpu")] == ["unknown", "128", "cpu"]


def test_what_a_link_lost_is_a_sentence() -> None:
    loss = {"channel": "eth0.dropped", "share": 0.0125, "start_s": 61.5, "held_s": 10.0}
    assert link_loss({**loss, "count": 1500}) == (
        "eth0: 1,500 packets were dropped (1.25 % of all), from 61.50 s after run_start on, for"
        " 10.0 s"
    )
    tcp = link_loss({**loss, "channel": "tcp.retransmitted", "share": None, "count": 3})
    assert tcp.startswith("3 TCP segments were sent again, from")


def test_a_sensor_gives_its_columns_and_their_absence() -> None:
    sensor = {"covers": "board", "tier": "wall meter", "instruments": ["a", "attached"]}
    found = sensor_columns({"sensor": {**sensor, "contradicted_by": ["b", "c"]}})
    assert found == {
        "covers": "board",
        "tier": "wall meter",
        "attached": True,
        "contradicted_by": "b and c",
    }
    assert sensor_columns({"sensor": {**sensor, "instruments": ["a"]}})["attached"] is False
    assert set(sensor_columns({}).values()) == {None}


def test_software_differs_where_two_known_versions_do() -> None:
    def machine(**versions: str) -> Machine:
        return Machine(*(None,) * 7, software=tuple(versions.items()))

    machines = (machine(python="3.11", zlib="1"), machine(python="3.12"), machine(kernel="6"))
    assert differing_software(machines) == ("python",)
    assert differing_software([*machines, machine(kernel="5", zlib="1")]) == ("kernel", "python")


def replication(organization: str = "lab", **changes: Any) -> ShownReplication:
    fields = {
        **{"replication_id": "1", "file": Path("f"), "organization": organization, "reason": None},
        **dict.fromkeys(("is_by_others", "is_signed", "is_of_all_runs"), True),
        **dict.fromkeys(("losses", "accuracy", "times", "verdict"), "confirmed"),
        **dict.fromkeys(("ratio", "low", "high")),
    }
    return ShownReplication(**{**fields, "runs": (), **changes})


@pytest.mark.parametrize(
    "lacking",
    [
        {"is_by_others": False},
        {"is_signed": False},
        {"is_of_all_runs": False},
        {"verdict": "undecided"},
    ],
)
def test_only_a_signed_whole_confirmed_replication_by_others_earns_the_mark(
    lacking: dict[str, Any],
) -> None:
    assert replication().earns_mark and not replication(**lacking).earns_mark
    assert provenance_of((replication(**lacking),), None, True) == "self-reported"


def test_replications_are_counted_and_those_that_refute_are_told() -> None:
    refuted = replication(losses="undecided", verdict="refuted")
    own = replication(is_by_others=False)
    assert replication_badges((refuted, own), True) == (
        "available",
        "1 replication",
        "refuted by 1 of them",
    )
    partly = replication(verdict="undecided")
    assert replication_badges((refuted, partly, refuted), False) == (
        "functional",
        "3 replications",
        "refuted by 2 of them",
    )
    both = (replication("uni"), replication("project"), replication("uni"))
    assert provenance_of(both, "x", True) == "reproduced by the project and uni"
    assert provenance_of((), "x", False) == "audited by x, time stated by the submitter"
