"""Gradients of 16 bits: how numbers are rounded, and that all ranks get the same sums."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reference_impls.contract import BFLOAT16, EXACT, FLOAT16
from reference_impls.wire import ENCODINGS, LARGEST_HALF
from suite.files.paths import repository_root
from suite.launch.child_environment import child_environment
from suite.launch.mpirun import all_reduce_variables, allow_root, find_mpirun, mpirun_command
from suite.launch.placement import Placement
from tests.conftest import environment_of
from tests.every_case import some

RELATIVE = {FLOAT16: 2.0**-11, BFLOAT16: 2.0**-8}
"""Half a unit in the last place: float16 has 11 significant bits, bfloat16 has 8."""


@pytest.mark.parametrize("wire", RELATIVE)
def test_numbers_are_rounded_to_the_nearest(wire: str) -> None:
    numbers = np.random.default_rng(1).normal(0, 10, 100_000).astype(np.float32)
    words = ENCODINGS[wire].encode(numbers)
    assert words.dtype == np.uint16
    errors = np.abs(ENCODINGS[wire].decode(words) - numbers) / np.abs(numbers)
    assert (
        RELATIVE[wire] / 2 < errors.max() <= RELATIVE[wire] * (1 if wire == BFLOAT16 else 1.01)
    ), "a subnormal of float16 has fewer bits"
    assert (ENCODINGS[wire].encode(ENCODINGS[wire].decode(words)) == words).all()


@pytest.mark.parametrize("exponent", range(-50, 18))
def test_float16_is_that_of_the_standard_at_every_size(exponent: int) -> None:
    """NumPy's conversion is the reference; subnormals, ties and the limit are among the numbers."""
    numbers = np.ldexp(
        np.random.default_rng(exponent + 50).uniform(-2, 2, 10_000), exponent
    ).astype(np.float32)
    ties = np.ldexp(np.arange(-4097, 4098) / 2048, exponent).astype(np.float32)
    both = np.concatenate([numbers, ties, -ties])
    with np.errstate(all="ignore"):
        expected = np.clip(both, -LARGEST_HALF, LARGEST_HALF).astype(np.float16).view(np.uint16)
    np.testing.assert_array_equal(ENCODINGS[FLOAT16].encode(both), expected)


@pytest.mark.parametrize("wire", RELATIVE)
def test_special_numbers_stay_special(wire: str) -> None:
    """A gradient that is not finite ends the run at the next loss; it must not become a number on
    the way."""
    numbers = np.array([np.nan, 0.0, -0.0, 1.0, -1.0], np.float32)
    np.testing.assert_array_equal(ENCODINGS[wire].decode(ENCODINGS[wire].encode(numbers)), numbers)
    assert np.isnan(ENCODINGS[wire].decode(ENCODINGS[wire].encode(-numbers[:1])))


def test_float16_keeps_what_is_too_large_at_its_largest_and_bfloat16_has_the_range_of_float32() -> (
    None
):
    large = np.array([1e6, -1e6, 3e38], np.float32)
    np.testing.assert_array_equal(
        ENCODINGS[FLOAT16].decode(ENCODINGS[FLOAT16].encode(large)),
        [LARGEST_HALF, -LARGEST_HALF, LARGEST_HALF],
    )
    np.testing.assert_allclose(
        ENCODINGS[BFLOAT16].decode(ENCODINGS[BFLOAT16].encode(large)),
        large,
        rtol=RELATIVE[BFLOAT16],
    )


@pytest.mark.pytorch
@pytest.mark.parametrize("ranks", some([3, 2]))
@pytest.mark.parametrize("wire", some(RELATIVE))
def test_all_ranks_get_the_same_rounded_sums(wire: str, ranks: int, tmp_path: Path) -> None:
    """Of buckets under way at the same time; each number is rounded on each rank and once more as a
    sum."""
    said = summed(wire, ranks, tmp_path, {})
    assert said["are_alike"] and said["buckets"] == 3 and said["rounds_as_numpy"]
    largest_sum = 5.0 * ranks
    assert 0 < max(said["errors"]) <= RELATIVE[wire] * largest_sum * 2


@pytest.mark.pytorch
@pytest.mark.parametrize("ranks", some([3, 4]))
def test_all_ranks_get_the_same_exact_sums_along_a_ring(ranks: int, tmp_path: Path) -> None:
    """Digests of the ranks' parameters are compared bit for bit after every epoch."""
    said = summed(EXACT, ranks, tmp_path, all_reduce_variables(ranks, 1, 2**25))
    assert said["are_alike"] and max(said["errors"]) < 1e-5


def summed(wire: str, ranks: int, folder: Path, more: Mapping[str, str]) -> dict[str, Any]:
    """What rank 0 of rounded_ranks says."""
    interpreter, variables = (
        environment_of("pytorch").interpreter,
        allow_root({**child_environment(1), **more}),
    )
    program = [str(interpreter), "-m", "tests.reference_impls.rounded_ranks", str(ranks), wire]
    command = mpirun_command(
        find_mpirun(interpreter), Placement((), ranks), program, variables, folder
    )
    answer = subprocess.run(
        command, cwd=repository_root(), env=variables, capture_output=True, text=True, timeout=120
    )
    assert answer.returncode == 0, answer.stderr
    # mpirun adds the exit codes
    said: dict[str, Any] = json.loads(
        next(line for line in answer.stdout.splitlines() if line.startswith("{"))
    )
    return said
