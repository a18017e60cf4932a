"""LINPACK: the problem fits memory and grid, HPL's answer is judged, a slow BLAS is refused, and the real hpcc passes."""

import json
import shutil
from pathlib import Path

import pytest

from suite.errors import SuiteError
from suite.experiments.linpack import Problem, choose_blas, measure, plan, read_solution, refuse_slow

ANSWER = """T/V                N    NB     P     Q               Time                 Gflops
WR11C2R4        2000   128     1     2               0.68              7.801e+00
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        {residual} ...... {verdict}
"""
REFERENCE = "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3.11.0"
WRAPPER, OPENBLAS = "/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3", "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.21.so"


@pytest.mark.parametrize(("ranks", "grid"), [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (6, (2, 3)), (7, (1, 7))])
def test_the_grid_is_as_square_as_the_ranks_allow(ranks: int, grid: tuple[int, int]) -> None:
    problem = plan(ranks, 2**30)
    assert (problem.rows, problem.columns) == grid


def test_the_matrix_is_a_multiple_of_the_block_and_fits() -> None:
    assert plan(4, 2**30).size == 8960  # 0.9 sqrt(0.75 * 2^30 / 8) = 9029


def test_too_little_memory_names_what_fits() -> None:
    with pytest.raises(SuiteError, match="enough for --size 8960"):
        plan(1, 2**30, 20000)
    with pytest.raises(SuiteError, match="free memory"):
        plan(1, 2**20)


def test_an_answer_is_read() -> None:
    solution = read_solution(ANSWER.format(residual="0.0036790", verdict="PASSED"))
    assert (solution.problem, solution.time_s, solution.gflops, solution.residual) == (Problem(2000, 128, 1, 2), 0.68, 7.801, 0.003679)


@pytest.mark.parametrize("residual", ["16.0", "nan"])
def test_a_wrong_answer_is_refused(residual: str) -> None:
    with pytest.raises(SuiteError, match="answer is wrong"):
        read_solution(ANSWER.format(residual=residual, verdict="FAILED"))


def test_no_answer_is_refused() -> None:
    with pytest.raises(SuiteError, match="without a result"):
        read_solution("Begin of HPL section.\n")


def test_the_reference_blas_is_refused_and_openblas_is_not() -> None:
    assert refuse_slow(choose_blas([WRAPPER, OPENBLAS])) == OPENBLAS
    for mapped in ([REFERENCE], []):
        with pytest.raises(SuiteError, match="apt-get install hpcc libopenblas0-pthread"):
            refuse_slow(choose_blas(mapped))


@pytest.mark.skipif(not (shutil.which("hpcc") and shutil.which("mpirun")), reason="hpcc is not installed: apt-get install hpcc libopenblas0-pthread")
@pytest.mark.parametrize("ranks", [1, 2])
def test_the_real_hpcc_passes_its_residual_test(tmp_path: Path, ranks: int) -> None:
    record = measure(tmp_path / "record", ranks, 512)
    assert record.solution.problem == Problem(512, 128, 1, ranks)
    assert json.loads((tmp_path / "record" / "linpack.json").read_text())["blas"] == record.blas
    assert "linpack.json" in (tmp_path / "record" / "MANIFEST.sha256").read_text()
