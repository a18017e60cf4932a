"""The panels that the help of a command with many options shows them in."""

from typing import Any

from suite.cli.streams import terminal_columns

MANY, NARROW = 21, 72
PANELS = {
    "What": (
        *("study", "vary", "file", "values", "workload", "division", "framework", "implementation"),
        *("data", "seed", "seeds", "nonce", "run_number", "repetitions", "random", "order"),
        *(
            "epochs",
            "steps",
            "short",
            "no_target",
            "batch_size",
            "learning_rate",
            "trains",
            "stall_analysis",
            "resume",
        ),
    ),
    "Where": (
        *("device", "accelerator", "threads", "workers", "prefetch", "memory_budget", "spill"),
        *("isolation", "boards", "size"),
    ),
    "Arithmetic": ("precision", "normalisation", "accumulate", "wire"),
    "Several nodes": (
        *("hostfile", "nodes", "ranks_per_node", "weak", "shares", "collective"),
        *("launch_agent", "silence"),
    ),
    "Measuring": (
        *("meters", "baseload", "timing", "power_pulse", "needs_power", "cool_to", "allow_busy"),
    ),
    "Evidence": ("org", "witness", "keep_states", "no_identity", "allow_invalid"),
    "Output": ("output", "force", "dry_run", "verbose", "json"),
}
_PLACES = {
    name: (place, panel)
    for place, (panel, name) in enumerate(
        (panel, name) for panel, names in PANELS.items() for name in names
    )
}


def in_panels(command: Any) -> None:
    """Sort the options of a command that has MANY into the panels; arguments stay before them. A
    NARROW terminal gets a list, whose names are whole."""
    if terminal_columns() < NARROW:
        command.rich_markup_mode = None
    if len(command.params) < MANY:
        return
    command.params.sort(key=lambda each: _PLACES.get(each.name, (-1, ""))[0])
    for each in command.params:
        if each.name in _PLACES:
            each.rich_help_panel = _PLACES[each.name][1]
