"""What pip is given: locks where there are, no CUDA without an NVIDIA GPU, every version exact and
every hash PyPI's."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from suite.catalog.frameworks import Framework, load_framework, load_frameworks, locks_folder
from suite.errors import SuiteError
from suite.launch import recipe
from suite.launch.environments import environment_folder
from suite.launch.recipe import Platform, package_name

FRAMEWORKS = [
    framework
    for framework in load_frameworks()
    if framework.needs_environment and framework.environment_of is None
]
LOCKS = [path for framework in FRAMEWORKS for path in sorted(locks_folder(framework).glob("*.txt"))]
BOARDS = [Platform("aarch64", (3, minor), has_gpu=False) for minor in (11, 12, 13)]
CUDA = re.compile(r"nvidia|cuda|triton|cudnn|nccl")


def names(chosen: recipe.EnvironmentRecipe) -> set[str]:
    assert chosen.lock is not None
    return {package_name(pin) for pin in chosen.lock.pins}


def has_packages(framework: Framework, place: Platform) -> bool:
    return framework.highest_python is None or place.python <= tuple(
        map(int, framework.highest_python.split("."))
    )


@pytest.mark.parametrize("place", BOARDS, ids=lambda place: f"{place.python[0]}.{place.python[1]}")
@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_a_raspberry_pi_gets_every_framework_and_no_cuda(
    framework: Framework, place: Platform
) -> None:
    if not has_packages(framework, place):
        return
    chosen = recipe.recipe(framework, place)
    assert not [name for name in names(chosen) if CUDA.search(name)]
    assert chosen.lock is not None and chosen.lock.download_bytes < 500e6


PLAIN = Platform("x86_64", (3, 11), has_gpu=False)


@pytest.mark.parametrize(
    ("name", "package", "others"),
    [
        ("chainer==7.8.0", "chainer==7.8.0", "numpy<1.24"),
        ("pytorch==2.9.1", "torch==2.9.1+cpu", "torchvision"),
        (
            "tensorflow==2.20.0",
            'tensorflow-cpu==2.20.0; platform_machine == "x86_64"',
            "pillow>=10",
        ),
    ],
)
def test_another_version_has_an_environment_beside_the_requirements(
    name: str, package: str, others: str
) -> None:
    framework = load_framework(name)
    chosen = recipe.recipe(framework, PLAIN)
    assert chosen.lock is None and {package, others} <= set(chosen.requirements.splitlines())
    assert (
        environment_folder(framework) != environment_folder(load_framework(framework.name))
        and framework.argument == name
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("chainer==", "names no version"),
        ("chainer==7; rm", "names no version"),
        ("fake==1", "cannot be chosen"),
        ("x==1", "x"),
    ],
)
def test_what_is_no_version_is_refused(name: str, words: str) -> None:
    with pytest.raises(SuiteError, match=words):
        load_framework(name)


def test_a_gpu_gets_cuda() -> None:
    chosen = recipe.recipe(load_framework("pytorch"), Platform("x86_64", (3, 11), has_gpu=True))
    assert [name for name in names(chosen) if CUDA.search(name)] and chosen.index is None
    assert "with an NVIDIA GPU" in chosen.statement


@pytest.mark.parametrize(
    ("cuda", "package"),
    [(12, "cupy-cuda12x==13.6.0"), (13, "cupy-cuda13x==13.6.0"), (11, None), (None, None)],
)
def test_chainer_gets_the_cupy_of_the_cuda_toolkit(cuda: int | None, package: str | None) -> None:
    chosen = recipe.recipe(
        load_framework("chainer"), Platform("x86_64", (3, 11), has_gpu=True, cuda=cuda)
    )
    plain = recipe.recipe(load_framework("chainer"), PLAIN)
    if package is None:
        assert chosen.text == plain.text
    else:
        assert chosen.requirements == f"{plain.requirements}{package}\n" and chosen.lock is None


def test_a_toolkit_without_a_gpu_gets_no_cupy() -> None:
    assert (
        recipe.recipe(
            load_framework("chainer"), Platform("x86_64", (3, 11), has_gpu=False, cuda=13)
        ).lock
        is not None
    )


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('{"cuda": {"name": "CUDA SDK", "version": "12.6.11"}}', 12),
        ('{"cuda": {"version": "13.0.2"}}', 13),
        ("{}", None),
        ("[]", None),
        ("", None),
    ],
)
def test_the_cuda_toolkit_tells_its_version(tmp_path: Path, text: str, version: int | None) -> None:
    assert recipe.cuda_toolkit(tmp_path) is None
    (tmp_path / recipe.CUDA_FILE).parent.mkdir(parents=True)
    (tmp_path / recipe.CUDA_FILE).write_text(text)
    assert recipe.cuda_toolkit(tmp_path) == version


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_lock_satisfies_the_requirements(path: Path) -> None:
    framework = load_framework(path.parent.name)
    machine, python = re.fullmatch(r"linux-(\w+?)(?:-cuda)?-py(3\.\d+)", path.stem).groups()  # type: ignore[union-attr]
    major, minor = map(int, python.split("."))
    chosen = recipe.recipe(
        framework, Platform(machine, (major, minor), has_gpu="-cuda" in path.stem)
    )
    assert chosen.lock is not None and chosen.lock.path == path
    versions = {
        package_name(pin): Version(pin.split()[0].partition("==")[2]) for pin in chosen.lock.pins
    }
    for line in (*chosen.requirements.splitlines(), *framework.install.first):
        requirement = Requirement(line)
        if requirement.marker is None or requirement.marker.evaluate(
            {"platform_machine": machine, "python_version": python}
        ):
            assert versions[package_name(requirement.name)] in requirement.specifier, line


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_lock_names_no_place_and_has_a_hash_for_all_of_pypis(path: Path) -> None:
    lock = recipe.read_lock(path)
    assert not re.search(r"://|file:|/", path.read_text(encoding="utf-8"))
    assert 0 < lock.download_bytes < lock.disk_bytes
    for pin in lock.pins:
        assert re.fullmatch(r"[a-z0-9-]+==[\w.]+( --hash=sha256:[0-9a-f]{64}|\+cpu)", pin), pin


def test_packages_without_a_hash_are_installed_apart(tmp_path: Path) -> None:
    """pip refuses a call in which only some have one."""
    steps = recipe.recipe(
        load_framework("pytorch"), Platform("x86_64", (3, 11), has_gpu=False)
    ).steps(tmp_path)
    hashed, bare = steps
    assert "--require-hashes" in hashed and "torch==" not in (tmp_path / "hashed.txt").read_text()
    assert bare == [
        "--no-deps",
        "--extra-index-url",
        "https://download.pytorch.org/whl/cpu",
        "torch==2.13.0+cpu",
    ]


def test_what_a_build_needs_is_installed_before_it(tmp_path: Path) -> None:
    first, rest = recipe.recipe(
        load_framework("chainer"), Platform("aarch64", (3, 11), has_gpu=False)
    ).steps(tmp_path)
    assert {package_name(line) for line in (tmp_path / "first.txt").read_text().splitlines()} == {
        "setuptools",
        "wheel",
        "packaging",
        "numpy",
    }
    assert "--require-hashes" in first and "--no-build-isolation" in rest


def test_without_a_lock_pip_chooses_within_the_requirements(tmp_path: Path) -> None:
    chosen = recipe.recipe(load_framework("pytorch"), Platform("riscv64", (3, 11), has_gpu=False))
    assert (
        chosen.lock is None
        and "there is no lock" in chosen.statement
        and "to download: an unknown size" in chosen.statement
    )
    with_a_lock_for_another_python = Platform("x86_64", (3, 12), has_gpu=False)
    said = recipe.recipe(load_framework("pytorch"), with_a_lock_for_another_python).statement
    assert said.endswith("to download: 249 MB by linux-x86_64-py3.11.txt")
    assert chosen.steps(tmp_path) == [["-r", str(tmp_path / "requirements.txt")]]
    assert (tmp_path / "requirements.txt").read_text() == chosen.requirements


@pytest.mark.parametrize(("name", "cuda"), [("tensorflow", 12), ("chainer", None), ("chainer", 11)])
def test_a_build_for_cpus_is_said_to_leave_the_gpu_unused(name: str, cuda: int | None) -> None:
    jetson = Platform("aarch64", (3, 10), has_gpu=True, cuda=cuda)
    said = recipe.recipe(load_framework(name), jetson).statement
    assert "an NVIDIA GPU, which it does not use: " in said
    for_gpus = recipe.recipe(load_framework("pytorch"), jetson).statement
    assert "with an NVIDIA GPU: " in for_gpus


def test_a_variant_has_the_environment_of_its_framework() -> None:
    place = Platform("aarch64", (3, 11), has_gpu=False)
    assert (
        recipe.recipe(load_framework("pytorch_bf16"), place).text
        == recipe.recipe(load_framework("pytorch"), place).text
    )


@pytest.mark.parametrize("file", ["proc/driver/nvidia/version", "dev/nvhost-gpu"])
def test_a_gpu_is_known_by_its_driver(file: str, tmp_path: Path) -> None:
    assert not recipe.has_nvidia_gpu(tmp_path)
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text("")
    assert recipe.has_nvidia_gpu(tmp_path)


def test_a_file_that_is_no_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lock.txt").write_text("numpy>=1\n")
    with pytest.raises(SuiteError, match=r"tools\.lock_environments"):
        recipe.read_lock(tmp_path / "lock.txt")


@pytest.mark.proof
def test_pip_finds_every_file_of_a_boards_lock_with_its_hash(tmp_path: Path) -> None:
    """As pip on a Raspberry Pi would, from the index that these tests' own packages come from."""
    lock = recipe.recipe(
        load_framework("pytorch"), Platform("aarch64", (3, 13), has_gpu=False)
    ).lock
    assert lock is not None
    platforms = [
        word
        for name in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")
        for word in ("--platform", f"{name}_aarch64")
    ]
    options = [
        "--dry-run",
        "--no-deps",
        "--require-hashes",
        "--only-binary=:all:",
        # pip asks the Python that it runs in, not the one that it is to look for
        "--ignore-requires-python",
        "--python-version",
        "3.13",
        "--target",
        str(tmp_path),
    ]
    command = [sys.executable, "-m", "pip", "install", *options, *platforms, "-r", str(lock.path)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.strip().splitlines()[-1].count("-") >= len(lock.pins)
