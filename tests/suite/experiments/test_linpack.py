"""LINPACK: the problem fits memory and grid, HPL's answer is judged, a slow BLAS is refused, and
the real hpcc passes."""

import itertools
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas
import pytest

from suite.bundle.channels import no_channels
from suite.bundle.manifest import seal
from suite.bundle.readings_table import channels_of_frame
from suite.bundle.schemas import READING_TYPES
from suite.errors import SuiteError
from suite.experiments import linpack_run as linpack
from suite.experiments.hpl import (
    hpl_input,
    plan_problem,
    problem_variants,
    process_grids,
    read_solutions,
    read_triad,
)
from suite.experiments.linpack_power import power_of, power_of_nodes
from suite.experiments.linpack_run import (
    LinpackRequest,
    choose_blas,
    measure_linpack,
    planned_problems,
    read_lu,
    refuse_slow,
    smallest_available_bytes,
)
from suite.experiments.machine_load import MachineLoad
from suite.launch.placement import Placement
from suite.metrics.linpack_record import (
    LinpackPower,
    Problem,
    find_linpacks,
    operations,
    read_linpack,
    share_reached,
)
from tests.launchers import interrupted_launcher, with_ctrl_c

ANSWER = """T/V                N    NB     P     Q               Time                 Gflops
WR11C2R4        2000   128     1     2               0.68              7.801e+00
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        {residual} ...... {verdict}
"""
REFERENCE = "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0"
WRAPPER, OPENBLAS = (
    "/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3",
    "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.21.so",
)


@pytest.mark.parametrize(
    ("ranks", "grid"), [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (6, (2, 3)), (7, (1, 7))]
)
def test_the_grid_is_as_square_as_the_ranks_allow(ranks: int, grid: tuple[int, int]) -> None:
    problem = plan_problem(ranks, 2**30)
    assert (problem.rows, problem.columns) == grid


def test_the_matrix_is_a_multiple_of_the_block_and_fits() -> None:
    assert plan_problem(4, 2**30).size == 8960  # 0.9 sqrt(0.75 * 2^30 / 8) = 9029


def test_too_little_memory_names_what_fits() -> None:
    with pytest.raises(SuiteError, match="enough for --size 8960"):
        plan_problem(1, 2**30, 20000)
    with pytest.raises(SuiteError, match="free memory"):
        plan_problem(1, 2**20)


def test_memory_for_scipys_lu_is_named_whole_and_holds_two_matrices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    quiet = MachineLoad(2.0, 4, 0.0, 0.0, None, ())
    monkeypatch.setattr(linpack, "measure_load", lambda seconds: quiet)
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=2**30))
    with pytest.raises(SuiteError, match="1024 MiB are free, enough for --size 6272"):
        measure_linpack(tmp_path / "record", LinpackRequest(Placement(), None, 20000, True))


def test_an_answer_is_read() -> None:
    (solution,) = read_solutions(ANSWER.format(residual="0.0036790", verdict="PASSED"), "out")
    assert (solution.problem, solution.time_s, solution.gflops, solution.residual) == (
        Problem(2000, 128, 1, 2),
        0.68,
        7.801,
        0.003679,
    )


@pytest.mark.parametrize("residual", ["16.0", "nan"])
def test_a_wrong_answer_is_refused(residual: str) -> None:
    with pytest.raises(SuiteError, match="answer is wrong"):
        read_solutions(ANSWER.format(residual=residual, verdict="FAILED"), "out")


def test_no_answer_is_refused() -> None:
    with pytest.raises(SuiteError, match="without a result"):
        read_solutions("Begin of HPL section.\n", "out")


def test_the_reference_blas_is_refused_and_openblas_is_not() -> None:
    assert refuse_slow(choose_blas([WRAPPER, OPENBLAS])) == OPENBLAS
    for mapped in ([REFERENCE], []):
        with pytest.raises(SuiteError, match="apt-get install hpcc libopenblas0-pthread"):
            refuse_slow(choose_blas(mapped))


HPCC = pytest.mark.skipif(
    not (shutil.which("hpcc") and shutil.which("mpirun")),
    reason="hpcc is not installed: apt-get install hpcc libopenblas0-pthread",
)


