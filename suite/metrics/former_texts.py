"""Texts of records whose wording changed: a record with the former text says the same."""

import re

MAX_LENGTH = 1000
"""Longer texts were never written; they are compared as they are."""
FORMER = (
    (
        r"the log has no such number: the run was not finished, or an accelerator worked, whose"
        r" times are not taken",
        r"the log does not contain it: the run was not finished, or it used an accelerator, on"
        r" which blocks are not timed",
    ),
    (
        r"share of the run in which some task of the machine waited for it",
        r"share of the run in which at least one task of the machine waited for this resource",
    ),
    (
        r"([\d.]+ s) that the machine was busy less ([\d.]+ s) of the suite's processes: the"
        r" harness with its recorder, and the implementation with its ranks and workers\. Kernel"
        r" threads are foreign;",
        r"busy time of the machine, \1, minus that of the suite's processes, \2: harness,"
        r" recorder, implementation, ranks and workers. Kernel threads count as other programs;",
    ),
    (
        r" are others here, and a replay cannot tell whether rounding explains it",
        r" differ here, and no replay shows whether rounding explains that",
    ),
    (
        r"a run has no whole epoch whose time is known",
        r"a run has no finished epoch with a known time",
    ),
    (r"slowed it, or is different here", r"slowed it, or the machine differs"),
    (
        r"(\d+) fresh runs with this scatter decide it",
        r"with this scatter \1 fresh runs would decide it",
    ),
    (
        r"with this scatter (\d+) fresh runs do not decide it either",
        r"with this scatter even \1 fresh runs would not decide it",
    ),
    (
        r"^times are of another kind of machine: (.+) of (\S+), and ",
        r"the machines are of different kinds: \1 in \2, and ",
    ),
    (
        r"the machine has no name, as a virtual machine has none: only times of the very same one"
        r" are compared, by its board digest",
        r"the machine does not state its model (virtual machines do not): times are compared only"
        r" if the board digest shows the same machine",
    ),
)
"""The former words, and the words that are written now."""


def as_now(text: str) -> str:
    """The text in the words in which it is written now."""
    if len(text) <= MAX_LENGTH:
        for former, now in FORMER:
            text = re.sub(former, now, text)
    return text
