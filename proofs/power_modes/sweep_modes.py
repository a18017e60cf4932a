"""Sets random power modes of a board, one after the other, until it is killed: ``python -m
proofs.power_modes.sweep_modes ROOT SEED KIND``."""

import itertools
import random
import sys
from pathlib import Path

from suite.machine.modes.available_modes import read_available_modes
from suite.machine.modes.requested_mode import MHZ, RequestedMode
from suite.machine.modes.set_and_restore import held_modes, set_mode

HELD, KEPT = "held", "kept"


def draw(chance: random.Random, root: Path) -> RequestedMode:
    """A random mode of the board: a mode of nvpmodel, single settings, or both."""
    available = read_available_modes(root)
    frequencies = {
        kind: [round(each / MHZ) for each in available.domains_of(kind)[0].frequencies_hz]
        for kind in ("cpu", "gpu")
    }
    return RequestedMode(
        mode=chance.choice([None, *(mode.name for mode in available.modes)]),
        cores=chance.choice([None, "1", "2", str(len(available.cores)), "0,3-5"]),
        cpu_mhz=chance.choice([None, *frequencies["cpu"]]),
        gpu_mhz=chance.choice([None, *frequencies["gpu"]]),
        emc_mhz=chance.choice([None, 1600, 2133]),
        governor=chance.choice([None, "performance", "powersave"]),
        fan=chance.choice([None, "120", "cool"]),
        jetson_clocks=chance.random() < 0.3,
    )


def main() -> None:
    """Say "ready" once the first mode holds, then go on for ever."""
    root, chance = Path(sys.argv[1]), random.Random(int(sys.argv[2]))
    modes = (requested for _ in itertools.count() if not (requested := draw(chance, root)).is_empty)
    if sys.argv[3] == HELD:
        with held_modes(root) as apply:
            for number, requested in enumerate(modes):
                apply(requested)
                if number == 0:
                    print("ready", flush=True)
    for number, requested in enumerate(modes):
        set_mode(requested, root)
        if number == 0:
            print("ready", flush=True)


if __name__ == "__main__":
    main()
