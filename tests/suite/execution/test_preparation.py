"""What a run records before it starts."""

import errno
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError
from suite.execution import preparation
from suite.execution.preparation import RECORDED_LIBRARIES, _libraries, prepare_data
from suite.launch.environments import Environment


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
