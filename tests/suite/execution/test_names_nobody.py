"""Runs of a person, on a host and in folders with tell-tale names: no file of the submission has
any of them."""

import getpass
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest

from suite.bundle.layout import HOSTS, OUTPUT, PRIVATE, RAW_OUTPUT
from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_framework
from suite.compliance.checker import check_bundle
from suite.execution.closing import close_bundle
from suite.execution.finish import finish
from suite.files.paths import repository_root
from suite.files.redaction import Redactor
from suite.launch.environments import adopt_interpreter
from tests.builders import RICH
from tests.conftest import environment_of
from tests.dead_disk import DeadDisk, Killed
from tests.unclosed import make_unclosed

PERSON, HOST, THESIS, SECRET = "zebedeeq", "quixotebox", "wolpertinger", "hunter2pw"
PLUG_HOST = f"plug-{THESIS}.fritz.box"
PLUG = f"{PERSON}:{SECRET}@{PLUG_HOST}:9"
ACCOUNT = f"someone@{HOST}.example.org"
TELLTALES = (PERSON, HOST, THESIS, SECRET)
SUITE = Path(sys.executable).with_name("suite")
AS_ROOT = os.geteuid() == 0
FAKE = "run --division open --workload lenet --framework fake --epochs 2 --baseload 0 --threads 1"
Typed = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder; its digits are in a folder of its own."""
    home = tmp_path_factory.mktemp("home") / PERSON
    home.mkdir()
    return home


@pytest.fixture(scope="module")
def typed(person: Path) -> Iterator[Typed]:
    """Runs the command as that person types it at home, on a host of that name with a plug, where
    this process may make one (root)."""
    etc = person.parent / "etc"
    script = f"""hostname {HOST} && cp -a /etc {etc} && mkdir -p {etc}/edge-training-suite || exit 1
        printf '[shelly]\\naddress = "{PLUG}"\\n' > {etc}/edge-training-suite/meters.toml
        echo 127.0.0.1 {HOST} {PLUG_HOST} >> {etc}/hosts
        mount --bind {etc} /etc && exec "$@" """
    enter = ["unshare", "--uts", "--mount", "sh", "-c", script, "sh"] if AS_ROOT else []

    def call(command: str) -> "subprocess.CompletedProcess[str]":
        subprocess.run(["rm", "-rf", str(etc)], check=True)
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in ("SUITE_HOME", "XDG_CACHE_HOME")
        }
        variables = {
            **kept,
            "HOME": str(person),
            "USER": PERSON,
            "LOGNAME": PERSON,
            "PYTHONPATH": str(repository_root()),
        }
        return subprocess.run(
            [*enter, str(SUITE), *command.split()],
            cwd=person,
            env=variables,
            capture_output=True,
            text=True,
            timeout=600,
        )

    yield call


@pytest.fixture(scope="module")
def data(digits: Path, person: Path) -> Path:
    """The digits below that home."""
    return Path(shutil.copytree(digits, person / ".cache/edge-training-suite/data/digits"))


def everything(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """The bytes of every file, of tables also their rows as text, with the file's own name."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        yield path, path.relative_to(folder).as_posix().encode() + path.read_bytes()
        if path.suffix == ".parquet":
            rows = io.StringIO()
            table = pyarrow.parquet.read_table(path)
            rows.write(str(table.schema.metadata))
            for name in table.column_names:
                rows.write(" ".join(map(str, table.column(name).unique().to_pylist())))
            yield path, rows.getvalue().encode()


def leaks(folder: Path) -> list[tuple[str, str]]:
    telltales = (*TELLTALES, *([] if getpass.getuser() == "root" else [getpass.getuser()]))
    return [
        (path.name, word)
        for path, content in everything(folder)
        for word in telltales
        if word.encode() in content.lower()
    ]


