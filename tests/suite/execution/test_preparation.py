"""What a run records before it starts."""

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.catalog.devices import load_device
from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import load_workload
from suite.errors import SuiteError
from suite.execution import preparation
from suite.execution.preparation import RECORDED_LIBRARIES, _libraries, prepare_data
from suite.execution.request import RunRequest
from suite.launch.environments import Environment
from tests.builders import Scenario, make_request


def test_of_many_packages_those_that_a_rule_asks_for_are_recorded() -> None:
    others = {f"a{number:03}": "1" for number in range(300)}
    packages = {**others, "numpy": "2", "Tensorflow-CPU": "2.1"}
    found = _libraries(Environment("", Path("python"), packages), load_framework("tensorflow"))
    assert list(found)[:3] == ["numpy", "Tensorflow-CPU", "a000"]
    assert len(found) == RECORDED_LIBRARIES


FOLDER = "/data/digits"


@pytest.mark.parametrize("named", [[f"{FOLDER}/images"], []])
def test_data_that_cannot_be_read_are_no_fault_of_the_run_directory(
    named: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that fails in the middle of a file does not name the file."""

    def failing(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error", *named)

    monkeypatch.setattr(preparation, "digest_data", failing)
    data = SimpleNamespace(name="digits", directory=FOLDER)
    request: Any = SimpleNamespace(training=SimpleNamespace(data=data), directory=tmp_path)
    remote: Any = None
    said = f"^{(named or [FOLDER])[0]} cannot be read: Input/output error; make it readable"
    with pytest.raises(SuiteError, match=said):
        prepare_data(request, remote)


BATCHES = {f"cifar-10-batches-bin/data_batch_{number}.bin" for number in range(1, 6)}


@pytest.mark.parametrize(
    ("name", "folder", "files"),
    [
        ("cifar10", "", BATCHES | {"cifar-10-batches-bin/test_batch.bin"}),
        ("cifar10", "cifar-10-batches-bin", BATCHES | {"cifar-10-batches-bin/test_batch.bin"}),
        ("gld23k", "", set()),
    ],
)
def test_the_files_of_a_data_set_are_told_from_others_in_its_folder(
    name: str, folder: str, files: set[str], tmp_path: Path
) -> None:
    """Of pictures the whole folder counts."""
    training = make_request(tmp_path, Scenario())
    data = training.data._replace(name=name, directory=str(tmp_path / folder))
    defined = load_workload("lenet"), load_device("generic"), "", load_framework("pytorch")
    found = RunRequest("run", *defined, training._replace(data=data)).data_files
    assert set(found) == {f"{tmp_path}/{file}" for file in files}
