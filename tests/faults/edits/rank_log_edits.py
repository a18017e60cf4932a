"""Edits of the other ranks' logs: every chain value is recomputed, in all logs."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from reference_impls.contract import FIRST_LINK, TOKEN, chained, heads_digest, log_name
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import edit

Events = list[dict[str, Any]]


def read_log(path: Path) -> Events:
    """A log's events, without their chain values."""
    events: Events = [
        json.loads(line[len(TOKEN) :]) for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return _unchained(events)


def read_logs(bundle: EditableBundle) -> dict[int, Events]:
    """Every rank's events, without their chain values; rank 0's are the bundle's own list."""
    ranks = 1 + len(list(bundle.path.glob("log.rank*.txt")))
    others = {rank: read_log(bundle.path / log_name(rank)) for rank in range(1, ranks)}
    return {0: _unchained(bundle.events), **others}


def write_logs(bundle: EditableBundle, logs: dict[int, Events]) -> None:
    """Make the chain values that the ranks exchange fit, and write the logs of all ranks but 0,
    whose log the bundle writes."""
    _exchange(logs)
    for rank in range(1, len(logs)):
        write_log(bundle.path / log_name(rank), logs[rank])


@edit
def change_logs(bundle: EditableBundle, change: Callable[[dict[int, Events]], object]) -> None:
    """Change the events of any rank; the chain values that the ranks exchange are made to fit."""
    logs = read_logs(bundle)
    change(logs)
    write_logs(bundle, logs)


def _unchained(events: Events) -> Events:
    for event in events:
        event["metadata"].pop("chain", None)
    return events


def set_of_rank(
    rank: int, key: str, value: object, number: int = 0, **metadata: object
) -> Callable[[EditableBundle], None]:
    """Set the value and metadata of a rank's n-th event with this key."""

    def change(logs: dict[int, Events]) -> None:
        event = [event for event in logs[rank] if event["key"] == key][number]
        event["value"] = value
        event["metadata"].update(metadata)

    return change_logs(change)


def set_in_all_logs(key: str, value: object) -> Callable[[EditableBundle], None]:
    """Set the value of every event with this key, in every log."""

    def change(logs: dict[int, Events]) -> None:
        for event in (event for events in logs.values() for event in events if event["key"] == key):
            event["value"] = value

    return change_logs(change)


def add_to_all_logs(key: str, values: Sequence[object]) -> Callable[[EditableBundle], None]:
    """Log a value in every log, right before init_stop: the n-th one on rank n."""

    def change(logs: dict[int, Events]) -> None:
        for rank, events in logs.items():
            stop = next(place for place, event in enumerate(events) if event["key"] == "init_stop")
            metadata = dict(events[stop]["metadata"])
            events.insert(
                stop,
                dict(
                    events[stop],
                    event_type="POINT_IN_TIME",
                    key=key,
                    value=values[rank],
                    metadata=metadata,
                ),
            )

    return change_logs(change)


def add_after_epochs(key: str, value: object) -> Callable[[EditableBundle], None]:
    """Log a value in every log after every epoch: right after its epoch_stop, at the same time."""

    def change(logs: dict[int, Events]) -> None:
        for events in logs.values():
            for place in reversed(
                [place for place, event in enumerate(events) if event["key"] == "epoch_stop"]
            ):
                stop = events[place]
                metadata = {
                    name: value for name, value in stop["metadata"].items() if name != "steps"
                }
                events.insert(
                    place + 1,
                    dict(stop, event_type="POINT_IN_TIME", key=key, value=value, metadata=metadata),
                )

    return change_logs(change)


def shift_rank(
    rank: int, key: str, by_ns: int, number: int = 0
) -> Callable[[EditableBundle], None]:
    """Shift the monotonic time of a rank's n-th event with this key."""

    def change(logs: dict[int, Events]) -> None:
        [event for event in logs[rank] if event["key"] == key][number]["metadata"]["mono_ns"] += (
            by_ns
        )

    return change_logs(change)


def move_offset(rank: int, by_ns: int) -> Callable[[EditableBundle], None]:
    """Move a rank's clock offset in every event that has it."""

    def change(logs: dict[int, Events]) -> None:
        for event in (event for event in logs[0] if event["key"] == "clock_offsets_ns"):
            event["value"][rank][0] += by_ns

    return change_logs(change)


def shift_time_of_day(rank: int, by_ms: int) -> Callable[[EditableBundle], None]:
    """Shift the time of day of all events of a rank."""

    def change(logs: dict[int, Events]) -> None:
        for event in logs[rank]:
            event["time_ms"] += by_ms

    return change_logs(change)


def reboot_rank(rank: int, key: str) -> Callable[[EditableBundle], None]:
    """Set another boot id in a rank's log from this event on."""

    def change(logs: dict[int, Events]) -> None:
        first = next(place for place, event in enumerate(logs[rank]) if event["key"] == key)
        for event in logs[rank][first:]:
            event["metadata"]["boot"] = "another"

    return change_logs(change)


def set_boot_of_rank(rank: int, other: int) -> Callable[[EditableBundle], None]:
    """Set the boot id of another rank's log in all events of a rank."""

    def change(logs: dict[int, Events]) -> None:
        for event in logs[rank]:
            event["metadata"]["boot"] = logs[other][0]["metadata"]["boot"]

    return change_logs(change)


def remove_of_rank(rank: int, key: str, number: int = 0) -> Callable[[EditableBundle], None]:
    """Remove a rank's n-th event with this key."""
    return change_logs(
        lambda logs: logs[rank].remove(
            [event for event in logs[rank] if event["key"] == key][number]
        )
    )


def remove_of_all(key: str) -> Callable[[EditableBundle], None]:
    """Remove every event with this key from every log."""

    def change(logs: dict[int, Events]) -> None:
        for events in logs.values():
            events[:] = [event for event in events if event["key"] != key]

    return change_logs(change)


def write_log(path: Path, events: Events) -> None:
    """Write events, whose chain values were taken out, with a chain that fits."""
    chain, lines = FIRST_LINK, []
    for event in events:
        line, chain = chained(chain, TOKEN + json.dumps(event))
        lines.append(line + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def _exchange(logs: dict[int, Events]) -> None:
    """Fill in the chain values of every ``chain_heads`` event, which all ranks log in the same
    order."""
    place, chains = dict.fromkeys(logs, 0), dict.fromkeys(logs, FIRST_LINK)
    while any(place[rank] < len(events) for rank, events in logs.items()):
        for rank, events in logs.items():
            while place[rank] < len(events) and events[place[rank]]["key"] != "chain_heads":
                chains[rank] = chained(chains[rank], TOKEN + json.dumps(events[place[rank]]))[1]
                place[rank] += 1
        heads = [chains[rank] for rank in sorted(logs)]
        for rank in (rank for rank, events in logs.items() if place[rank] < len(events)):
            is_digest = isinstance(logs[rank][place[rank]]["value"], str)
            logs[rank][place[rank]]["value"] = heads_digest(heads) if is_digest else heads
            chains[rank] = chained(chains[rank], TOKEN + json.dumps(logs[rank][place[rank]]))[1]
            place[rank] += 1
