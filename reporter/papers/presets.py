"""The presets: each published figure with what it needs. Nothing here loads pandas or Matplotlib,
so that listing them is quick."""

from dataclasses import dataclass

from suite.errors import SuiteError
from suite.files.names import nearest

JETSON, PI, SUITE = "Jetson", "Raspberry Pi", "the suite"
PAPERS = {
    JETSON: "Prashanthi et al., POMACS 2022",
    PI: "Mwase, Kahira and Zuo, AAAI 2024 (student abstract)",
    SUITE: "the suite's own",
}


@dataclass(frozen=True)
class Preset:
    """A figure by name: the paper and number that it follows, its title, what it needs, and a
    command that makes the data.

    ``drawn_by`` is ``module:function`` in reporter.figures, with arguments after further colons;
    the function takes frames and the arguments and returns a PaperFigure or a Missing.
    """

    name: str
    paper: str
    number: str
    title: str
    needs: str
    make: str
    drawn_by: str


def _run(options: str) -> str:
    return f"suite run --division open --workload lenet --epochs 5 {options}".strip()


_WORKERS = "suite sweep --workload lenet --vary workers=0,1,2 --epochs 5"
_BATCHES = "suite sweep --workload lenet --vary batch_size=16,64,256 --epochs 3"
_FRAMEWORKS = "suite sweep --workload lenet --vary framework=pytorch,tensorflow,chainer --epochs 3"
_MODES = f"sudo nvpmodel -m 1; {_run('--output runs/mode-1')}, and again for each mode"
_STORAGE = (
    f"{_run('--workers 0 --data /media/ssd/mnist')}, and again with a --data folder on another"
    " medium"
)
_LOCKED = f"{_run('')}; sudo jetson_clocks; {_run('--seed 2')}"
_METER = "measured with a power sensor (docs/measuring.md)"
_OF_BATCH_SIZES = "that differ only in batch size, or in batch size and learning rate"
_HARDWARE = "on a machine with hardware counters (`suite doctor` says whether it has them)"

