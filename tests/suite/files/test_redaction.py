"""Redaction: what names a person or a network is replaced and found; what only looks like it
stays."""

import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suite.files import name_forms, redaction
from suite.files.name_forms import find_names, is_telling, redact_by_form
from suite.files.redaction import Redactor, machine_redactor, names_of_machine, read_redactor
from tests.every_case import EVERY_CASE

HOME, IP, MAC = "a home folder", "an IP address", "a MAC address"
MAIL, URL = "an e-mail address or an account", "a URL with a user name or a private host"
LEAKS = {
    'File "/home/jane/edge/train.py", line 3': (HOME, 'File "$HOME/edge/train.py", line 3'),
    "cc -I/home/jane/include": (HOME, "cc -I$HOME/include"),
    "/srv/home/jane/runs": (HOME, "$HOME/runs"),
    "file:///Users/jane/mnist": (HOME, "file://$HOME/mnist"),
    r"C:\Users\jane\mnist": (HOME, r"$HOME\mnist"),
    "/root/.cache/edge-training-suite/data": (HOME, "$HOME/.cache/edge-training-suite/data"),
    "/media/jane/SSD is on ext4": (HOME, "$HOME/SSD is on ext4"),
    "rank 1 on 10.0.0.7": (IP, "rank 1 on <address>"),
    "http://192.168.1.20/rpc": (IP, "http://<address>/rpc"),
    "connected to 93.184.216.34": (IP, "connected to <address>"),
    "8.8.4.4:53": (IP, "<address>:53"),
    "inet6 fe80::ba27:ebff:fe12:3456": (IP, "inet6 <address>"),
    "2001:db8:85a3::8a2e:370:7334": (IP, "<address>"),
    "eth0 b8:27:eb:12:34:56": (MAC, "eth0 <address>"),
    "enxb827eb123456.sent": (MAC, "enx<address>.sent"),
    "jane.doe@example.org": (MAIL, "<e-mail>"),
    "[mpiexec@janes-pi] killed": (MAIL, "[<user>@<host>] killed"),
    "[proxy:0@janes-pi] exited": (MAIL, "[proxy:0@<host>] exited"),
    "pi@janes-pi left": (MAIL, "pi@<host> left"),
    "http://jane:secret@plug.example.org/rpc": (URL, "http://plug.example.org/rpc"),
    "http://plug/rpc": (URL, "http://<host>/rpc"),
    "janes-pi4.local": ("a host's name", "<host>"),
    "hostname: janes-laptop": ("a host's name", "hostname: <host>"),
    "Serial Number: 10000000a1b2c3d4": ("a serial number", "Serial Number: <serial number>"),
    "GPU-1a2b3c4d-1111-2222-3333-123456789abc": ("a serial number", "GPU-<serial number>"),
}

