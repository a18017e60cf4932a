"""Faults of the files: the machine's description, derived figures, run.json, bytes and lines."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from reference_impls.contract import unchained
from suite.bundle.layout import COUNTERS, MANIFEST
from suite.bundle.manifest import seal
from suite.compliance.editing import EditableBundle
from suite.submission.package import MACHINE
from tests.mutation.mutation import Mutation, bare, edit, edit_json, forged, sealed, set_in
from tests.mutation.table_faults import as_device, scaled

FIGURES = (
    "time_to_epoch_s", "first_epoch_s", "compute_s", "fetch_stall_s", "copy_s", "overhead_s", "accelerator_utilisation", "samples_per_s",
    "best_accuracy", "time_to_target_s", "energy_j", "energy_per_epoch_j", "baseload_power_w", "baseload_share", "cpu_utilisation",
    "peak_rss_bytes", "page_faults", "disk_read_bytes_per_s",
)  # fmt: skip
DAY_MS = 86_400_000


def machine_faults() -> Iterator[Mutation]:
    """The description of the machine."""
    for name, value in (("device", "orin"), ("framework", "chainer"), ("framework_version", "9.9"), ("boot", "1")):
        yield sealed(f"{name} = {value!r} in system.json", "system-agrees", described(name, value))
    for name, value in (("cpu_cores", 64), ("memory_size_bytes", 10**6)):
        yield sealed(f"{name} = {value} in system.json", "readings-fit-machine", described(name, value))
    for name, value in (("cpu_cores", 0), ("memory_size_bytes", "much")):
        yield sealed(f"{name} = {value!r} in system.json", "machine-fits-profile", described(name, value))
    for device in ("orin", "raspberry-pi-5", "nano", "no-such-device"):
        yield sealed(f"as the device {device}", "machine-fits-profile", as_device(device))
    yield forged("a hundred times a Raspberry Pi 4", "flop-rate", fast_pi())
    for name in MACHINE:
        if name != "device":
            yield sealed(f"one run on another {name}", "submission-system", described(name, "another"))


def figure_faults() -> Iterator[Mutation]:
    """Derived figures that do not follow from the records."""
    for name in FIGURES:
        yield sealed(f"{name} a tenth better", "summary-recomputes", figure_scaled(f"figures.{name}.value", 0.9))
    yield sealed("energy a millionth less", "summary-recomputes", figure_scaled("figures.energy_j.value", 0.999999))
    for name, value in (("unit", "kJ"), ("method", "an analyser"), ("coverage", 0.5), ("source", "log.txt")):
        yield sealed(f"the energy's {name} is {value!r}", "summary-recomputes", figure_set(f"figures.energy_j.{name}", value))
    yield sealed("a figure taken out", "summary-recomputes", lambda bundle: bundle.summary["figures"].pop("energy_j"))
    yield sealed("a figure added", "summary-recomputes", lambda bundle: bundle.summary["figures"].update(mlperf={"value": 1.0}))
    for name in ("end_to_end_s", "mean_loss", "eval_accuracy", "energy_j", "samples"):
        yield sealed(f"an epoch's {name}", "summary-recomputes", figure_scaled(f"epochs.1.{name}", 0.9))
    yield sealed("an epoch taken out of the summary", "summary-recomputes", lambda bundle: bundle.summary["epochs"].pop())
    for where in ("phases.run.stop_ns", "phases.run.events.page_faults.count", "phases.init.start_ns"):
        yield sealed(f"counters: {where}", "counters-recompute", counters_scaled(where, 0.9))


def record_faults() -> Iterator[Mutation]:
    """run.json besides the request."""
    for status in ("running", "failed", "interrupted"):
        yield sealed(f"a run that is {status}", "run-complete", recorded("status", status))
    yield sealed("exit code 137", "run-record", recorded("exit_code", 137))
    yield sealed("a message of failure", "run-record", recorded("message", "out of memory"))
    for days in (-30, 30):
        yield sealed(f"started {days} days later", "run-record", started_later(days * DAY_MS))


def file_faults() -> Iterator[Mutation]:
    """Files and bytes. Where a name says so, the manifest was made to fit again."""
    for name in ("run.json", "system.json", "summary.json", "counters.json", "output.txt", "log.txt"):
        yield bare(f"a blank at the end of {name}", "manifest", appended(name, b" "))
    for name in ("steps.parquet", "readings.parquet", "baseload.parquet", "output.txt"):
        yield bare(f"{name} lost", "manifest", lost(name))
    for name in ("system.json", "summary.json", "counters.json", "log.txt", "steps.parquet"):
        yield bare(f"{name} lost, the manifest made to fit", "bundle-readable", resealed(lost(name)))
        half = "log-readable" if name == "log.txt" else "bundle-readable"
        yield bare(f"{name} cut in half, the manifest made to fit", half, resealed(halved(name)))
    yield bare("readings of another run", "manifest", borrowed("readings.parquet"))
    yield bare("a file added", "manifest", appended("more.txt", b"more"))
    yield bare("a link added", "manifest", lambda run: (run / "more.txt").symlink_to("/etc/hostname"))
    yield bare("a line taken out of the manifest", "manifest", lines_of(MANIFEST, lambda lines: lines[1:]))
    yield bare("a line of the manifest twice", "manifest", lines_of(MANIFEST, lambda lines: [*lines, lines[0]]))
    yield bare("another digest in the manifest", "manifest", lines_of(MANIFEST, lambda lines: ["0" * 64 + lines[0][64:], *lines[1:]]))
    yield bare("no manifest", "run-complete", lost(MANIFEST))


def line_faults() -> Iterator[Mutation]:
    """Lines of the log; the manifest was made to fit again, the chain was not."""
    for key in ("seed", "run_start", "epoch_stop", "eval_accuracy", "run_stop"):
        yield bare(f"{key}'s line edited", "log-chain", resealed(lines_of("log.txt", replaced(key, '"time_ms": 1', '"time_ms": 2'))))
        rule = "log-events" if key == "run_stop" else "log-chain"  # nothing is chained to the last line
        yield bare(f"{key}'s line dropped", rule, resealed(lines_of("log.txt", dropped(key))))
    yield bare("two lines swapped", "log-chain", resealed(lines_of("log.txt", lambda lines: [lines[1], lines[0], *lines[2:]])))
    yield bare("a line's chain left out", "log-chain", resealed(lines_of("log.txt", _unchained)))
    yield bare("the last line cut off", "log-readable", resealed(lines_of("log.txt", lambda lines: [*lines[:-1], lines[-1][:60]])))
    yield bare("a line without its time", "log-readable", resealed(lines_of("log.txt", replaced("seed", "time_ms", "time"))))
    yield bare("a line that is no object", "log-readable", resealed(lines_of("log.txt", lambda lines: [*lines, ":::MLLOG []"])))
    yield bare("text before the first line", "manifest", lines_of("log.txt", lambda lines: ["WARNING", *lines]))


@edit
def described(bundle: EditableBundle, name: str, value: object) -> None:
    """A field of system.json."""
    bundle.system[name] = value


@edit
def fast_pi(bundle: EditableBundle) -> None:
    """A server's steps under a small board's name."""
    as_device("raspberry-pi-4")(bundle)
    scaled("compute_s", 0.01)(bundle)


@edit
def figure_scaled(bundle: EditableBundle, where: str, factor: float) -> None:
    """A number of summary.json."""
    set_in(bundle.summary, where, lambda value: value * factor)


@edit
def figure_set(bundle: EditableBundle, where: str, value: object) -> None:
    """A value of summary.json."""
    set_in(bundle.summary, where, lambda _: value)


@edit
def counters_scaled(bundle: EditableBundle, where: str, factor: float) -> None:
    """A number of counters.json."""
    edit_json(bundle.path / COUNTERS, where, lambda value: value * factor)


@edit
def recorded(bundle: EditableBundle, name: str, value: object) -> None:
    """A field of run.json."""
    bundle.run[name] = value


@edit
def started_later(bundle: EditableBundle, by_ms: int) -> None:
    """The start that run.json records."""
    bundle.run["started_time_ms"] += by_ms


@edit
def appended(run: Path, name: str, more: bytes) -> None:
    """More bytes at the end of a file."""
    with (run / name).open("ab") as stream:
        stream.write(more)


@edit
def lost(run: Path, name: str) -> None:
    """A file less."""
    (run / name).unlink()


@edit
def halved(run: Path, name: str) -> None:
    """The first half of a file."""
    content = (run / name).read_bytes()
    (run / name).write_bytes(content[: len(content) // 2])


@edit
def borrowed(run: Path, name: str) -> None:
    """A file of the submission's second run."""
    (run / name).write_bytes((run.with_name("run_2") / name).read_bytes())


@edit
def lines_of(run: Path, name: str, change: Callable[[Sequence[str]], Sequence[str]]) -> None:
    """Other lines of a text file."""
    path = run / name
    path.write_text("".join(f"{line}\n" for line in change(path.read_text().splitlines())))


@edit
def resealed(run: Path, change: Callable[[Path], None]) -> None:
    """A change, and a manifest that fits it."""
    change(run)
    (run / MANIFEST).unlink()
    seal(run)


@edit
def replaced(lines: Sequence[str], key: str, old: str, new: str) -> Sequence[str]:
    """Other text in the first line of this event."""
    index = _line_of(lines, key)
    assert old in lines[index]
    return [*lines[:index], lines[index].replace(old, new, 1), *lines[index + 1 :]]


@edit
def dropped(lines: Sequence[str], key: str) -> Sequence[str]:
    """The first line of this event taken out."""
    index = _line_of(lines, key)
    return [*lines[:index], *lines[index + 1 :]]


def _unchained(lines: Sequence[str]) -> Sequence[str]:
    return [*lines[:5], unchained(lines[5])[0], *lines[6:]]


def _line_of(lines: Sequence[str], key: str) -> int:
    return next(index for index, line in enumerate(lines) if f'"key": "{key}"' in line)
