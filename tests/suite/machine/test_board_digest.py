"""The digest of a board's serial number: equal on one board, different on two, of no use without
the key."""

import errno
import os
import stat
from pathlib import Path

import pytest

from suite.machine.board_digest import KEY, board_digest

TREE = "proc/device-tree/serial-number"


def machine(root: Path, **serial_numbers: str) -> Path:
    """A machine with these serial numbers: tree, uuid, board, machine (the installation's)."""
    places = {
        "tree": TREE,
        "uuid": "sys/class/dmi/id/product_uuid",
        "board": "sys/class/dmi/id/board_serial",
        "machine": "etc/machine-id",
    }
    for name, number in serial_numbers.items():
        path = root / places[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(number)
    return root


def test_one_board_has_one_digest_and_another_board_another(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first, second = (
        machine(tmp_path / "a", tree="100000001\0"),
        machine(tmp_path / "b", tree="100000002\0"),
    )
    assert board_digest(first, home) == board_digest(first, home)
    assert board_digest(first, home).digest != board_digest(second, home).digest
    assert len(str(board_digest(first, home).digest)) == 16


def test_another_key_gives_another_digest(tmp_path: Path) -> None:
    """Somebody who knows the serial number cannot compute the digest."""
    board = machine(tmp_path / "a", tree="100000001\0")
    assert (
        board_digest(board, tmp_path / "home").digest
        != board_digest(board, tmp_path / "other").digest
    )


def test_the_key_is_its_owner_s_and_holds_no_serial_number(tmp_path: Path) -> None:
    board_digest(machine(tmp_path / "a", tree="100000001\0"), tmp_path / "home")
    (key,) = (tmp_path / "home").iterdir()
    assert (
        key.name == KEY
        and stat.S_IMODE(key.stat().st_mode) == 0o600
        and b"100000001" not in key.read_bytes()
    )


def test_copies_of_one_card_are_two_boards(tmp_path: Path) -> None:
    """The key is copied with the card, the boards' own numbers are not."""
    first = machine(tmp_path / "a", tree="100000001", machine="f" * 16 + "0" * 16)
    second = machine(tmp_path / "b", tree="100000002", machine="f" * 16 + "0" * 16)
    assert (
        board_digest(first, tmp_path / "home").digest
        != board_digest(second, tmp_path / "home").digest
    )


@pytest.mark.parametrize(
    "placeholder",
    [
        "Default string",
        "To be filled by O.E.M.",
        "0",
        "00000000-0000-0000-0000-000000000000",
        "None",
        "xxxxxxxx",
        "03000200-0400-0500-0006-000700080009",
        "System Serial Number",
        " ",
        "Not Specified",
        "00020003-0004-0005-0006-000700080009",
        "12345678-1234-5678-90AB-CDDEEFAABBCC",
        "0123456789",
        "123456789",
        "0123456789ABCDEF",
        "N/A",
        "Not Applicable",
        "INVALID",
    ],
)
def test_a_placeholder_is_no_serial_number(placeholder: str, tmp_path: Path) -> None:
    found = board_digest(
        machine(tmp_path / "a", uuid=placeholder, board="PF2ABCDE", machine="4b0d" * 8),
        tmp_path / "home",
    )
    assert found.source == "/sys/class/dmi/id/board_serial"


def test_the_installation_is_the_last_resort(tmp_path: Path) -> None:
    assert (
        board_digest(machine(tmp_path / "a", machine="4b0d" * 8), tmp_path / "home").source
        == "/etc/machine-id"
    )
    nothing = board_digest(tmp_path / "b", tmp_path / "home")
    assert nothing.digest is None and nothing.reason is not None


def test_the_key_is_kept_on_a_file_system_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A USB stick's, for instance."""

    def link(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    board, home = machine(tmp_path / "a", tree="100000001"), tmp_path / "home"
    assert board_digest(board, home).digest == board_digest(board, home).digest is not None
    assert [file.name for file in home.iterdir()] == [KEY]


def test_a_damaged_key_is_made_anew_and_a_folder_that_cannot_be_written_is_a_reason(
    tmp_path: Path,
) -> None:
    board = machine(tmp_path / "a", tree="100000001")
    home = tmp_path / "home"
    home.mkdir()
    (home / KEY).write_text("short")
    assert board_digest(board, home).digest == board_digest(board, home).digest is not None
    (tmp_path / "file").write_text("")
    refused = board_digest(board, tmp_path / "file")
    assert refused.digest is None and "cannot be saved" in (refused.reason or "")