INNOCENT = (
    "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz",
    "AMD EPYC-Milan Processor @ 2.0 GHz",
    "ARM Cortex-A76 r4p1",
    "6.12.25+rpt-rpi-2712 #1 SMP PREEMPT Debian 1:6.12.25-1+rpt1 (2026-04-30)",
    "Raspberry Pi 5 Model B Rev 1.0",
    "Debian GNU/Linux 12 (bookworm)",
    "nvidia-curand-cu12   10.3.5.147",
    "nvidia-curand-cu12==10.3.5.147",
    "libcudart.so.12.4.127 of driver 10.2.0.1",
    "version 1.2.3.4 of a package",
    "93.184.216.34 and 8.8.4.4 alone, eth0 00:00:00:00:00:00 and ff:ff:ff:ff:ff:ff",
    "mpich 4.1.2.1 and Open MPI 5.0.3.1",
    "I0000 00:00:1795254541.122881   22892 port.cc:153] oneDNN custom operations are on.",
    (
        "To enable the following instructions: AVX2 AVX512F AVX_VNNI FMA, rebuild TensorFlow with"
        " the appropriate compiler flags."
    ),
    (
        "W tensorflow/core/common_runtime/gpu/gpu_device.cc:2343] Cannot dlopen some GPU libraries."
        " See https://www.tensorflow.org/install/gpu"
    ),
    (
        "torch/nn/modules/module.py:1553: UserWarning: Plan failed (Triggered internally at"
        " ../aten/src/ATen/native/cudnn/Conv.cpp)"
    ),
    "Gehäuse mit eigenem Lüfter, 21 Grad; mesuré à l'été; エッジ",
    "node0 and node1 took 12:34:56 and 00:01:02.500",
    "http://localhost:8080 and 127.0.0.1:6006 and [mpiexec@node0] and 0.0.0.0",
    "https://github.com/pytorch/pytorch/issues/1",
    "git@github.com:acme/edge.git at actions/checkout@v4",
    "https://example.org/home/page",
    "std::vector<int>::at and dead::beef",
    "threading.local() in self.internal",
    "$OUTPUT/log.txt, $DATA/mnist, $HOME/x, <user>@<host>",
    "/usr/lib/python3.11/site-packages/torch/_dynamo/eval_frame.py",
    "/tmp/pytest-0/run and /root",
    "the machine has no serial number that this user can read",
    "GPU-0 of 2, serial execution: 1 thread",
    "3f1cb906b5d12a7c9cf8fc50e006ec65297bd0f1a61cb5b4764d6cd4c3d7805a",
    "a3bae8b9-ed06-4698-a793-a92e0c61ce3b",
    "2026-11-22T12:02:45Z",
    "user time 3.2 s, max 4.5, mean 1.2.3",
)


@pytest.mark.parametrize("text", LEAKS)
def test_what_names_somebody_is_found_and_replaced(text: str) -> None:
    kind, redacted = LEAKS[text]
    assert kind in {found.kind for found in find_names(text)}
    assert redact_by_form(text) == redacted and list(find_names(redacted)) == []


@pytest.mark.parametrize("text", INNOCENT)
def test_what_names_nobody_stays(text: str) -> None:
    assert list(find_names(text)) == []
    assert redact_by_form(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "/" * 50_000,
        "a@" * 30_000,
        "1." * 50_000,
        "0:" * 50_000,
        "serial " * 20_000,
        "x-" * 50_000,
        "http://" * 20_000,
    ],
)
def test_hostile_texts_take_little_time(text: str) -> None:
    redact_by_form(text)


def test_names_of_images_and_words_of_bundles_tell_nothing() -> None:
    assert not any(
        map(
            is_telling,
            (
                "root",
                "pi",
                "pi4",
                "raspberrypi",
                "raspberry-pi-5",
                "rpi5",
                "thor",
                "tegra-ubuntu",
                "max",
                "lenet",
                "gpu-server-2",
                "node0",
                "",
            ),
        )
    )
    assert not is_telling("jo")
    assert all(map(is_telling, ("joe", "janes-pi", "cern-lab7", "zebedee")))


@pytest.fixture
def redactor(tmp_path: Path) -> Redactor:
    """Knows a run in jane's home, and two hosts whose names are the other one's label."""
    folders = (
        (f"{tmp_path}/jane/runs/one", "$OUTPUT"),
        (f"{tmp_path}/jane/data/mnist", "$DATA/mnist"),
        (f"{tmp_path}/jane", "$HOME"),
    )
    return Redactor(folders, (("jane", "<user>"), ("node1", "node0"), ("node0", "node1")))


def test_folders_and_names_are_replaced_once(redactor: Redactor, tmp_path: Path) -> None:
    said = (
        f"{tmp_path}/jane/runs/one/log.txt by Jane_1 on node1, not node0;"
        f" {tmp_path}/jane/data/mnist. janette"
    )
    assert (
        redactor.text(said)
        == "$OUTPUT/log.txt by <user>_1 on node0, not node1; $DATA/mnist. janette"
    )


