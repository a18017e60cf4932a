"""Faults that the rules of suite.compliance.rules.integrity find, by check."""

from collections.abc import Iterator

from suite.bundle.layout import (
    BASELOAD,
    COUNTERS,
    MANIFEST,
    OUTPUT,
    READINGS,
    RUN,
    STEPS,
    SUMMARY,
    SYSTEM,
)
from tests.faults.edits.fault import Fault, of_first_run, sealed, unsealed
from tests.faults.edits.file_edits import (
    append,
    change_counters,
    change_file,
    change_lines,
    change_summary,
    copy_from_second_run,
    delete,
    drop_line,
    halve,
    put,
    remove_chain,
    replace_in_line,
    resealed,
    scale,
    set_system,
)
from tests.faults.edits.log_edits import set_boot

FIGURES = (
    "time_to_epoch_s",
    "first_epoch_s",
    "compute_s",
    "fetch_stall_s",
    "copy_s",
    "overhead_s",
    "compute_share",
    "samples_per_s",
    "best_accuracy",
    "time_to_target_s",
    "energy_j",
    "energy_per_epoch_j",
    "baseload_power_w",
    "baseload_share",
    "cpu_utilisation",
    "resident_sum_max_bytes",
    "page_faults",
    "disk_read_bytes_per_s",
)


EPOCH_FIGURES = ("end_to_end_s", "mean_loss", "eval_accuracy", "energy_j", "samples")


COUNTS = ("phases.run.stop_ns", "phases.run.events.page_faults.count", "phases.init.start_ns")


def _line_faults() -> Iterator[Fault]:
    """Edited and dropped lines of the log; the manifest is made to fit, the chain is not."""
    for key in ("seed", "run_start", "epoch_stop", "eval_accuracy", "run_stop"):
        edited = change_lines("log.txt", replace_in_line(key, '"time_ms": 1', '"time_ms": 2'))
        yield unsealed(f"{key}'s line edited", resealed(edited))
    for key in ("seed", "run_start", "epoch_stop", "eval_accuracy"):
        yield unsealed(f"{key}'s line dropped", resealed(change_lines("log.txt", drop_line(key))))
    yield unsealed(
        "two lines swapped",
        resealed(change_lines("log.txt", lambda lines: [lines[1], lines[0], *lines[2:]])),
    )
    yield unsealed(
        "a line's chain value taken out", resealed(change_lines("log.txt", remove_chain))
    )


def _figure_faults() -> Iterator[Fault]:
    """Every kind of value of summary.json."""
    for name in FIGURES:
        yield sealed(f"{name} a tenth better", change_summary(f"figures.{name}.value", scale(0.9)))
    yield sealed(
        "energy a millionth less", change_summary("figures.energy_j.value", scale(0.999999))
    )
    for name, value in (
        ("unit", "kJ"),
        ("method", "an analyser"),
        ("coverage", 0.5),
        ("source", "log.txt"),
    ):
        yield sealed(
            f"the energy's {name} is {value!r}",
            change_summary(f"figures.energy_j.{name}", put(value)),
        )
    yield sealed("a figure taken out", lambda bundle: bundle.summary["figures"].pop("energy_j"))
    yield sealed(
        "a figure added", lambda bundle: bundle.summary["figures"].update(mlperf={"value": 1.0})
    )
    for name in EPOCH_FIGURES:
        yield sealed(f"an epoch's {name}", change_summary(f"epochs.1.{name}", scale(0.9)))
    yield sealed("an epoch taken out of the summary", lambda bundle: bundle.summary["epochs"].pop())


FAULTS: dict[str, tuple[Fault, ...]] = {
    "manifest": (
        *(
            unsealed(f"a blank at the end of {name}", append(name, b" "))
            for name in (RUN, SYSTEM, SUMMARY, COUNTERS, OUTPUT, "log.txt")
        ),
        *(unsealed(f"{name} lost", delete(name)) for name in (STEPS, READINGS, BASELOAD, OUTPUT)),
        of_first_run(unsealed("readings of another run", copy_from_second_run(READINGS))),
        unsealed("a file added", append("more.txt", b"more")),
        unsealed("a link added", lambda run: (run / "more.txt").symlink_to("/etc/hostname")),
        unsealed(
            "a line taken out of the manifest", change_lines(MANIFEST, lambda lines: lines[1:])
        ),
        unsealed(
            "a line of the manifest twice",
            change_lines(MANIFEST, lambda lines: [*lines, lines[0]]),
        ),
        unsealed(
            "another digest in the manifest",
            change_lines(MANIFEST, lambda lines: ["0" * 64 + lines[0][64:], *lines[1:]]),
        ),
        unsealed(
            "text before the first line of the log",
            change_lines("log.txt", lambda lines: ["WARNING", *lines]),
        ),
    ),
    "log-readable": (
        unsealed("log.txt cut in half, the manifest made to fit", resealed(halve("log.txt"))),
        unsealed(
            "the last line cut off",
            resealed(change_lines("log.txt", lambda lines: [*lines[:-1], lines[-1][:60]])),
        ),
        unsealed(
            "a line without its time",
            resealed(change_lines("log.txt", replace_in_line("seed", "time_ms", "time"))),
        ),
        unsealed(
            "a line that is no object",
            resealed(change_lines("log.txt", lambda lines: [*lines, ":::MLLOG []"])),
        ),
    ),
    "log-chain": tuple(_line_faults()),
    "summary-recomputes": tuple(_figure_faults()),
    "counters-recompute": (
        *(sealed(f"counters: {where}", change_counters(where, scale(0.9))) for where in COUNTS),
        sealed(
            "a count made up",
            change_file(
                COUNTERS,
                lambda values: values["phases"]["run"]["events"]["instructions"].update(
                    count=1e9, unit="events", reason=None
                ),
            ),
        ),
    ),
    "system-agrees": (
        *(
            sealed(f"{name} = {value!r} in system.json", set_system(name, value))
            for name, value in (
                ("device", "orin"),
                ("framework", "chainer"),
                ("framework_version", "9.9"),
                ("boot", "1"),
            )
        ),
        sealed("another boot everywhere in the log", set_boot("submission_benchmark")),
    ),
}
