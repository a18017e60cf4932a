"""Implementations outside the checkout: their manifests, the digest of their files, and their
commands."""

import re
import subprocess
from pathlib import Path

import pytest

from suite.catalog.commands import probe_command, train_command, working_folder
from suite.catalog.data_sets import load_data_set
from suite.catalog.frameworks import (
    Capability,
    load_implementation,
    refuse_adaptation,
    refuse_layout,
    refuse_without,
)
from suite.catalog.seeds import implementation_files, implementation_sha256
from suite.errors import SuiteError
from suite.files.paths import repository_root
from suite.launch.building import build_implementation
from suite.launch.environments import Environment, find_environment
from tests.interpreters import make_interpreter

MANIFEST = (
    'name = "theirs"\ntitle = "Theirs"\ntrain = ["{python}", "train.py"]\nprobe ='
    ' ["build/probe-{dtype}"]\n'
)


def written(folder: Path, text: str = MANIFEST) -> Path:
    (folder / "framework.toml").write_text(text)
    return folder


def test_commands_are_started_in_the_folder(tmp_path: Path) -> None:
    framework = load_implementation(written(tmp_path))
    assert train_command(framework, Path("/usr/bin/python3")) == ["/usr/bin/python3", "train.py"]
    assert probe_command(framework, Path("/usr/bin/python3"), "float64") == ["build/probe-float64"]
    assert working_folder(framework) == tmp_path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (MANIFEST.replace("theirs", "pytorch"), "name of a reference implementation"),
        (MANIFEST.replace('"theirs"', '"../theirs"'), "folders are named after it"),
        (MANIFEST.replace("train =", "trains ="), "did you mean 'train'"),
        ('name = "theirs"\ntitle = "Theirs"\n', "write the command as"),
        (MANIFEST + 'module = "theirs"\n', "remove the keys 'module', 'outside' and 'version'"),
        (MANIFEST + 'outside = "/etc"\n', "remove the keys 'module', 'outside' and 'version'"),
        (MANIFEST.replace("Theirs", ""), "title is refused: it is empty"),
        (MANIFEST.replace("Theirs", "x" * 81), "title is refused: .* more than 80"),
        (MANIFEST.replace("Theirs", "a\\nb"), "title is refused: it has line breaks"),
        (MANIFEST.replace("Theirs", "a \\u202e b"), "invisible characters"),
        (
            MANIFEST + 'build = ["sh", "../train.sh"]\n',
            "'../train.sh' is hidden or above the implementation's folder",
        ),
        (
            MANIFEST + 'build = ["sh", ".train.sh"]\n',
            "'.train.sh' is hidden or above the implementation's folder",
        ),
    ],
)
def test_a_manifest_that_cannot_be_used(text: str, words: str, tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    for path in (tmp_path / "train.sh", folder / ".train.sh"):
        path.touch()
    with pytest.raises(SuiteError, match=words):
        load_implementation(written(folder, text))


def test_a_manifest_in_another_encoding(tmp_path: Path) -> None:
    text = MANIFEST.replace("Theirs", "Thé")
    (tmp_path / "framework.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(SuiteError, match="is not in UTF-8; save it as UTF-8"):
        load_implementation(tmp_path)
    (tmp_path / "framework.toml").write_bytes(text.encode("utf-8-sig"))
    assert load_implementation(tmp_path).title == "Thé"


def test_a_folder_of_sources_is_no_link(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    (tmp_path / "elsewhere").mkdir()
    folder.mkdir()
    (folder / "lib").symlink_to(tmp_path / "elsewhere")
    framework = load_implementation(written(folder))
    with pytest.raises(SuiteError, match="lib is a link to a folder"):
        implementation_sha256(framework)


def test_what_a_manifest_does_not_declare_is_refused(tmp_path: Path) -> None:
    framework = load_implementation(written(tmp_path))
    for capability in Capability:
        with pytest.raises(SuiteError, match=f"does not declare {capability.value!r} .*--option"):
            refuse_without(framework, capability, "--option")
    every = ", ".join(f'"{each.value}"' for each in Capability)
    framework = load_implementation(written(tmp_path, MANIFEST + f"capabilities = [{every}]\n"))
    for capability in Capability:
        refuse_without(framework, capability, "--option")
    with pytest.raises(SuiteError, match="capabilities"):
        load_implementation(written(tmp_path, MANIFEST + 'capabilities = ["flying"]\n'))


def test_data_in_a_layout_that_it_does_not_read_is_refused(tmp_path: Path) -> None:
    framework = load_implementation(written(tmp_path, MANIFEST + 'layouts = ["idx"]\n'))
    refuse_layout(framework, load_data_set("mnist"))
    with pytest.raises(SuiteError, match="layout idx; 'cifar10' is in the layout cifar10"):
        refuse_layout(framework, load_data_set("cifar10"))
    refuse_layout(load_implementation(written(tmp_path)), load_data_set("cifar10"))


def test_an_implementation_that_adapts_no_checkpoint_declares_it(tmp_path: Path) -> None:
    page = (repository_root() / "docs/implementing.md").read_text(encoding="utf-8")
    assert "\n| `whole_models_only` | true or false | false |" in page
    refuse_adaptation(load_implementation(written(tmp_path)), "lenet-adapt")
    framework = load_implementation(written(tmp_path, MANIFEST + "whole_models_only = true\n"))
    with pytest.raises(SuiteError, match="trains whole models only, and 'lenet-adapt' adapts"):
        refuse_adaptation(framework, "lenet-adapt")


def test_the_digest_is_that_of_sha256sum(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/model.c").write_text("int main(void) { return 0; }\n")
    before = implementation_sha256(load_implementation(tmp_path))
    for name in ("build/probe", ".git/HEAD", "src/__pycache__/a.pyc", ".hidden"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    framework = load_implementation(tmp_path)
    listing = subprocess.run(
        "sha256sum framework.toml src/model.c | sha256sum",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert implementation_sha256(framework) == before == listing.split()[0]
    assert [name for name, _ in implementation_files(framework)] == [
        "framework.toml",
        "src/model.c",
    ]
    (tmp_path / "src/model.c").write_text("int main(void) { return 1; }\n")
    assert implementation_sha256(framework) != before


def test_a_folder_that_is_too_large_is_named(tmp_path: Path) -> None:
    written(tmp_path)
    with (tmp_path / "mnist.bin").open("wb") as stream:
        stream.truncate(65 * 2**20)
    with pytest.raises(SuiteError, match="keep data and results out"):
        implementation_sha256(load_implementation(tmp_path))


def test_a_missing_program_is_one_sentence(tmp_path: Path) -> None:
    needs = (
        '[[needs]]\nprogram = "no-such-cc"\ninstall = "install it: `sudo apt-get install gcc`"\n'
    )
    framework = load_implementation(written(tmp_path, f"{MANIFEST}{needs}"))
    with pytest.raises(SuiteError) as caught:
        build_implementation(framework, find_environment(framework))
    sentence = (
        "Theirs needs the program 'no-such-cc', which this machine does not have; install it: `sudo"
        " apt-get install gcc`."
    )
    assert str(caught.value) == sentence


def test_a_package_that_the_interpreter_lacks_is_named(tmp_path: Path) -> None:
    framework = load_implementation(written(tmp_path))
    (tmp_path / "requirements.txt").write_text(
        "# theirs\nNumPy>=1\nno-such; python_version < '3'\nNo_Such.Package==1.0\n"
    )
    with pytest.raises(SuiteError, match=r"lacks the package 'no-such-package', which .* names"):
        build_implementation(framework, find_environment(framework))


def test_a_package_that_was_installed_since_the_interpreter_was_adopted_is_found(
    tmp_path: Path,
) -> None:
    framework = load_implementation(written(tmp_path))
    (tmp_path / "requirements.txt").write_text("no-such-package\n")
    python = make_interpreter(tmp_path / "python", torch="2.6.0")
    adopted = Environment("theirs", python, {"torch": "2.6.0"})
    with pytest.raises(SuiteError, match="lacks the package 'no-such-package'"):
        build_implementation(framework, adopted)
    make_interpreter(python, **{"torch": "2.6.0", "No_Such.Package": "1.0"})
    build_implementation(framework, adopted)


def test_a_build_that_fails_says_why(tmp_path: Path) -> None:
    framework = load_implementation(
        written(tmp_path, f'{MANIFEST}build = ["sh", "-c", "echo model.c:3: error >&2; exit 1"]\n')
    )
    with pytest.raises(SuiteError, match=r"Building Theirs ended with 1: model.c:3: error"):
        build_implementation(framework, find_environment(framework))


def test_the_pages_manifests_are_accepted_and_its_table_has_their_keys(tmp_path: Path) -> None:
    page = (repository_root() / "docs/implementing.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    blocks = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        framework = load_implementation(written(tmp_path, block))
        assert framework.train and framework.probe
        assert set(re.findall(r"^\[*(\w+)", block, re.MULTILINE)) - {"program", "install"} <= listed