@pytest.mark.proof
@HPCC
@pytest.mark.parametrize("ranks", [1, 2])
def test_the_real_hpcc_passes_its_residual_test(tmp_path: Path, ranks: int) -> None:
    record = measure_linpack(
        tmp_path / "record", LinpackRequest(Placement((), ranks), size=512, allow_busy=True)
    )
    assert record.solution.problem == Problem(512, 128, 1, ranks)
    assert (record.kind, record.ranks, record.nodes, Path(record.program).name) == (
        "HPL",
        ranks,
        1,
        "hpcc",
    )
    assert record.gflops_per_node == record.solution.gflops
    assert read_linpack(tmp_path / "record") == record
    assert list(find_linpacks(tmp_path)) == [tmp_path / "record"]
    assert "linpack.json" in (tmp_path / "record" / "MANIFEST.sha256").read_text()


@HPCC
def test_a_hpl_of_ones_own_reads_hpl_dat_and_says_its_answer_on_standard_output(
    tmp_path: Path,
) -> None:
    """The real HPL, in the shape of an xhpl: hpcc's input is HPL's with a few lines more, its
    output has HPL's within."""
    xhpl = tmp_path / "xhpl"
    xhpl.write_text(
        "#!/bin/sh\nset -e\n{ sed s/^6$/8/ HPL.dat; printf '%s\\n' - 0 0 0 0; } >"
        " hpccinf.txt\nhpcc\ncat hpccoutf.txt\n"
    )
    xhpl.chmod(0o755)
    record = measure_linpack(
        tmp_path / "record", LinpackRequest(Placement((), 1), xhpl=xhpl, size=512, allow_busy=True)
    )
    assert (record.kind, record.program, record.output) == ("HPL", str(xhpl), "output.txt")
    assert record.solution.problem.size == 512 and record.solution.residual < 16
    assert not (tmp_path / "record" / "hpccinf.txt").samefile(tmp_path / "record" / "HPL.dat")


def test_scipys_lu_is_labelled_and_judged_as_hpl_is(tmp_path: Path) -> None:
    record = measure_linpack(
        tmp_path / "record",
        LinpackRequest(Placement(), size=1024, with_scipy=True, allow_busy=True),
    )
    found = record.solution
    assert (record.kind, record.program, record.nodes, record.ranks) == ("LU", "SciPy", 1, 1)
    assert found.gflops == pytest.approx(operations(1024) / found.time_s / 1e9)
    assert 0 < found.residual < 16
    assert read_linpack(tmp_path / "record") == record


@pytest.mark.proof
def test_where_hpcc_is_missing_one_node_falls_back_to_scipy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    # this machine may have an HPL that tools/build_hpl.py built
    monkeypatch.setenv("SUITE_HOME", str(tmp_path / "home"))
    assert (
        measure_linpack(
            tmp_path / "record", LinpackRequest(Placement((), 2), size=512, allow_busy=True)
        ).kind
        == "LU"
    )
    with pytest.raises(
        SuiteError, match=r"needs mpirun, which is not installed here: sudo apt-get install hpcc"
    ):
        measure_linpack(
            tmp_path / "two",
            LinpackRequest(Placement(("127.0.0.1", "b"), 1), size=512, allow_busy=True),
        )


def test_a_rate_of_another_machine_is_not_recorded_as_this_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linpack, "measure_load", lambda seconds: pytest.fail("it was begun"))
    with pytest.raises(SuiteError, match=r"first host is 192\.0\.2\.1; it must be this machine"):
        measure_linpack(tmp_path / "record", LinpackRequest(Placement(("192.0.2.1",), 1)))


def test_what_mpirun_said_is_the_cause_and_not_the_blas_that_never_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = {"mpirun": "echo 'unable to open the hostfile: x' >&2; exit 255", "hpcc": "exit 0"}
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(
        SuiteError, match="mpirun ended with exit code 255: unable to open the hostfile: x; its"
    ):
        measure_linpack(
            tmp_path / "record", LinpackRequest(Placement((), 2), size=512, allow_busy=True)
        )


