"""The contract: old Pythons can read it, and a log cannot be changed unseen."""

import ast
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impls import contract
from suite.bundle.log import read_log
from suite.files.paths import repository_root
from tests.builders import Scenario, make_request

ROOT = repository_root() / "reference_impls"
STANDARD_LIBRARY_ONLY = ["contract.py", "loop.py", "main.py", "schedules.py", "data/idx.py", "fake/__main__.py", "fake/implementation.py"]


@pytest.mark.parametrize("name", STANDARD_LIBRARY_ONLY)
def test_it_parses_as_python_3_6(name: str) -> None:
    ast.parse((ROOT / name).read_text(), feature_version=(3, 6))


def old_python() -> str:
    candidates = [shutil.which("python3.6"), *map(str, Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser().glob("versions/3.6.*/bin/python"))]
    for candidate in candidates:
        if candidate and subprocess.run([candidate, "-c", "import sys; assert sys.version_info[:2] == (3, 6)"], capture_output=True).returncode == 0:
            return candidate
    pytest.skip("needs a Python 3.6 on PATH")


def test_the_fake_framework_trains_under_python_3_6(digits: Path, tmp_path: Path) -> None:
    request = make_request(tmp_path, Scenario(framework="fake", division="open", data="digits"))
    request = request._replace(epochs=1, data=request.data._replace(directory=str(digits)))
    (tmp_path / "request.json").write_text(json.dumps(contract.request_to_dict(request)))
    command = [old_python(), "-m", "reference_impls.fake", "--request", str(tmp_path / "request.json")]
    answer = subprocess.run(command, cwd=repository_root(), capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    log = read_log(tmp_path / "log.txt")
    assert log.problems == () and log.first("run_stop") is not None


def test_a_request_survives_the_file(tmp_path: Path) -> None:
    request = make_request(tmp_path, Scenario())
    (tmp_path / "request.json").write_text(json.dumps(contract.request_to_dict(request)))
    assert contract.read_request(str(tmp_path / "request.json")) == request


@pytest.mark.parametrize("change", [{"colour": "red"}, {"contract_version": 99}, {"optimizer": {"name": "sgd"}}, {"data": 3}], ids=str)
def test_a_request_that_does_not_fit_is_refused_by_name(change: dict[str, object], tmp_path: Path) -> None:
    values = {**contract.request_to_dict(make_request(tmp_path, Scenario())), **change}
    with pytest.raises(contract.ContractError, match=next(iter(change)) if "data" not in change else "object"):
        contract.request_from_dict(values)


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["seed", "epoch_start", "eval_accuracy"]),
        st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    ),
    min_size=3,
    max_size=8,
)


def written(folder: Path, events: list[tuple[str, object]]) -> list[str]:
    path = folder / "log.txt"
    path.unlink(missing_ok=True)
    log = contract.LogWriter(contract.RecordFile(str(path)))
    for key, value in events:
        log.point(key, value)
    log.close()
    return path.read_text().splitlines()


def problems(folder: Path, lines: list[str]) -> int:
    (folder / "log.txt").write_text("".join(line + "\n" for line in lines))
    return len(read_log(folder / "log.txt").problems)


@given(events=EVENTS, data=st.data())
@pytest.mark.slow
def test_every_edit_deletion_and_swap_but_a_cut_tail_breaks_the_chain(
    events: list[tuple[str, object]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("chain")
    lines = written(folder, events)
    assert problems(folder, lines) == 0
    index = data.draw(st.integers(0, len(lines) - 2))
    assert problems(folder, lines[:index] + lines[index + 1 :]) > 0
    swapped = list(lines)
    swapped[index], swapped[index + 1] = swapped[index + 1], swapped[index]
    assert problems(folder, swapped) > 0
    place = data.draw(st.integers(len(contract.TOKEN), len(lines[index]) - 1))
    letter = "x" if lines[index][place] != "x" else "y"
    edited = lines[index][:place] + letter + lines[index][place + 1 :]
    assert problems(folder, [*lines[:index], edited, *lines[index + 1 :]]) > 0


def test_a_log_is_never_overwritten(tmp_path: Path) -> None:
    contract.LogWriter(contract.RecordFile(str(tmp_path / "log.txt"))).close()
    with pytest.raises(FileExistsError):
        contract.LogWriter(contract.RecordFile(str(tmp_path / "log.txt")))
