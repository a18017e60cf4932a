"""Records with a text whose wording changed are judged as before."""

import re
from pathlib import Path

from suite.bundle.log import Log
from suite.metrics.former_texts import FORMER, MAX_LENGTH, as_now
from suite.metrics.json_diff import json_differences
from suite.metrics.memory_figures import PARTS, REST
from suite.metrics.summary import time_figures


def test_a_reason_in_its_former_words_agrees_with_the_recomputed_one() -> None:
    written = {"reason": "the interval is wide; 12 fresh runs with this scatter decide it"}
    computed = {"reason": "the interval is wide; with this scatter 12 fresh runs would decide it"}
    assert not list(json_differences(computed, written))


def test_notes_of_boards_and_projections_in_their_former_words_agree() -> None:
    written = [
        "board 3 stands out: energy per epoch 1.3 times the median of 3 boards.",
        "Ring: projected to 128 ranks, 32 times the largest measured; up to 8 ranks (2 times) the"
        " confidence interval is within a fifth of the step time.",
    ]
    computed = [
        "board 3 stands out: its energy per epoch is 1.3 times the median of 3 boards.",
        "Ring: projected to 128 ranks, 32 times the largest measured number; up to 8 ranks (2"
        " times the largest measured number) the confidence interval is at most a fifth of the step"
        " time.",
    ]
    assert not list(json_differences(computed, written))


def test_the_first_epoch_of_a_resumed_run_in_its_former_words_agrees() -> None:
    computed = time_figures((), Log(Path("log.txt"), (), ()), before=2)["first_epoch_s"].reason
    assert not list(json_differences(computed, "epoch 1 was not finished"))


def test_a_text_that_changed_twice_agrees_in_both_former_words() -> None:
    computed = (
        "mean time of an exchange (first bucket's start to last bucket's end) on the rank where it"
        " is shortest; mean over the epochs"
    )
    for written in (
        "first bucket's start to last one's end, of the rank that waits the least; mean of the"
        " epochs",
        "from the first bucket's start to the last bucket's end, on the rank that waits the least;"
        " mean over the epochs",
    ):
        assert as_now(written) == computed


def test_parts_of_memory_in_their_former_words_agree() -> None:
    """Of rounds v0.2 and v0.3: what was recorded is the same, and the words named it wrongly."""
    written = [
        "files mapped from then on: the data set, and code of kernels",
        "peak of rank 0 less the other parts: activations, mini-batches, scratch memory of kernels,"
        " and gaps of the allocator",
    ]
    mapped = next(method for name, _, method in PARTS if name == "memory_mapped_bytes")
    assert not list(json_differences([mapped, REST], written))


def test_each_of_several_joined_reasons_in_former_words_agrees() -> None:
    computed = "; ".join(
        f"{source}: it read 2 J, less than the 3 J of A and B, which it should include"
        for source in ("ina3221", "jtop")
    )
    written = computed.replace(", which it should include", "")
    assert not list(json_differences({"reason": computed}, {"reason": written}))


def test_the_reasons_of_several_nodes_in_former_words_agree() -> None:
    written = (
        "not every node has an energy (pi1: of what is not counted: rapl: no reading; pi2: in the"
        " time that is not counted: rapl: no reading; pi3: jtop: it read 2 J, less than the 3 J of"
        " A and B); measured on: none"
    )
    unknown = "the energy of the time that is not counted is unknown: rapl: no reading"
    computed = (
        f"not every node has an energy (pi1: {unknown}; pi2: {unknown}; pi3: jtop: it read 2 J,"
        " less than the 3 J of A and B, which it should include); measured on: none"
    )
    assert as_now(written) == computed


def test_another_number_in_former_words_is_a_difference() -> None:
    former = "5.00 s that the machine was busy less 2.00 s of the suite's processes: the harness"
    former += " with its recorder, and the implementation with its ranks and workers. Kernel"
    former += " threads are foreign; the kernel counts in ticks"
    assert as_now(former).startswith("busy time of the machine, 5.00 s, minus that of the suite's")
    now = as_now(former).replace("5.00", "6.00")
    assert [name for name, _ in json_differences({"method": now}, {"method": former})] == ["method"]


def test_a_text_that_is_too_long_to_be_one_of_ours_stays_as_it_is() -> None:
    text = "times are of another kind of machine: " + "a of b, and " * MAX_LENGTH
    assert as_now(text) == text


def test_the_words_that_are_written_now_are_no_former_ones() -> None:
    for former, now in FORMER:
        assert re.search(former, re.sub(r"\\\d", "1", now)) is None, now
