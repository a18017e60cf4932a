"""The contract: old Pythons can read it, and a log cannot be changed unseen."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_impls import contract
from suite.bundle.log import read_log
from suite.files.paths import repository_root
from tests.builders import Scenario, make_request

ROOT = repository_root() / "reference_impls"


def test_a_request_survives_the_file(tmp_path: Path) -> None:
    request = make_request(tmp_path, Scenario())
    (tmp_path / "request.json").write_text(json.dumps(contract.request_to_dict(request)))
    assert contract.read_request(str(tmp_path / "request.json")) == request


@pytest.mark.parametrize(
    "change",
    [{"colour": "red"}, {"contract_version": 99}, {"optimizer": {"name": "sgd"}}, {"data": 3}],
    ids=str,
)
def test_a_request_that_does_not_fit_is_refused_by_name(
    change: dict[str, object], tmp_path: Path
) -> None:
    values = {**contract.request_to_dict(make_request(tmp_path, Scenario())), **change}
    with pytest.raises(
        contract.ContractError, match=next(iter(change)) if "data" not in change else "object"
    ):
        contract.request_from_dict(values)


def test_a_request_of_an_earlier_version_normalised_locally(tmp_path: Path) -> None:
    request = make_request(tmp_path, Scenario())
    values = contract.request_to_dict(request)
    del values["parallel"]["normalisation"]
    assert contract.request_from_dict(values) == request
    assert request.parallel.normalisation == contract.LOCAL


def test_the_spans_of_ranks_are_their_shares_unless_they_synchronise(tmp_path: Path) -> None:
    request = make_request(tmp_path, Scenario())._replace(
        global_batch_size=10, parallel=contract.Parallel(4, 4, "mpi", 0, False)
    )
    assert [contract.normalisation_span(request, rank) for rank in range(4)] == [3, 3, 2, 2]
    synchronised = request._replace(
        parallel=request.parallel._replace(normalisation=contract.SYNCHRONISED)
    )
    assert [contract.normalisation_span(synchronised, rank) for rank in range(4)] == [
        10,
        10,
        10,
        10,
    ]


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


def test_memory_is_told_in_bytes_of_the_kernel_s_kibibytes(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/status").write_text(
        "Name:\tpython\nVmHWM:\t    9000 kB\nVmRSS:\t    5000 kB\nRssAnon:\t    3000 kB\nRssFile:\t"
        "    2000 kB\n"
    )
    root = str(tmp_path)
    assert contract.peak_rss_bytes(root) == 9_216_000
    assert contract.resident_bytes(root) == {"VmRSS": 5_120_000, "RssFile": 2_048_000}
    assert (contract.peak_rss_bytes("/none"), contract.resident_bytes("/none")) == (None, {})