PLAIN = {
    "frameworks": "pi-1d",
    "stalls": "jetson-2b",
    "energy": "jetson-8",
    "batch-sizes": "jetson-4c",
    "workers": "jetson-2a",
    "power-modes": "jetson-9a",
    "memory": "pi-1b",
    "nodes": "pi-1c",
}
"""Further names, for those who do not have the papers at hand."""
PRESETS = (
    Preset(
        "jetson-2a",
        JETSON,
        "2a",
        "Stall, compute and overhead by number of loading workers",
        "runs of two or more epochs that differ only in the number of loading workers",
        _WORKERS,
        "epochs:parts_by:workers",
    ),
    Preset(
        "jetson-2b",
        JETSON,
        "2b",
        "Stall of epoch 1 and of later epochs by number of loading workers",
        "a run of two or more epochs",
        _WORKERS,
        "epochs:first_stall_for_paper",
    ),
    Preset(
        "jetson-2c",
        JETSON,
        "2c",
        "Energy per epoch by number of loading workers",
        f"a run of two or more epochs, {_METER}",
        _WORKERS,
        "energy:energy_by:workers",
    ),
    Preset(
        "jetson-3a",
        JETSON,
        "3a",
        "Stall, compute and overhead of epoch 1 by storage medium, without loading workers",
        "runs that differ only in storage medium, all without loading workers",
        _STORAGE,
        "epochs:first_by_storage",
    ),
    Preset(
        "jetson-3b",
        JETSON,
        "3b",
        "Stall, compute and overhead of later epochs by storage medium",
        "runs of two or more epochs that differ only in storage medium",
        _STORAGE,
        "epochs:parts_by:storage_medium",
    ),
    Preset(
        "jetson-3c",
        JETSON,
        "3c",
        "Energy per epoch by storage medium",
        f"runs of two or more epochs that differ only in storage medium, {_METER}",
        _STORAGE,
        "energy:energy_by:storage_medium",
    ),
    Preset(
        "jetson-4a",
        JETSON,
        "4a",
        "Stall by batch size, per epoch and per mini-batch",
        f"runs of two or more epochs {_OF_BATCH_SIZES}",
        _BATCHES,
        "batches:per_epoch_and_step:stall",
    ),
    Preset(
        "jetson-4b",
        JETSON,
        "4b",
        "Compute by batch size, per epoch and per mini-batch",
        f"runs of two or more epochs {_OF_BATCH_SIZES}",
        _BATCHES,
        "batches:per_epoch_and_step:compute",
    ),
    Preset(
        "jetson-4c",
        JETSON,
        "4c",
        "Time of an epoch and of a step by batch size",
        f"runs of two or more epochs {_OF_BATCH_SIZES}",
        _BATCHES,
        "batches:per_epoch_and_step:total",
    ),
    Preset(
        "jetson-5a",
        JETSON,
        "5a",
        "Distribution of epoch times by board",
        "a run of three or more epochs",
        _run("--seed 1"),
        "distribution:for_paper:end_to_end_s",
    ),
    Preset(
        "jetson-5b",
        JETSON,
        "5b",
        "Distribution of energy per epoch by board",
        f"a run of three or more epochs, {_METER}",
        _run("--seed 1"),
        "distribution:for_paper:energy_j",
    ),
    Preset(
        "jetson-6a",
        JETSON,
        "6a",
        "Time and energy per epoch with free and with locked clocks",
        "the same training, run once with free and once with locked clocks",
        _LOCKED,
        "clocks:free_and_locked:time_to_epoch_s:energy_per_epoch_j",
    ),
    Preset(
        "jetson-6b",
        JETSON,
        "6b",
        "Utilisation with free and with locked clocks",
        "the same training, run once with free and once with locked clocks",
        _LOCKED,
        "clocks:free_and_locked:cpu_utilisation:gpu_utilisation",
    ),
    Preset(
        "jetson-6c",
        JETSON,
        "6c",
        "GPU clock with free and with locked clocks",
        "the same training, run once with free and once with locked clocks, on a machine whose GPU"
        " clock the suite reads",
        _LOCKED,
        "clocks:free_and_locked:gpu_frequency_hz",
    ),
    Preset(
        "jetson-6d",
        JETSON,
        "6d",
        "Share of the time at each CPU clock",
        "a run with readings of a CPU clock",
        _run(""),
        "clocks:cpu_residency",
    ),
    Preset(
        "jetson-7",
        JETSON,
        "7",
        "Baseload by device",
        f"a run with a baseload, {_METER} before the training",
        _run("--baseload 10"),
        "energy:baseload",
    ),
    Preset(
        "jetson-8",
        JETSON,
        "8 and 12",
        "Time against energy per epoch, with the Pareto front",
        f"a run of two or more epochs, {_METER}",
        _run(""),
        "time_energy:against_time:energy_per_epoch_j",
    ),
    Preset(
        "jetson-9a",
        JETSON,
        "9a",
        "Stall, compute and overhead by power mode",
        "runs of two or more epochs that differ only in power mode",
        _MODES,
        "epochs:parts_by:power_mode",
    ),
    Preset(
        "jetson-9b",
        JETSON,
        "9b",
        "Energy per epoch and baseload by power mode",
        f"runs of two or more epochs that differ only in power mode, {_METER}",
        _MODES,
        "energy:by_mode",
    ),
    Preset(
        "jetson-10a",
        JETSON,
        "10a",
        "Epoch time by power mode, measured and predicted",
        "runs of two or more epochs that differ only in power mode, in four or more modes whose"
        " clocks are known",
        _MODES,
        "prediction:by_mode:time_to_epoch_s",
    ),
    Preset(
        "jetson-10b",
        JETSON,
        "10b",
        "Energy by power mode, measured and predicted",
        "runs of two or more epochs that differ only in power mode, in five or more modes whose"
        " clocks are known,"
        f" {_METER}",
        _MODES,
        "prediction:by_mode:energy_per_epoch_j",
    ),
    Preset(
        "jetson-11",
        JETSON,
        "11",
        "Time per epoch against mean power",
        f"a run of two or more epochs, {_METER}",
        _run(""),
        "time_energy:against_time:mean_power_w",
    ),
    Preset(
        "jetson-13",
        JETSON,
        "13",
        "Time against energy, marked by number of cores",
        f"runs in power modes with different numbers of cores, {_METER}",
        _MODES,
        "time_energy:against_time:energy_per_epoch_j:cores",
    ),
    Preset(
        "jetson-14",
        JETSON,
        "14",
        "Time against energy, marked by CPU clock",
        f"runs in power modes with different CPU clocks, {_METER}",
        _MODES,
        "time_energy:against_time:energy_per_epoch_j:cpu",
    ),
    Preset(
        "jetson-15",
        JETSON,
        "15",
        "Time against energy, marked by GPU clock",
        f"runs in power modes with different GPU clocks, {_METER}",
        _MODES,
        "time_energy:against_time:energy_per_epoch_j:gpu",
    ),
    Preset(
        "jetson-16",
        JETSON,
        "16",
        "Time against energy, marked by memory clock",
        f"runs in power modes with different memory clocks, {_METER}",
        _MODES,
        "time_energy:against_time:energy_per_epoch_j:memory",
    ),
    Preset(
        "pi-1a",
        PI,
        "1a",
        "Throughput by batch size",
        f"runs of two or more epochs {_OF_BATCH_SIZES}",
        _BATCHES,
        "batches:throughput",
    ),
    Preset(
        "pi-1b",
        PI,
        "1b",
        "Memory by batch size",
        f"runs {_OF_BATCH_SIZES}",
        _BATCHES,
        "batches:memory",
    ),
    Preset(
        "pi-1c",
        PI,
        "1c",
        "Speed-up over nodes",
        "runs on one node and on several nodes, with the same ranks per node, threads and"
        " collective, and the same global batch or batch per rank",
        "suite sweep --vary nodes=1,2,4 --workload lenet --epochs 3 --hostfile hosts",
        "scaling:for_paper",
    ),
    Preset(
        "pi-1d",
        PI,
        "1d",
        "Frameworks along several axes",
        "runs of two or more epochs in at least two frameworks",
        _FRAMEWORKS,
        "radar:for_paper",
    ),
    Preset(
        "pi-2a",
        PI,
        "2a",
        "Instructions",
        f"runs {_HARDWARE}",
        _FRAMEWORKS,
        "counters:for_paper:instructions",
    ),
    Preset(
        "pi-2b",
        PI,
        "2b",
        "Instruction rate",
        f"runs {_HARDWARE}",
        _FRAMEWORKS,
        "counters:for_paper:instructions_per_cpu_s",
    ),
    Preset(
        "pi-2c",
        PI,
        "2c",
        "L1 data accesses",
        f"runs {_HARDWARE}",
        _FRAMEWORKS,
        "counters:for_paper:l1d_access",
    ),
    Preset(
        "pi-2d",
        PI,
        "2d",
        "Instructions per cycle",
        f"runs {_HARDWARE}",
        _FRAMEWORKS,
        "counters:for_paper:ipc",
    ),
    Preset(
        "pi-2e",
        PI,
        "2e",
        "L1 data misses",
        f"runs {_HARDWARE}",
        _FRAMEWORKS,
        "counters:for_paper:l1d_refill",
    ),
    Preset(
        "pi-2f",
        PI,
        "2f",
        "L1 data miss ratio",
        f"runs {_HARDWARE}",
        _FRAMEWORKS,
        "counters:for_paper:l1d_miss_ratio",
    ),
    Preset(
        "pi-2g",
        PI,
        "2g",
        "Branches and mispredictions",
        f"runs {_HARDWARE}",
        _FRAMEWORKS,
        "counters:for_paper:branches:branch_mispredicts",
    ),
    Preset(
        "pi-2h",
        PI,
        "2h",
        "Branch mispredict ratio",
        f"runs {_HARDWARE}",
        _FRAMEWORKS,
        "counters:for_paper:branch_mispredict_ratio",
    ),
    Preset(
        "pi-linpack",
        PI,
        "text",
        "Training and LINPACK",
        "runs, and a LINPACK record of the machine on which they ran",
        "suite linpack --output runs/linpack",
        "linpack_share:for_paper",
    ),
    Preset(
        "accuracy",
        SUITE,
        "",
        "Accuracy against training time",
        "a run with at least one evaluation",
        _run(""),
        "accuracy:for_paper",
    ),
    Preset(
        "time-to-target",
        SUITE,
        "",
        "Time to target",
        "runs that reach their target",
        "suite run --division closed --workload lenet",
        "epochs:time_to_target",
    ),
)


def preset_of(name: str) -> Preset:
    """The preset of that name. Raises SuiteError, naming the nearest one, if there is none."""
    found = next((preset for preset in PRESETS if preset.name == PLAIN.get(name, name)), None)
    if found is None:
        hint = nearest(name, [*PLAIN, *(preset.name for preset in PRESETS)])
        raise SuiteError(f"There is no figure {name!r}; {hint}`suite list figures` lists them.")
    return found
