"""What ranks compare before the first step; tests/hosts has real nodes that differ."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference_impls import admission
from reference_impls.admission import (
    Difference,
    difference,
    refuse_apart,
    refuse_changed_data,
    refuse_differences,
    refuse_one_machine,
    stamp,
)
from reference_impls.communication import Machine, World
from reference_impls.contract import ContractError
from reference_impls.machine_identity import machine_identity
from tests.builders import Scenario, make_request

FACTS = {"sources": {"a.py": "1" * 64}, "packages": {"torch": "2.1"}, "request": {"seed": "1"}}


class Ranks(World):
    """One of several ranks; what each of them tells the others is given."""

    def __init__(self, nodes: list[str], differences: list[Any]) -> None:
        self.size, self._names, self._differences = len(nodes), nodes, differences

    @property
    def nodes(self) -> list[str]:
        return self._names

    def allgather(self, value: Any) -> list[Any]:
        return list(self._differences)

    def bcast(self, value: Any) -> Any:
        return value


def sentence(tmp_path: Path, nodes: list[str], differences: list[Difference | None]) -> str:
    with pytest.raises(ContractError) as raised:
        refuse_differences(
            make_request(tmp_path, Scenario(ranks=2)), Ranks(nodes, differences), differences[0]
        )
    return str(raised.value)


OTHER = Difference("sources", ["reference_impls/schedules.py"], "1" * 64, "2" * 64)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, None),
        ({"sources": {"a.py": "2" * 64}}, Difference("sources", ["a.py"], "1" * 64, "2" * 64)),
        (
            {"sources": {"a.py": "1" * 64, "b.py": "3" * 64}},
            Difference("sources", ["b.py"], None, "3" * 64),
        ),
        ({"packages": {"torch": "2.2"}}, Difference("packages", ["torch"], "2.1", "2.2")),
        ({"packages": {"torch": "2.1", "debugger": "1"}}, None),
        (
            {"request": {"seed": "2"}, "packages": {"torch": "2.2"}},
            Difference("packages", ["torch"], "2.1", "2.2"),
        ),
    ],
)
def test_the_first_difference_is_found(
    change: dict[str, dict[str, str]], expected: Difference | None
) -> None:
    assert difference({**FACTS, **change}, FACTS) == expected


def test_ranks_that_agree_go_on(tmp_path: Path) -> None:
    refuse_differences(
        make_request(tmp_path, Scenario(ranks=2)), Ranks(["pi1", "pi2"], [None, None]), None
    )


def test_the_node_the_file_and_the_remedy_are_named(tmp_path: Path) -> None:
    said = sentence(tmp_path, ["pi1", "pi2", "pi3"], [None, None, OTHER])
    assert said.startswith(
        "pi3 has another source reference_impls/schedules.py than pi1 (222222222222 for"
        " 111111111111); "
    )
    assert "rsync -a --delete" in said and "pi3:" in said


def test_of_three_nodes_the_odd_one_is_named_even_if_it_is_the_first(tmp_path: Path) -> None:
    said = sentence(tmp_path, ["pi1", "pi2", "pi3"], [None, OTHER, OTHER])
    assert said.startswith(
        "pi1 has another source reference_impls/schedules.py than pi2 (111111111111 for"
        " 222222222222); "
    )
    assert f"--exclude /runs/ pi2:{admission.ROOT}/ {admission.ROOT}/" in said


def test_a_module_from_outside_the_suite_is_not_copied_with_the_suite(tmp_path: Path) -> None:
    said = sentence(
        tmp_path,
        ["pi1", "pi2"],
        [None, Difference("sources", ["/home/shared/sitecustomize.py"], None, "2" * 64)],
    )
    assert (
        said.startswith("pi2 has another source /home/shared/sitecustomize.py than pi1")
        and "PYTHONPATH" in said
        and "rsync" not in said
    )


def test_several_nodes_that_differ_are_all_named(tmp_path: Path) -> None:
    other = Difference("data", ["a", "b", "c", "d"], None, "unreadable: No such file or directory")
    said = sentence(tmp_path, ["pi1", "pi2", "pi3", "pi4"], [None, other, None, other])
    assert (
        "pi2 has other data in a, b, c and 1 more than pi1 (unreadable: No such file or directory"
        " for missing; pi4 differs too)" in said
    )


def test_ranks_that_came_apart_end_the_run(tmp_path: Path) -> None:
    apart: list[Any] = [[], ["parameter", "velocity"], []]
    with pytest.raises(
        ContractError,
        match=(
            r"pi2 \(rank 1\) has another parameter and velocity than pi1 \(rank 0\) after epoch 3"
        ),
    ):
        refuse_apart(Ranks(["pi1", "pi2", "pi3"], apart), {"parameter": "1", "velocity": "2"}, 3)
    refuse_apart(Ranks(["pi1", "pi2"], [[], []]), {"parameter": "1"}, 3)  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("machines", "nodes", "words"),
    [
        ([Machine("x", "pi1", None), Machine("x", "pi1", None)], 1, None),
        ([Machine("x", "pi1", None), Machine("y", "pi2", None)], 2, None),
        (
            [Machine("x", "pi1", None), Machine("x", "pi1.local", None)],
            2,
            "pi1 and pi1.local are one machine",
        ),
        (
            [Machine("x", "pi1", None), Machine("x", "pi1", None)],
            2,
            "run on 1 machine (pi1): pi1 was named more than once",
        ),
    ],
)
def test_two_names_of_one_machine_are_one_node(
    machines: list[Machine], nodes: int, words: str | None
) -> None:
    if words is None:
        refuse_one_machine(machines, nodes)
        return
    with pytest.raises(ContractError, match="--ranks-per-node") as raised:
        refuse_one_machine(machines, nodes)
    assert words in str(raised.value)


def test_data_that_were_changed_on_one_node_are_named_with_the_node() -> None:
    with pytest.raises(
        ContractError,
        match=r"the data on pi2 changed during the run \(train-labels\), .* run again",
    ):
        refuse_changed_data(Ranks(["pi1", "pi2"], [[], ["train-labels"]]), {})


@pytest.mark.parametrize("change", ["write", "replace", "remove"])
def test_a_file_that_was_written_replaced_or_removed_is_another(
    tmp_path: Path, change: str
) -> None:
    labels, copy = tmp_path / "labels", tmp_path / "copy"
    labels.write_bytes(b"0123")
    copy.write_bytes(b"0123")
    os.utime(labels, ns=(0, 0))
    before = {str(labels): stamp(str(labels))}
    {
        "write": lambda: labels.write_bytes(b"3012"),
        "replace": lambda: copy.replace(labels),
        "remove": labels.unlink,
    }[change]()
    with pytest.raises(ContractError, match="labels"):
        refuse_changed_data(World(), before)


def test_a_machine_is_its_boot_and_its_network(tmp_path: Path) -> None:
    def machine(name: str, boot: str, network: str) -> str:
        root = tmp_path / name
        (root / "proc/sys/kernel/random").mkdir(parents=True)
        (root / "proc/sys/kernel/random/boot_id").write_text(boot)
        (root / "proc/self/ns").mkdir(parents=True)
        (root / "proc/self/ns/net").symlink_to(network)
        return machine_identity(str(root))

    first = machine("a", "1", "net:[1]")
    assert machine("b", "1", "net:[1]") == first
    assert len({first, machine("c", "2", "net:[1]"), machine("d", "1", "net:[2]")}) == 3


def test_a_source_that_is_loaded_from_elsewhere_is_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vendor_model.py").write_text("LAYERS = 3\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("vendor_model")
    digests = admission.loaded_sources()
    del sys.modules["vendor_model"]
    assert str(tmp_path / "vendor_model.py") in digests
    assert "reference_impls/schedules.py" in digests
    assert not [name for name in digests if "site-packages" in name]


def test_files_are_those_of_imported_packages_with_what_they_mapped() -> None:
    files = admission.imported_files()
    assert "pytest/__init__.py" in files and f"{np.__name__}/__init__.py" in files
    assert any("_multiarray_umath" in name for name in files), "a shared library"
    assert not [name for name in files if name.startswith("mpi4py")]


def test_a_line_more_in_one_file_of_a_package_is_named() -> None:
    one, other = ({"files": {"torch/optim/sgd.py": digest * 64}} for digest in "12")
    assert difference(other, one) == Difference("files", ["torch/optim/sgd.py"], "1" * 64, "2" * 64)
    assert difference({"files": {}}, one) is None, "not every rank imports every file"


def test_packages_are_those_that_were_imported() -> None:
    versions = admission.imported_packages()
    assert versions["Python"] and versions["pytest"]
    assert "tensorflow" not in versions