def test_a_command_has_roots_and_labels(
    redactor: Redactor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jane/runs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "jane")
    words = (
        "/home/jane/.venv/bin/suite run --workload jane --data digits=data/mnist --output=runs/one"
        " --hostfile jane.txt --hostfile=jane.txt --witness http://lab:1 --launch-agent"
        " 'ssh -l jane' --seed=3"
        " --force /mnt/jane/x --nonce 'see https://example.org/a'"
    )
    assert redactor.command(shlex.split(words)) == shlex.split(
        "suite run --workload jane --data digits=$DATA/mnist --output=$OUTPUT"
        " --hostfile $HOSTFILE --hostfile=$HOSTFILE --witness $WITNESS --launch-agent"
        " $AGENT --seed=3"
        " --force $ELSEWHERE/x --nonce 'see https://example.org/a'"
    )
    assert redactor.command(["suite", "sweep", "--output", "runs"])[-1] == "$OUTPUT/.."


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("--output {}/lr=0.1", "--output $HOME/lr=0.1"),
        ("--output=/mnt/alice/lr=0.1", "--output=$ELSEWHERE/lr=0.1"),
        ("--output lr=0.1/one", "--output $HOME/lr=0.1/one"),
        ("--data {}/set=1/mnist", "--data $HOME/set=1/mnist"),
        ("--data digits={}/set=1/mnist", "--data digits=$HOME/set=1/mnist"),
        (
            "--vary data=mnist={0}/usb,mnist=/mnt/ssd/x=1/mnist",
            "--vary data=mnist=$HOME/usb,mnist=$ELSEWHERE/mnist",
        ),
    ],
)
def test_a_folder_with_an_equals_sign_in_its_name_is_one_path(
    typed: str, shown: str, redactor: Redactor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jane").mkdir()
    monkeypatch.chdir(tmp_path / "jane")
    words = typed.format(tmp_path / "jane").split()
    assert redactor.command(["suite", "run", *words])[2:] == shown.split()


def test_what_is_given_comes_before_what_the_machine_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk's root is nobody's folder, and a link is the folder that it leads to."""
    monkeypatch.setenv("HOME", f"{tmp_path}/janet")
    monkeypatch.setenv("SUITE_HOME", f"{tmp_path}/janet/.suite")
    monkeypatch.setattr(redaction, "_user", lambda: "jane")
    monkeypatch.setattr(redaction.platform, "node", lambda: "kitchen.lan")
    users = (("jane", "<user>"), ("janet", "<user>"))
    assert names_of_machine() == (*users, ("kitchen.lan", "<host>"), ("kitchen", "<host>"))
    (tmp_path / "link").symlink_to(tmp_path / "janet")
    given = [(tmp_path / "link/one", "$OUTPUT"), (Path("/"), "$DATA"), (tmp_path / "a", "$DATA")]
    made = machine_redactor([*given, (tmp_path / "a", "$OUTPUT")], [("Kitchen", "node0")])
    said = "{0}/janet/one/a {0}/link/one/b {0}/a {0}/janet/c {0}/janet/.suite/d janet KITCHEN / at"
    assert (
        made.text(said.format(tmp_path))
        == "$OUTPUT/a $OUTPUT/b $DATA $HOME/c $SUITE_HOME/d <user> node0 / at"
    )


def test_a_redactor_is_kept_in_a_file(redactor: Redactor, tmp_path: Path) -> None:
    redactor.write(tmp_path / "private.json")
    assert read_redactor(tmp_path / "private.json") == redactor
    (tmp_path / "private.json").write_text('{"schema": 1, "folders": 5}')
    assert read_redactor(tmp_path / "private.json") is None
    assert read_redactor(tmp_path / "missing.json") is None


@pytest.mark.parametrize("form", name_forms._FORMS, ids=lambda form: form.pattern.pattern[:30])
@settings(
    max_examples=250 if EVERY_CASE else 8, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(data=st.data())
def test_every_match_of_a_form_has_one_of_its_marks(
    form: name_forms._Form, data: st.DataObject
) -> None:
    """Also in letters that only a search without case takes for others, such as the long s."""
    text = data.draw(st.from_regex(form.pattern))
    assert form.may_be_in(text.casefold())
