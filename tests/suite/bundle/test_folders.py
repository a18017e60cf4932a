"""Which files of a run directory count for what, and in which order runs are listed."""

from pathlib import Path
from typing import Any

import pytest

from suite.bundle import layout, node_records
from suite.bundle.machines import MACHINE, OF_KIND, different_fields
from suite.bundle.manifest import evidence_digests, evidence_files, file_digests
from suite.bundle.node_records import NodeRecord, read_nodes, write_nodes
from suite.bundle.reader import Bundle, CachedBundle
from suite.bundle.replication_folder import fresh_runs, sealed_files
from suite.errors import FileError


def filled(folder: Path, *names: str) -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def test_a_witness_stamps_the_files_as_the_run_left_them(tmp_path: Path) -> None:
    late = ("trace.csv.gz", layout.WITNESS, layout.WITHDRAWN, layout.MANIFEST)
    kept = ("before_attach/record.json", "before_attach/readings.parquet")
    filled(tmp_path, "run.json", "readings.parquet", "nodes/a.json", "power.json", *late, *kept)
    (tmp_path / "link").symlink_to(tmp_path / "run.json")
    found = evidence_files(tmp_path)
    assert {name: file.read_text() for name, file in found.items()} == {
        "run.json": "before_attach/record.json",
        "readings.parquet": "before_attach/readings.parquet",
        "nodes/a.json": "nodes/a.json",
        "power.json": "power.json",
    }
    left = [tmp_path / "power.json", tmp_path / kept[0]]
    assert sorted(evidence_digests(tmp_path, left)) == ["nodes/a.json", "readings.parquet"]
    sealed = ["nodes/a.json", "readings.parquet", "run.json", *late[:3], kept[1]]
    assert list(file_digests(tmp_path, left)) == sorted(sealed, key=lambda name: Path(name).parts)


@pytest.mark.parametrize(
    ("content", "is_one"),
    [
        (b"wrong disk\n", True),
        (b" \n\t", False),
        (b"\xff", False),
        (b"x" * layout.MAX_WITHDRAWAL_BYTES, True),
        (b"x" * (layout.MAX_WITHDRAWAL_BYTES + 1), False),
    ],
    ids=["reason", "blank", "no text", "longest", "too long"],
)
def test_a_withdrawal_is_a_short_plain_text(content: bytes, is_one: bool, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    assert layout.is_withdrawal(tmp_path / "file") is is_one
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert not layout.is_withdrawal(tmp_path / "link") and not layout.is_withdrawal(tmp_path)


def test_the_states_of_a_run_are_beside_it_also_from_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    monkeypatch.chdir(tmp_path / "run")
    assert layout.states_folder(Path("run")) == Path("run.states")
    assert layout.states_folder(Path()) == tmp_path / "run.states"


def test_fresh_runs_and_ranks_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    folders = ("run_10", "run_2", "run_1", "run_0", "run_01", "run_1000")
    filled(tmp_path, *(f"{name}/run.json" for name in folders), "run_3/log.txt")
    assert [run.name for run in fresh_runs(tmp_path)] == ["run_1", "run_2", "run_10"]
    assert [file.relative_to(tmp_path).as_posix() for file in sealed_files(tmp_path)] == [
        "replication.json",
        *(f"run_{number}/MANIFEST.sha256" for number in (1, 2, 10)),
    ]
    ranks = [f"steps.rank{rank}.csv" for rank in (*range(1, 12), 20)]
    filled(tmp_path, "steps.csv", "steps.rankX.csv", *reversed(ranks))
    assert [path.name for path in Bundle(tmp_path).raw_steps()] == ["steps.csv", *ranks]


SYSTEM = {"kernel": "6.1", "memory_size_bytes": 1000, "gpus": ["one"], "board_digest": "d"}


@pytest.mark.parametrize(
    ("other", "differ"),
    [
        ({"memory_size_bytes": 990}, []),
        ({"memory_size_bytes": 989}, ["memory_size_bytes"]),
        ({"memory_size_bytes": 1010}, []),
        ({"memory_size_bytes": 1012}, ["memory_size_bytes"]),
        ({"board_digest": None}, []),
        ({"board_digest": "e", "kernel": "6.2"}, ["kernel", "board_digest"]),
        ({"gpus": None}, ["gpus"]),
        ({"cpu_cores": 4}, ["cpu_cores"]),
    ],
)
def test_where_two_machines_differ(other: dict[str, Any], differ: list[str]) -> None:
    changed = {**SYSTEM, **other}
    for one, another in ((SYSTEM, changed), (changed, SYSTEM)):
        assert different_fields(one, another) == differ
        of_kind = [name for name in differ if name not in ("kernel", "board_digest")]
        assert different_fields(one, another, OF_KIND) == of_kind
    assert different_fields({"gpus": []}, {}, MACHINE) == []


def test_nodes_read_back_in_the_hostfile_s_order_and_a_host_is_there_once(tmp_path: Path) -> None:
    records = [
        NodeRecord(host, name, ranks, None, link, None, None, ())
        for host, name, ranks, link in (
            ("b", "pi", (0, 2), {"interface": "eth0"}),
            ("a", None, (1,), {"interface": None}),
            ("c", "pj", (3,), None),
        )
    ]
    assert read_nodes(Bundle(tmp_path)) == ()
    write_nodes(tmp_path, records)
    assert read_nodes(Bundle(tmp_path)) == tuple(records)
    for wrong, words in (
        (NodeRecord("b", "pk", (3,), None, None, None, None, ()), "names a host twice"),
        (
            NodeRecord("d", "pk", (3,), None, {"interface": 7}, None, None, ()),
            "names a network interface by something other than text",
        ),
        (NodeRecord("d", "pk", (), None, None, None, None, ()), node_records.NODES),
    ):
        write_nodes(tmp_path, [*records, wrong])
        with pytest.raises(FileError, match=words):
            read_nodes(Bundle(tmp_path))


def test_a_bundle_that_does_not_change_is_read_once_even_where_it_cannot_be(tmp_path: Path) -> None:
    filled(tmp_path, "steps.csv")
    (tmp_path / "system.json").write_text('{"gpus": []}')
    bundle, plain = CachedBundle(tmp_path), Bundle(tmp_path)
    read = [bundle.json("system.json"), plain.json("system.json")]
    with pytest.raises(FileError, match="is missing"):
        bundle.json("run.json")
    for name in ("run.json", "system.json"):
        (tmp_path / name).write_text('{"new": 1}')
    assert bundle.json("system.json") is read[0] and read[1] == {"gpus": []}
    assert plain.json("system.json") == plain.json("run.json") == {"new": 1}
    with pytest.raises(FileError, match="is missing"):
        bundle.json("run.json")
