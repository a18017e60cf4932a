"""Faults that the rules of suite.compliance.rules.witness find, by check."""

from suite.bundle.data_record import DATA
from suite.bundle.layout import COUNTERS, OUTPUT, POWER, RUN, SUMMARY, SYSTEM
from tests.faults.edits.fault import Fault, save_after, sealed, unsealed
from tests.faults.edits.file_edits import append, delete, resealed, set_run, set_system
from tests.faults.edits.log_edits import set_boot
from tests.faults.edits.table_edits import (
    a_day_earlier,
    change_second_node,
    scale_column,
    scale_power,
)
from tests.faults.edits.witness_edits import (
    edited_after,
    edited_and_digests_fitted,
    edited_and_heads_fitted,
    exchanged,
    make_shorter,
    slower_answers,
    stamp_of_log_for_files,
    with_token,
    without_files_stamp,
    without_stamp,
    witnessed,
)

EDITED_FILES = (RUN, SYSTEM, SUMMARY, COUNTERS, POWER, OUTPUT, DATA, "log.txt")
"""Files of the faults: a byte more leaves them readable."""


FAULTS: dict[str, tuple[Fault, ...]] = {
    "witness-time": (
        unsealed(
            "a tenth off all times afterwards",
            edited_after(save_after(make_shorter(0.9), recompute=True)),
        ),
        unsealed(
            "a tenth off all times, and the new head in the record",
            edited_and_heads_fitted(save_after(make_shorter(0.9), recompute=True)),
        ),
        unsealed(
            "a tenth more on all times afterwards",
            edited_after(save_after(make_shorter(1.1), recompute=True)),
        ),
        unsealed(
            "another boot in the log afterwards",
            edited_after(save_after(set_boot("submission_benchmark"))),
        ),
        unsealed("the witness's clock ran 100 s longer", witnessed(shorter_s=-100)),
        unsealed("the witness's clock ran a third shorter", witnessed(shorter_s=10)),
        unsealed("the receipt after init_start", witnessed(before_s=-1)),
        unsealed("the stamp before run_stop", witnessed(after_s=-1)),
        unsealed("100 s from the receipt to init_start", witnessed(before_s=100)),
        unsealed("40 s from run_stop to the stamp", witnessed(after_s=40)),
        unsealed("an answer that took a minute", witnessed(change=slower_answers(60))),
        unsealed("receipt and stamp exchanged", witnessed(change=exchanged)),
        *(
            unsealed(
                f"the stamp with {name} = {value!r}",
                witnessed(change=with_token(**{name: value})),
            )
            for name, value in (
                ("kind", "word of honour"),
                ("kind", "rfc3161"),
                ("statement", "{}"),
                ("statement", 1),
                ("signature", ""),
                ("signature", 1),
            )
        ),
    ),
    "witness-files": (
        unsealed("a tenth less power", edited_after(save_after(scale_power(0.9), recompute=True))),
        unsealed(
            "a tenth off the computing times",
            edited_after(save_after(scale_column("compute_s", 0.9), recompute=True)),
        ),
        unsealed(
            "another command",
            edited_after(save_after(set_run("command", ["python3", "-m", "suite"]))),
        ),
        unsealed("more memory", edited_after(save_after(set_system("memory_bytes", 2**36)))),
        *(
            unsealed(f"{name} edited afterwards", edited_after(resealed(append(name, b" "))))
            for name in EDITED_FILES
        ),
        unsealed("baseload.parquet left out", edited_after(resealed(delete("baseload.parquet")))),
        unsealed("another log added", edited_after(resealed(append("log.rank1.txt", b"")))),
        unsealed(
            "readings edited, and their digest in the record",
            edited_and_digests_fitted(save_after(scale_power(0.9))),
        ),
        unsealed(
            "another system's description on the second node",
            edited_after(resealed(append("nodes.json", b" "))),
            ranks=2,
        ),
        unsealed(
            "the second rank's log edited",
            edited_after(resealed(append("log.rank1.txt", b"\n"))),
            ranks=2,
        ),
        unsealed(
            "a day between the second node's readings and the run",
            edited_after(save_after(change_second_node(a_day_earlier))),
            ranks=2,
        ),
        unsealed("the stamp of the log in its place", witnessed(change=stamp_of_log_for_files)),
    ),
    "witness-recorded": (
        sealed(
            "the record taken out",
            set_run("command", ["suite", "run", "--witness", "http://witness.example:8731"]),
        ),
        sealed(
            "the record taken out, the option in one word",
            set_run("command", ["suite", "run", "--witness=http://witness.example:8731"]),
        ),
        unsealed(
            "the record of another witness",
            edited_after(
                save_after(set_run("command", ["suite", "run", "--witness", "http://other:1"]))
            ),
        ),
    ),
    "witness-known": (
        unsealed("a witness that nobody knows", witnessed()),
        unsealed("a witness that did not answer at the end", witnessed(change=without_stamp)),
        unsealed(
            "a witness that did not answer at the closing",
            witnessed(change=without_files_stamp),
        ),
        unsealed("a stamp over the files an hour later", witnessed(closed_after_s=3600)),
    ),
}
