"""`suite cachegrind`: what it reads of cachegrind's file, and what it refuses."""

import shutil
import sys
from pathlib import Path

import pytest

from reference_impls import contract
from suite.cli.app import main
from suite.errors import SuiteError
from suite.extensions.counted_steps.measuring import timing as timed_steps
from suite.extensions.counted_steps.measuring.counting import read_totals
from suite.extensions.counted_steps.record import Counts
from suite.launch.turns import Side
from tests.builders import Scenario, make_request

FILE = """\
desc: D1 cache:         32768 B, 64 B, 2-way associative
cmd: python -m reference_impls.fake
events: Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw Bc Bcm Bi Bim
fn=main
1 10 0 0 4 1 0 2 1 0 3 1 1 0
summary: 1000 1 1 300 30 3 200 20 2 90 9 10 1
"""


def test_the_totals_are_the_summarys() -> None:
    assert read_totals(FILE) == Counts(
        instructions=1000, l1d_access=500, l1d_refill=50, branches=100, branch_mispredicts=10
    )


@pytest.mark.parametrize("text", ["", "events: Ir\nsummary: 1\n", FILE.replace("1000", "many")])
def test_a_file_without_totals_is_refused(text: str) -> None:
    with pytest.raises(SuiteError, match="no totals"):
        read_totals(text)


@pytest.mark.parametrize(
    ("program", "more", "said"),
    [
        (None, (), "valgrind is not installed here"),
        ("/usr/bin/valgrind", ("--processor", "cortex-a7"), "cortex-a72"),
        ("/usr/bin/valgrind", ("--steps", "90"), "use --steps 84 or fewer"),
        ("/usr/bin/valgrind", ("--output", "."), "choose another --output"),
        ("/usr/bin/valgrind", ("--output", "there/counted"), "there/counted cannot be made: Not a"),
        ("/usr/bin/valgrind", ("--framework", ","), "names no framework"),
    ],
)
def test_what_cannot_be_counted_is_one_sentence(
    program: str | None,
    more: tuple[str, ...],
    said: str,
    digits: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    (tmp_path / "there").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(shutil, "which", lambda name: program)
    words = [
        "suite",
        "cachegrind",
        "--workload",
        "lenet",
        "--data",
        f"digits={digits}",
        "--framework",
        "fake",
        "--output",
        "counted",
        *more,
    ]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2 and said in capsys.readouterr().err
    assert not (tmp_path / "counted").exists()


def test_windows_without_valgrind_are_whole_steps_of_a_training_that_pauses(
    digits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timed_steps, "WINDOWS", 2)
    monkeypatch.setattr(timed_steps, "WINDOW_S", 0.2)
    data = contract.DataSet("digits", str(digits), "idx", 10, 1438, 359, False, False)
    request = make_request(tmp_path, Scenario(framework="fake"))._replace(
        data=data, threads=1, global_batch_size=16
    )
    windows = timed_steps.time_steps(
        Side(request, "reference_impls.fake.implementation", Path(sys.executable)), "fake", {}
    )
    assert len(windows) == 2 and all(window.steps > 0 and window.cpu_s > 0 for window in windows)
