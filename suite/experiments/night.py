"""One night on one board: which workloads fit into the hours, and three runs of each."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from reference_impls.contract import boot_id
from suite.bundle.layout import RUN, SYSTEM
from suite.bundle.reader import Bundle
from suite.bundle.run_lock import is_held
from suite.errors import SuiteError
from suite.execution.finish import finish
from suite.experiments.quick import QuickLook
from suite.files.json_file import read_as, write_json
from suite.machine.power_settings import read_power_settings

SEEDS = (1, 2, 3)
LOOK_SHARE = 0.1
"""Of the time: what first looks may take."""
RECORD, LOOKS, RUNS, SITE = "night.json", "looks", "runs", "site"
SCHEMA = 1
SHORT_S = 3.0
"""Less is 0.0 min."""


@dataclass(frozen=True)
class PlannedWorkload:
    """A workload of the night: the time that one run of it takes by its first look, s (None: not
    known), and whether its runs are made; ``reason`` says why not."""

    workload: str
    run_s: float | None
    is_made: bool
    reason: str | None = None


@dataclass(frozen=True)
class Night:
    """What a night was begun with (no workloads: every closed one of the device), and its plan:
    of ``left_s`` after the looks, of a night of ``within_s``."""

    division: str
    framework: str
    accelerator: str
    workloads: tuple[str, ...]
    planned: tuple[PlannedWorkload, ...] = ()
    within_s: float | None = None
    left_s: float | None = None

    @property
    def asked(self) -> "Night":
        """The same before it was planned."""
        return replace(self, planned=(), within_s=None, left_s=None)

    def is_continued_by(self, asked: "Night", within_s: float) -> bool:
        """Whether a command makes this night's runs: not where nothing fits into it, and other
        settings or longer looks make another plan. Looks may be longer where none told a time, or
        where this night was shorter than they may be."""
        if any(each.is_made for each in self.planned):
            return True
        enough_s = within_s if self.least_s() is None else within_s * LOOK_SHARE
        return self.asked == asked and self.within_s is not None and enough_s <= self.within_s

    def least_s(self) -> float | None:
        """The shortest night with runs of a workload, s; None where no time of a run is known."""
        runs_s = [each.run_s for each in self.planned if each.run_s is not None]
        if not runs_s or self.within_s is None or self.left_s is None:
            return None
        return self.within_s - self.left_s + len(SEEDS) * min(runs_s)


def plan_night(looks: Sequence[QuickLook], left_s: float) -> tuple[PlannedWorkload, ...]:
    """The cheapest workloads first, as many as have time for a run with every seed."""
    return _fitting({look.workload: run_s_of(look) for look in looks}, left_s)


def with_more_time(night: Night, within_s: float) -> Night:
    """The night with what fits into more time, too; what was planned stays."""
    if night.within_s is None or night.left_s is None or within_s <= night.within_s:
        return night
    left_s = night.left_s + within_s - night.within_s
    costs = {each.workload: each.run_s for each in night.planned if each.run_s is not None}
    unknown = (each for each in night.planned if each.run_s is None)
    planned = (*_fitting(costs, left_s), *unknown)
    return replace(night, planned=planned, within_s=within_s, left_s=left_s)


def _fitting(costs: Mapping[str, float | None], left_s: float) -> tuple[PlannedWorkload, ...]:
    planned = []
    for name, run_s in sorted(costs.items(), key=lambda each: (each[1] is None, each[1] or 0.0)):
        if run_s is None:
            planned.append(
                PlannedWorkload(
                    name, None, False, "its trial steps did not show how long a run takes"
                )
            )
        elif len(SEEDS) * run_s > left_s:
            have = "no time is" if left_s < SHORT_S else f"{_in_hours(left_s)} are"
            reason = f"{len(SEEDS)} runs take {_in_hours(len(SEEDS) * run_s)}, and {have} left"
            planned.append(PlannedWorkload(name, run_s, False, reason))
        else:
            left_s -= len(SEEDS) * run_s
            planned.append(PlannedWorkload(name, run_s, True))
    return tuple(planned)


def _in_hours(time_s: float) -> str:
    return f"{time_s / 3600:.1f} h" if time_s >= 3600 else f"{time_s / 60:.1f} min"


def run_s_of(look: QuickLook) -> float | None:
    """What a run to the target takes; all its epochs where nothing projects it."""
    if look.reached_s is not None:
        return look.reached_s
    if look.projection is not None:
        return look.projection.time_s.value
    epoch_s = epoch_s_of(look)
    return None if epoch_s is None else epoch_s * look.most_epochs


def epoch_s_of(look: QuickLook) -> float | None:
    """What an epoch takes, by the whole ones of a look or by its steps."""
    return look.estimate.epoch_s.value if look.estimate is not None else look.epoch_s


def save(folder: Path, night: Night) -> None:
    """Keep the plan, which the same command continues after a power cut."""
    write_json(folder / RECORD, {"schema": SCHEMA, **asdict(night)})


def begun_in(folder: Path, asked: Night, within_s: float) -> Night | None:
    """The night that was begun in this folder; None: there is none, or nothing fits into it and
    this command plans another one. Raises FileError for a file that the suite did not write."""
    path = folder / RECORD
    begun = read_as(path, Night, SCHEMA) if path.is_file() else None
    return begun if begun is not None and begun.is_continued_by(asked, within_s) else None


def runs_of(folder: Path, planned: Sequence[PlannedWorkload]) -> Iterator[tuple[str, int, Path]]:
    """Workload, seed and directory of every run: each workload once before one has its second, so
    that the runs of a workload lie hours apart."""
    for seed in SEEDS:
        for each in planned:
            if each.is_made:
                yield each.workload, seed, folder / RUNS / each.workload / f"seed-{seed}"


def is_of_this_session(folder: Path, planned: Sequence[PlannedWorkload], workload: str) -> bool:
    """Whether a run of the workload was made since the machine started."""
    runs = (Bundle(run) for name, _, run in runs_of(folder, planned) if name == workload)
    sealed = (run for run in runs if run.is_sealed and (run.path / SYSTEM).is_file())
    return any(run.json(SYSTEM).get("boot") == boot_id() for run in sealed)


def is_made(run: Path) -> bool:
    """Whether the run was finished before; one that was cut off after its training is closed."""
    if (run / RUN).is_file() and not Bundle(run).is_sealed:
        finish(run)
    return is_finished(run)


def set_aside(run: Path) -> None:
    """Move a launch that did not finish out of the next one's way: submissions declare it."""
    with suppress(SuiteError, OSError):  # nothing there, or nothing that can be read
        record = Bundle(run).run()
        if record.status != "finished" and not is_held(run):
            run.rename(run.with_name(record.run_id))


def refuse_other_mode(run: Path) -> None:
    """Raise SuiteError for a run that was made in another power mode than the machine has now."""
    made_in, mode = Bundle(run).json(SYSTEM).get("power_mode"), read_power_settings().label
    if made_in != mode:
        raise SuiteError(
            f"{run} was made in the power mode {made_in!r}, and this machine is in {mode!r}: each"
            " is an entry of its own. Set the first one again, or choose another --output."
        )


def is_finished(run: Path) -> bool:
    """Whether the run finished and its bundle is sealed; that of one that was cut off may be."""
    return Bundle(run).is_sealed and Bundle(run).run().status == "finished"