def test_ctrl_c_ends_the_processes_that_mpirun_started_in_a_new_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = interrupted_launcher(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{launcher.interpreter.parent}:{os.environ['PATH']}")
    with with_ctrl_c(), pytest.raises(KeyboardInterrupt):
        measure_linpack(
            tmp_path / "record", LinpackRequest(Placement((), 2), size=512, allow_busy=True)
        )
    launcher.assert_nothing_runs()


def test_a_wrong_answer_of_lu_is_refused() -> None:
    problem = {"size": 512, "block": 512, "rows": 1, "columns": 1}
    solved = {
        "solution": {"problem": problem, "time_s": 1.0, "gflops": 1.0, "residual": 17.0},
        "start_ns": 0,
        "stop_ns": 1,
    }
    with pytest.raises(SuiteError, match="answer is wrong"):
        read_lu(json.dumps(solved))
    with pytest.raises(SuiteError, match="without a result"):
        read_lu("MemoryError\n")


def test_an_xhpl_that_is_no_program_is_named(tmp_path: Path) -> None:
    if shutil.which("mpirun") is None:
        pytest.skip("needs an mpirun: apt-get install openmpi-bin")
    with pytest.raises(SuiteError, match="is not an executable file"):
        measure_linpack(
            tmp_path / "record",
            LinpackRequest(Placement(), xhpl=tmp_path / "nothing", allow_busy=True),
        )


def test_the_rate_per_watt_is_over_the_mean_power_while_it_solved() -> None:
    times_ns = [index * 100_000_000 for index in range(101)]
    rows = [(t_ns, "shelly", "power", 4.0 if t_ns < 5 * 10**9 else 8.0, "W") for t_ns in times_ns]
    readings = pandas.DataFrame(rows, columns=list(READING_TYPES)).astype(READING_TYPES)
    power = power_of(channels_of_frame(readings), (6 * 10**9, 10 * 10**9), gflops=12.0)
    assert (power.energy_j, power.time_s, power.gflops_per_watt) == pytest.approx((32.0, 4.0, 1.5))
    assert "shelly" in str(power.method)
    nothing = power_of(no_channels(), (0, 10**9), 12.0)
    assert (nothing.gflops_per_watt, nothing.reason) == (None, "no power sensor was read")


def test_every_block_size_and_grid_is_one_run_of_hpl() -> None:
    assert process_grids(8) == ((2, 4), (1, 8)) and process_grids(7) == ((1, 7),)
    every = problem_variants(Problem(2000, 128, 2, 4), (64, 128, 192), 8)
    assert {(each.block, each.rows) for each in every} == {
        (block, rows) for block in (64, 128, 192) for rows in (1, 2)
    }
    assert {each.size for each in every} == {1920} and all(1920 % each.block == 0 for each in every)
    lines = hpl_input(every, to_file=True).splitlines()
    assert lines[4:6] == ["1", "1920"] or lines[5] == "1920"
    assert lines[6:12] == ["3", "64 128 192", "0", "2", "2 1", "4 8"]


def test_several_answers_are_read_and_a_wrong_one_among_them_is_refused() -> None:
    good, wrong = (
        ANSWER.format(residual="0.0036", verdict="PASSED"),
        ANSWER.format(residual="17", verdict="FAILED"),
    )
    assert len(read_solutions(good + good, "out")) == 2
    with pytest.raises(SuiteError, match="answer is wrong"):
        read_solutions(good + wrong, "out")


def test_bandwidth_is_the_memorys_not_the_caches() -> None:
    text = "STREAM_VectorSize={}\nStarSTREAM_Triad=2.5\nSingleSTREAM_Triad=4.0\n"
    found = read_triad(text.format(10_000_000))
    assert found is not None and (found.alone_gb_s, found.together_gb_s) == (4.0, 2.5)
    assert read_triad(text.format(100_000)) is None
    assert read_triad("") is None


def test_a_grid_must_have_as_many_places_as_ranks() -> None:
    with pytest.raises(SuiteError, match="3 x 2 does not fit 4 ranks"):
        planned_problems(LinpackRequest(Placement((), 4), grid=(3, 2)), 2**30)
    (problem,) = planned_problems(LinpackRequest(Placement((), 4), grid=(1, 4)), 2**30)
    assert (problem.rows, problem.columns) == (1, 4)


def test_a_busy_machine_is_refused_with_the_program_that_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = MachineLoad(2.0, 4, 0.9, 0.0, None, (("ffmpeg", 7, 0.8),))
    monkeypatch.setattr(linpack, "measure_load", lambda seconds: busy)
    with pytest.raises(
        SuiteError,
        match=(
            r"busy: other programs use 0.90 .* of 4 cores \(ffmpeg \(process 7, 0.80"
            r" cores\)\).*--allow-busy"
        ),
    ):
        measure_linpack(tmp_path / "record", LinpackRequest(Placement(), with_scipy=True, size=512))
    assert not (tmp_path / "record").exists()


def test_a_rate_that_others_lowered_can_be_measured_again_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mpirun", "xhpl"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    quiet = MachineLoad(2.0, 4, 0.0, 0.0, None, ())
    monkeypatch.setattr(linpack, "measure_load", lambda seconds: quiet)
    busy = SimpleNamespace(foreign_cores=lambda: 0.9)
    monkeypatch.setattr(linpack, "LoadWatch", lambda: busy)
    request = LinpackRequest(Placement((), 1), xhpl=tmp_path / "xhpl", size=512)
    for _ in range(2):
        with pytest.raises(SuiteError, match=r"used 0\.90 of 4 cores.*run LINPACK again"):
            measure_linpack(tmp_path / "record", request)


def test_a_blas_that_is_built_in_is_looked_for_at_first_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Looking takes time from the ranks; without ticks the other nodes' recorders end."""
    second, ticks = itertools.count(), list[None]()
    clock = SimpleNamespace(monotonic=lambda: next(second), sleep=lambda seconds: None)
    monkeypatch.setattr(linpack, "time", clock)
    monkeypatch.setattr(linpack, "choose_blas", lambda mapped: None)
    process: Any = SimpleNamespace(pid=os.getpid(), poll=lambda: None)
    power: Any = SimpleNamespace(tick=lambda: ticks.append(None))
    assert linpack._loaded_blas(process, power, 5.0) is None
    assert len(ticks) == 4


def test_joules_are_the_sum_over_the_nodes_or_unknown_for_a_named_node() -> None:
    first, second = (
        LinpackPower(30.0, 4.0, 1.5, "um25c", None, 29.0, 31.0),
        LinpackPower(34.0, 4.0, 1.4, "um25c", None, 33.0, 36.0),
    )
    whole = power_of_nodes((first, second), ("pi1", "pi2"), gflops=16.0)
    assert (whole.energy_j, whole.low_j, whole.high_j, whole.gflops_per_watt) == (
        64.0,
        62.0,
        67.0,
        1.0,
    )
    unmeasured = LinpackPower(None, None, None, None, "no power sensor was read")
    assert (
        power_of_nodes((first, unmeasured), ("pi1", "pi2"), 16.0).reason
        == "pi2: no power sensor was read"
    )


def test_the_share_that_training_reaches() -> None:
    assert share_reached(forward_macs=1_000_000, samples_per_s=500.0, gflops=30.0) == pytest.approx(
        0.1
    )


def test_a_record_of_another_shape_is_refused(tmp_path: Path) -> None:
    (tmp_path / "linpack.json").write_text('{"schema": 2, "kind": "HPL"}')
    seal(tmp_path)
    with pytest.raises(SuiteError, match="the key 'program' is missing"):
        read_linpack(tmp_path)
    (tmp_path / "linpack.json").write_text('{"schema": 1}')
    with pytest.raises(SuiteError, match="reads schema 2"):
        read_linpack(tmp_path)


def test_the_memory_of_another_node_is_read_in_kib(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    said = "Universität\nMemAvailable:    2048 kB"
    agent.write_text(f"#!/bin/sh\necho '{said}'\n", encoding="latin-1")
    agent.chmod(0o755)
    assert smallest_available_bytes(Placement(("here", "there"), agent=str(agent))) == 2048 * 1024
