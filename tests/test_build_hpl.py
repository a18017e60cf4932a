"""HPL's source is unpacked and prepared by the Python of every supported system."""

import tarfile
from pathlib import Path

import pytest

from tools import build_hpl

TESTS = "params->RunHPL = params->RunStarDGEMM = params->RunLatencyBandwidth = 1;"


def test_the_source_is_prepared_where_python_has_no_filters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.11.2 of Debian 12."""
    source, folder = tmp_path / "hpcc-1.5.0", tmp_path / "made"
    (source / "hpl").mkdir(parents=True)
    (source / "src").mkdir()
    (source / "src/io.c").write_text(f"{TESTS} MPI_Address(a);")
    with tarfile.open(tmp_path / "hpcc.tar.gz", "w:gz") as packed:
        packed.add(source, "hpcc-1.5.0")
    folder.mkdir()
    monkeypatch.setattr(tarfile.TarFile, "extractall", lambda archive, path: None)
    tree = build_hpl._prepared(tmp_path / "hpcc.tar.gz", folder)
    text = (tree / "src/io.c").read_text()
    assert text == f"{build_hpl.CHOSEN_TESTS} MPI_Get_address(a);"
