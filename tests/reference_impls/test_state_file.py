"""Training states on storage: written whole, read as untrusted input, and equal to what was
kept."""

import array
import zipfile
from pathlib import Path

import numpy as np
import pytest

from reference_impls import state_file
from reference_impls.contract import ContractError
from reference_impls.state_file import PROGRESS, Progress, StateFile, state_name, write_state
from reference_impls.training_state import digests
from suite.machine.page_cache import residency

STATE = {
    "parameter/conv.weight": np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2),
    "velocity/conv.weight": np.full((2, 3, 2, 2), -0.5, np.float32),
    "statistic/bn.running_mean": np.array([0.25, 4.0], np.float32),
    "parameter/weights": array.array("d", [1.5, 2.5, 3.5]),
}
PROGRESS_OF_TWO = Progress(2, 180)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    place = tmp_path / state_name(2)
    write_state(str(place), STATE, PROGRESS_OF_TWO)
    return place


def test_a_state_reads_back_with_its_digests_and_progress(path: Path) -> None:
    file = StateFile(str(path))
    assert file.progress == PROGRESS_OF_TWO
    assert set(file) == set(STATE)
    assert digests(file) == digests(STATE)
    assert digests(file.of_rank(0)) == digests(STATE)


def test_numpy_reads_it_without_pickles(path: Path) -> None:
    with np.load(path, allow_pickle=False) as archive:
        assert set(archive.files) == {*STATE, PROGRESS}
        assert archive[PROGRESS].tolist() == [2, 180]
        for name, value in STATE.items():
            assert np.array_equal(archive[name], np.asarray(value))
            assert archive[name].dtype == np.asarray(value).dtype


def test_what_numpy_writes_is_read(tmp_path: Path) -> None:
    np.savez(tmp_path / "state.npz", **STATE, **{PROGRESS: np.array([2, 180])})  # type: ignore[arg-type]
    assert digests(StateFile(str(tmp_path / "state.npz"))) == digests(STATE)


def test_float16_reads_as_float32_bit_for_bit(tmp_path: Path) -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    halves = every[np.isfinite(every)].reshape(2, -1)
    write_state(str(tmp_path / "state.npz"), {"parameter/a": halves}, PROGRESS_OF_TWO)
    read = StateFile(str(tmp_path / "state.npz")).of_rank(0)
    assert digests(read) == digests({"parameter/a": halves.astype(np.float32)})


def test_an_array_of_float16_is_refused_where_it_would_be_too_large_as_float32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    halves = np.zeros(100, np.float16)
    write_state(str(tmp_path / "state.npz"), {"parameter/a": halves}, PROGRESS_OF_TWO)
    monkeypatch.setattr(state_file, "MAX_ARRAY_BYTES", 399)
    with pytest.raises(ContractError, match="a takes more than 399 bytes as float32"):
        StateFile(str(tmp_path / "state.npz"))["parameter/a"]


def test_another_rank_has_its_own_statistics(tmp_path: Path) -> None:
    own = np.array([9.0, 9.0], np.float32)
    write_state(
        str(tmp_path / "state.npz"),
        {**STATE, "rank1/statistic/bn.running_mean": own},
        PROGRESS_OF_TWO,
    )
    file = StateFile(str(tmp_path / "state.npz"))
    assert digests(file.of_rank(0)) == digests(STATE)
    assert digests(file.of_rank(1)) == digests({**STATE, "statistic/bn.running_mean": own})
    with pytest.raises(ContractError, match="rank2/statistic"):
        file.of_rank(2)


def test_nothing_of_a_written_state_stays_in_the_page_cache(tmp_path: Path) -> None:
    if _is_in_memory(tmp_path):
        pytest.skip("the file system keeps its files in memory")
    path = tmp_path / "state.npz"
    write_state(
        str(path),
        {
            "parameter/a": np.zeros(3 * 2**20, np.float32),
            "parameter/b": np.zeros(3 * 2**20, np.float32),
        },
        PROGRESS_OF_TWO,
    )
    assert residency([path]).resident_bytes == 0


def _is_in_memory(path: Path) -> bool:
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    _, kind = max(
        (mount for mount in mounts if str(path).startswith(mount[0])),
        key=lambda mount: len(mount[0]),
    )
    return kind in ("tmpfs", "ramfs")


def test_a_state_that_cannot_be_written_leaves_no_file_of_its_name(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="format 'i'"):
        write_state(
            str(tmp_path / "state.npz"), {"parameter/a": array.array("i", [1])}, PROGRESS_OF_TWO
        )
    assert not (tmp_path / "state.npz").exists()


def rewritten(
    path: Path, name: str, content: bytes | None, compression: int = zipfile.ZIP_STORED
) -> Path:
    """A copy in which one member has another content, or is left out."""
    copy = path.with_name("copy.npz")
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(copy, "w") as target:
        for member in source.namelist():
            if member != name:
                target.writestr(member, source.read(member))
        if content is not None:
            target.writestr(name, content, compression)
    return copy


MEMBER = "parameter/weights.npy"
HEADER = b"\x93NUMPY\x01\x00\x76\x00"


def npy(header: str, body: bytes = b"") -> bytes:
    return HEADER + header.encode().ljust(117) + b"\n" + body


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        (MEMBER, b"", "not an array of floats"),
        (
            MEMBER,
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }", bytes(24)),
            "does not match its shape",
        ),
        (
            MEMBER,
            npy(
                "{'descr': '<f8', 'fortran_order': False, 'shape': (999999999, 999999999), }",
                bytes(24),
            ),
            "does not match its shape",
        ),
        (
            MEMBER,
            npy("{'descr': '>f8', 'fortran_order': False, 'shape': (3,), }", bytes(24)),
            "byte order",
        ),
        (
            MEMBER,
            npy("{'descr': '|O', 'fortran_order': False, 'shape': (3,), }", bytes(24)),
            "not an array of floats",
        ),
        (
            MEMBER,
            npy("{'descr': '<f8', 'fortran_order': True, 'shape': (3,), }", bytes(24)),
            "not an array of floats",
        ),
        (
            MEMBER,
            npy("{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }", bytes(7)),
            "does not match its shape",
        ),
        (MEMBER, npy("__import__('os').abort()"), "not an array of floats"),
        (PROGRESS + ".npy", None, "has no progress"),
        (
            PROGRESS + ".npy",
            npy("{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", bytes(24)),
            "two whole numbers",
        ),
        ("readme.txt", b"x", "uncompressed arrays"),
    ],
    ids=str,
)
def test_what_is_no_state_is_one_sentence(
    path: Path, name: str, content: bytes | None, words: str
) -> None:
    with pytest.raises(ContractError, match=words):
        dict(StateFile(str(rewritten(path, name, content))))


def test_compressed_arrays_are_refused(path: Path) -> None:
    with pytest.raises(ContractError, match="uncompressed"):
        StateFile(
            str(
                rewritten(
                    path,
                    MEMBER,
                    npy("{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }"),
                    zipfile.ZIP_DEFLATED,
                )
            )
        )


@pytest.mark.parametrize("length", [0, 10, 500, -1])
def test_a_cut_file_is_one_sentence(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ContractError, match="cannot be read"):
        StateFile(str(path))


def test_a_flipped_bit_is_found_where_it_is_read(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[content.index(np.float64(2.5).tobytes())] ^= 1
    path.write_bytes(content)
    with pytest.raises(ContractError, match=r"parameter/weights cannot be read"):
        dict(StateFile(str(path)))
