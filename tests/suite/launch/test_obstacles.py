"""What is said before anything is downloaded, where pip would fail or install what does not run."""

import sys
from collections import namedtuple
from pathlib import Path

import pytest

from suite.catalog.frameworks import load_framework
from suite.errors import SuiteError
from suite.launch.obstacles import refuse_obstacles

PYTORCH, PYTHON = load_framework("pytorch"), Path(sys.executable)
USAGE = namedtuple("USAGE", "total used free")


def test_a_32_bit_userland_is_told_to_use_the_64_bit_image(tmp_path: Path) -> None:
    python = tmp_path / "python3"
    python.write_bytes(b"\x7fELF\x01\x01\x01")
    with pytest.raises(SuiteError, match=r"32-bit Python .*; install the 64-bit image"):
        refuse_obstacles(PYTORCH, python, None)


@pytest.mark.parametrize(("release", "is_refused"), [(32, True), (36, True), (38, False)])
def test_a_jetson_uses_nvidias_build_where_pips_cannot_use_its_gpu(
    release: int, is_refused: bool, tmp_path: Path
) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/nv_tegra_release").write_text(f"# R{release} (release), REVISION: 4.0\n")
    refuse_obstacles(load_framework("chainer"), PYTHON, None, tmp_path)
    if not is_refused:
        refuse_obstacles(PYTORCH, PYTHON, None, tmp_path)
        return
    with pytest.raises(SuiteError, match="--interpreter /usr/bin/python3"):
        refuse_obstacles(PYTORCH, PYTHON, None, tmp_path)


def test_a_small_folder_for_temporary_files_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: USAGE(10**9, 8 * 10**8, 2 * 10**8))
    refuse_obstacles(PYTORCH, PYTHON, 10**8, tmp_path)
    with pytest.raises(SuiteError, match="set TMPDIR to a folder on a disk"):
        refuse_obstacles(PYTORCH, PYTHON, 3 * 10**8, tmp_path)
