"""Seeds of a nonce: everybody computes the same one, with sha256sum and Python's json module; what
may be tuned for time changes none."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from reference_impls.contract import Recomputation, Request, Start, request_to_dict
from suite.catalog.frameworks import load_framework
from suite.catalog.seeds import (
    NOT_CONFIGURATION,
    NonceUse,
    configuration_sha256,
    implementation_sha256,
    read_nonce_use,
    request_identity,
    use_nonce,
)
from suite.errors import SuiteError
from suite.files.paths import repository_root
from tests.builders import Scenario, make_request

FAKE = load_framework("fake")
LISTED = (
    "find reference_impls/*.py reference_impls/data reference_impls/{} -type f ! -path"
    " '*/__pycache__/*' | LC_ALL=C sort | xargs sha256sum"
)


def shell(command: str) -> str:
    return subprocess.run(
        ["bash", "-c", command], cwd=repository_root(), capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def request_values(tmp_path: Path) -> dict[str, Any]:
    return request_to_dict(make_request(tmp_path, Scenario()))


@pytest.mark.parametrize("name", ["fake", "pytorch", "tensorflow", "chainer"])
def test_sha256sum_computes_the_digest_of_an_implementation(name: str) -> None:
    assert shell(f"{LISTED.format(name)} | sha256sum").split()[0] == implementation_sha256(
        load_framework(name)
    )


def test_a_variant_includes_the_framework_that_it_is_a_variant_of() -> None:
    assert shell(f"{LISTED.format('pytorch reference_impls/pytorch_bf16')} | sha256sum").split()[
        0
    ] == implementation_sha256(load_framework("pytorch_bf16"))


ADAPTATION = {
    "start": Start("lenet-mnist", "/data/lenet-mnist.npz", ["fc3.*"])._asdict(),
    "old_task": {"name": "mnist"},
}


@pytest.mark.parametrize("further", [{}, ADAPTATION], ids=["training", "adaptation"])
def test_a_stranger_computes_the_same_seed(
    further: dict[str, Any], request_values: dict[str, Any], tmp_path: Path
) -> None:
    """The ten lines of RULES.md, run as they stand there."""
    request_values |= further
    rules = (repository_root() / "rules" / "RULES.md").read_text(encoding="utf-8")
    program = rules.partition("```python\n")[2].partition("```")[0]
    used = use_nonce("2026-12-01 beacon", "v0.2", 2, FAKE, request_values)
    nonce = {
        name: getattr(used, name)
        for name in ("nonce", "round", "run_number", "implementation_sha256")
    }
    (tmp_path / "run.json").write_text(json.dumps({"request": request_values, "nonce": nonce}))
    printed = subprocess.run(
        ["python3", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    assert printed.split() == [used.entry_sha256, str(used.seed)]
    assert (
        shell(
            f"printf '%s\\n' '{used.nonce}' v0.2 {used.entry_sha256} 2 | sha256sum | cut -c1-8"
        ).strip()
        == f"{used.seed:08x}"
    )


def changed(values: dict[str, Any], name: str) -> dict[str, Any]:
    """A copy with another value of the field ``name``, dotted."""
    copy = json.loads(json.dumps(values))
    parent, _, child = name.rpartition(".")
    (copy[parent] if parent else copy)[child] = "another"
    return dict(copy)


def leaves() -> list[str]:
    """Every field of a request, nested ones dotted."""
    nested = {
        name: kind._fields
        for name, kind in Request.__annotations__.items()
        if hasattr(kind, "_fields")
    }
    return [
        f"{name}.{child}" if child else name
        for name in Request._fields
        for child in nested.get(name, ("",))
    ]


@pytest.mark.parametrize("name", leaves())
def test_a_field_changes_the_digest_unless_it_is_left_out(
    name: str, request_values: dict[str, Any]
) -> None:
    is_left_out = name in NOT_CONFIGURATION or name.partition(".")[0] in NOT_CONFIGURATION
    assert (
        configuration_sha256(changed(request_values, name)) == configuration_sha256(request_values)
    ) is is_left_out


def test_every_field_that_is_left_out_exists() -> None:
    of_start = {f"start.{name}" for name in Start._fields}
    assert set(NOT_CONFIGURATION) <= {*leaves(), *of_start, *Request._fields}


def test_a_memory_budget_changes_no_seed(request_values: dict[str, Any]) -> None:
    """The seed is computed before the schedule is planned, which depends on the machine."""
    planned = Recomputation(2, 1, 1.0, "store all", [], [], "$ELSEWHERE/card")._asdict()
    assert configuration_sha256(request_values) == configuration_sha256(
        {**request_values, "recomputation": planned}
    )


def test_the_request_is_not_changed(request_values: dict[str, Any]) -> None:
    before = json.dumps(request_values)
    request_identity(request_values)
    assert json.dumps(request_values) == before


def test_an_edited_implementation_has_another_digest(tmp_path: Path) -> None:
    shutil.copytree(repository_root() / "reference_impls", tmp_path / "reference_impls")
    assert implementation_sha256(FAKE, tmp_path) == implementation_sha256(FAKE)
    with (tmp_path / "reference_impls" / "fake" / "implementation.py").open("a") as stream:
        stream.write("\n")
    assert implementation_sha256(FAKE, tmp_path) != implementation_sha256(FAKE)


def test_nonce_round_and_number_each_change_the_seed(request_values: dict[str, Any]) -> None:
    given = [("a", "v0.2", 0), ("b", "v0.2", 0), ("a", "v0.3", 0), ("a", "v0.2", 1)]
    seeds = {
        use_nonce(nonce, round_name, number, FAKE, request_values).seed
        for nonce, round_name, number in given
    }
    assert len(seeds) == len(given)
    assert all(0 <= seed < 2**32 for seed in seeds)


@pytest.mark.parametrize("nonce", ["", " a", "a\n", "a\nb", "\x00", "n" * 201])
def test_a_nonce_is_one_line(nonce: str, request_values: dict[str, Any]) -> None:
    with pytest.raises(SuiteError, match="--nonce"):
        use_nonce(nonce, "v0.2", 0, FAKE, request_values)


@pytest.mark.parametrize("number", [-1, 10_000])
def test_a_run_number_is_within_its_range(number: int, request_values: dict[str, Any]) -> None:
    with pytest.raises(SuiteError, match="--run-number"):
        use_nonce("a", "v0.2", number, FAKE, request_values)


def test_a_record_with_a_nonce_or_a_number_that_is_none_is_not_read() -> None:
    for number in (0, 9999):
        good = NonceUse("n" * 200, "v0.3", number, "a", "b", "c")
        assert read_nonce_use(vars(good)) == good
    for wrong in ({"run_number": -1}, {"run_number": 10_000}, {"nonce": ""}, {"nonce": " n"}):
        assert read_nonce_use({**vars(good), **wrong}) is None
    assert read_nonce_use({"nonce": "a"}) is None
