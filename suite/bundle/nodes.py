"""``nodes.json``: the nodes of a run on several nodes, with each node's description, meters and
page cache."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.bundle.reader import Bundle
from suite.errors import FileError
from suite.files.json_file import write_json

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
    ranks: tuple[int, ...]
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
    values = bundle.json(NODES)
    nodes = values.get("nodes")
    if values.get("schema") != SCHEMA or not isinstance(nodes, list) or len(nodes) > MAX_NODES:
        raise FileError(path, f"is not a list of nodes of schema {SCHEMA}")
    records = tuple(_record(each, path) for each in nodes)
    if len({record.host for record in records}) < len(records):
        raise FileError(path, "names a host twice")
    return records


def _record(values: Any, path: Path) -> NodeRecord:
    names = set(NodeRecord.__dataclass_fields__)
    if not isinstance(values, dict) or set(values) != names:
        raise FileError(
            path, f"must have for each node exactly the keys {', '.join(sorted(names))}"
        )
    ranks, meters, link = values["ranks"], values["meters"], values["link"]
    if not (
        isinstance(ranks, list) and ranks and all(type(rank) is int and rank >= 0 for rank in ranks)
    ):
        raise FileError(path, "has a node without ranks")
    texts = all(
        isinstance(values[name], str | None) for name in ("node", "problem")
    ) and isinstance(values["host"], str)
    objects = all(
        isinstance(values[name], dict | None) for name in ("link", "page_cache", "system")
    ) and isinstance(meters, list)
    if not texts or not objects or not isinstance((link or {}).get("interface"), str | None):
        raise FileError(path, "has a key of the wrong type")
    return NodeRecord(**{**values, "ranks": tuple(ranks), "meters": tuple(meters)})
