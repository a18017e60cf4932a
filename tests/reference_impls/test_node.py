"""What a node says of itself."""

import subprocess
from pathlib import Path

import pytest

from reference_impls import node


def interface(root: Path, name: str, speed: str | None, *entries: str) -> Path:
    folder = root / "sys/class/net" / name
    for entry in entries:
        (folder / entry).mkdir(parents=True)
    folder.mkdir(parents=True, exist_ok=True)
    if speed is not None:
        (folder / "speed").write_text(speed)
    return root


@pytest.mark.parametrize(
    ("speed", "entries", "kind", "expected"),
    [
        ("1000\n", ("device",), "wired", 1000),
        ("-1\n", ("device",), "wired", None),
        (None, ("device", "wireless"), "wireless", None),
        ("10000\n", (), "virtual", 10000),
    ],
)
def test_an_interface_is_described_from_sysfs(
    tmp_path: Path, speed: str | None, entries: tuple[str, ...], kind: str, expected: int | None
) -> None:
    found = node.describe_interface("eth0", str(interface(tmp_path, "eth0", speed, *entries)))
    assert (found["kind"], found["speed_mbit_s"]) == (kind, expected)
    assert (found["reason"] is None) == (expected is not None)


def test_the_route_to_this_machine_is_its_loopback() -> None:
    found = node.link_towards("127.0.0.1")
    assert (found["interface"], found["address"]) == ("lo", "127.0.0.1")


def test_a_peer_that_does_not_exist_leaves_the_link_unknown() -> None:
    found = node.link_towards("no-such-host.invalid")
    assert found["interface"] is None
    assert "no-such-host.invalid" in found["reason"]


def test_data_of_the_same_size_with_another_content_have_another_digest(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for folder, content in ((first, "abc"), (second, "abd")):
        folder.mkdir()
        (folder / "labels").write_text(content)
    assert node.data_digest(str(first)) != node.data_digest(str(second))
    (second / "labels").write_text("abc")
    assert node.data_digest(str(first)) == node.data_digest(str(second))
    assert node.data_digest(str(tmp_path / "none")) is None


def test_the_source_digest_changes_with_any_source_and_not_with_what_python_leaves(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "reference_impls"
    folder.mkdir()
    (folder / "loop.py").write_text("step()\n")
    before = node.source_digest(node.source_files(str(tmp_path)))
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "loop.pyc").write_bytes(b"x")
    assert node.source_digest(node.source_files(str(tmp_path))) == before
    (folder / "loop.py").write_text("step()  # twice\n")
    assert node.source_digest(node.source_files(str(tmp_path))) != before


def test_a_changed_checkout_is_marked(tmp_path: Path) -> None:
    assert node.git_state(str(tmp_path)) is None
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    (tmp_path / "file").write_text("one")
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "one"]):
        subprocess.run([*git, *words], check=True)
    commit = node.git_state(str(tmp_path))
    assert commit is not None
    assert len(commit) == 40
    (tmp_path / "file").write_text("two")
    assert node.git_state(str(tmp_path)) == commit + "+"
