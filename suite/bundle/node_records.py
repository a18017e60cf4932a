"""``nodes.json``: the nodes of a run on several nodes, with each node's description, meters and
page cache."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from suite.bundle.reader import Bundle
from suite.errors import FileError
from suite.files.json_file import read_as, write_json
from suite.files.schema import Count

NODES = "nodes.json"
SCHEMA = 1
MAX_NODES = 10_000


@dataclass(frozen=True)
class NodeRecord:
    """One node: ``host`` is its name in the hostfile, ``node`` its host name (None: it never
    replied), ``ranks`` the ranks that ran there.

    The first node is the harness's; its readings are readings.parquet. Every other node has a
    readings table, on that node's clock. ``problem`` is the reason why a node has no readings, or
    that its recorder was lost during the run. ``link`` is the interface to the other nodes,
    ``page_cache`` the state of the page cache before the run, ``system`` the system description,
    ``meters`` one record per meter (those of the harness's node are in system.json and run.json).
    """

    host: str
    node: str | None
    ranks: Annotated[tuple[Count, ...], Meta(min_length=1)]
    problem: str | None
    link: Mapping[str, Any] | None
    page_cache: Mapping[str, Any] | None
    system: Mapping[str, Any] | None
    meters: tuple[Mapping[str, Any], ...]


def write_nodes(path: Path, records: Sequence[NodeRecord]) -> None:
    """Write ``nodes.json`` into the bundle at ``path``, in the hostfile's order."""
    write_json(path / NODES, {"schema": SCHEMA, "nodes": [vars(record) for record in records]})


def read_nodes(bundle: Bundle) -> tuple[NodeRecord, ...]:
    """The nodes of a bundle; empty for a run on one machine. Raises FileError when the file is
    malformed."""
    path = bundle.path / NODES
    if not path.exists():
        return ()
    records = read_as(bundle.file(NODES), _Nodes, SCHEMA).nodes
    if len({record.host for record in records}) < len(records):
        raise FileError(path, "names a host twice")
    if not all(isinstance((each.link or {}).get("interface"), str | None) for each in records):
        raise FileError(path, "names a network interface by something other than text")
    return records


def sources_read(bundle: Bundle) -> set[str]:
    """The meters that wrote readings during the run, on any node."""
    places = range(max(1, len(read_nodes(bundle))))
    return {channel.source for place in places for channel in bundle.channels(place)}


@dataclass(frozen=True)
class _Nodes:
    nodes: Annotated[tuple[NodeRecord, ...], Meta(max_length=MAX_NODES)]
