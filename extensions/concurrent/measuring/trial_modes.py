"""Power modes of the trials of `suite concurrent tune`, which are put back at its end, also after
it was killed (suite.machine.modes)."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from suite.errors import SuiteError
from suite.experiments.before_runs import refuse_at_once
from suite.extensions.concurrent.measuring.trials import Mode
from suite.machine.modes.available_modes import read_available_modes
from suite.machine.modes.places import SYSTEM
from suite.machine.modes.requested_mode import RequestedMode, cores_on_line
from suite.machine.modes.set_and_restore import held_modes, refuse_mode


def modes_of(names: Sequence[str], root: Path = SYSTEM) -> tuple[Mode, ...]:
    """The modes to choose from, each once, with their cores. Raises SuiteError for those that this
    machine has not, or this user cannot set."""
    if not all(names):
        raise SuiteError(
            "--power-modes has an empty name; give names from `suite power list`, separated by"
            " commas."
        )
    available, requested = (
        read_available_modes(root),
        {name: RequestedMode(name) for name in dict.fromkeys(names)},
    )
    refuse_at_once(lambda mode=mode: refuse_mode(mode, root) for mode in requested.values())  # type: ignore[misc]
    return tuple(Mode(name, cores_on_line(mode, available)) for name, mode in requested.items())


@contextmanager
def held_for_trials(root: Path = SYSTEM) -> Iterator[Callable[[str], None]]:
    """A function that sets a mode by its name, unless it is set; after the block everything is as
    it was."""
    with held_modes(root) as apply:
        now: str | None = None

        def set_mode(name: str) -> None:
            nonlocal now
            if name != now:
                apply(RequestedMode(name))
                now = name

        yield set_mode