def expect_discreet_submission(typed: Typed, person: Path, output: Path) -> None:
    """The run complies, is packaged, and no file has a tell-tale word."""
    found = {finding.check for finding in check_bundle(output).findings}
    assert found <= {"foreign-load"}, "other programs of a busy machine are no leak"
    packaged = typed(
        f"package {output} --org acme --availability research --launches {output.parent}"
        f" --output {person}/tree"
    )
    # one run is no entry of the open division's three
    assert packaged.returncode in (0, 1), packaged.stderr
    assert "names-nobody" not in packaged.stdout and "names-replaced" not in packaged.stdout
    (folder,) = (person / "tree").glob("*/acme")
    assert (folder / "declaration.json").exists()
    assert leaks(folder) == []
    subprocess.run(["rm", "-rf", str(person / "tree")], check=True)


@pytest.mark.usefixtures("trains")
def test_a_run_on_one_rank(typed: Typed, person: Path, data: Path) -> None:
    output = person / f"{THESIS}-runs" / THESIS
    ran = typed(f"{FAKE} --data digits={data} --output {THESIS}-runs/{THESIS}")
    assert ran.returncode == 0, ran.stderr
    run = Bundle(output).run()
    assert run.command[-4:] == ("--data", "digits=$DATA/digits", "--output", "$OUTPUT")
    assert (run.request["output_directory"], run.request["data"]["directory"]) == (
        "$OUTPUT",
        "$DATA/digits",
    )
    if AS_ROOT:
        (plug,) = (meter for meter in run.meters if meter["name"] == "shelly")
        assert "does not reply like a shelly" in plug["reason"] and THESIS not in plug["reason"]
    expect_discreet_submission(typed, person, output)


def test_output_is_redacted_once_wherever_the_closing_is_cut_off(tmp_path: Path) -> None:
    """The hosts' names are each other's labels: replacing twice would exchange them again."""
    raw, disk = (
        make_unclosed(
            tmp_path / "raw", replace(RICH, data="digits", division="open", accuracies=(0.5, 0.6))
        ),
        DeadDisk(),
    )
    (raw / OUTPUT).write_text(f"node1 lost node0 in {tmp_path}/{PERSON}, said {ACCOUNT}\n")
    (raw / HOSTS).write_text(f"{HOST}:1\n")
    Redactor(((f"{tmp_path}/{PERSON}", "$HOME"),), (("node1", "node0"), ("node0", "node1"))).write(
        raw / PRIVATE
    )
    with disk.after(10**6, Path(shutil.copytree(raw, tmp_path / "whole"))):
        close_bundle(tmp_path / "whole")
    changes = list(disk.changes)
    redacting = [number for number, change in enumerate(changes) if "output" in str(change)]
    assert len(redacting) > 3
    for number in (*range(redacting[0] - 1, redacting[0] + 8), *redacting[-2:], len(changes) - 1):
        path = Path(shutil.copytree(raw, tmp_path / "run"))
        with pytest.raises(Killed), disk.after(number, path):
            close_bundle(path)
        finish(path)
        assert (path / OUTPUT).read_text() == "node0 lost node1 in $HOME, said <e-mail>\n"
        assert not {HOSTS, PRIVATE, RAW_OUTPUT, "request.json"} & {
            each.name for each in path.iterdir()
        }
        assert leaks(path) == []
        shutil.rmtree(path)


@pytest.mark.proof
@pytest.mark.pytorch
def test_a_run_on_several_ranks(typed: Typed, person: Path, data: Path) -> None:
    adopt_interpreter(
        load_framework("fake"),
        environment_of("pytorch").interpreter,
        person / ".cache/edge-training-suite",
    )
    output = person / f"{THESIS}-ranks"
    ran = typed(
        f"{FAKE} --data digits={data} --batch-size 360 --ranks-per-node 2 --output {output}"
    )
    assert ran.returncode == 0, ran.stderr
    assert Bundle(output).log().value("nodes_of_ranks") == ["node0", "node0"]
    expect_discreet_submission(typed, person, output)
