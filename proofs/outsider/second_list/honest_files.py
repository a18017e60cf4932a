"""Honest treatments of real bundles and submissions that change no record: `python -m
proofs.outsider.second_list.honest_files SAMPLES`."""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from proofs.outsider.second_list.trial import judged
from tests.open_round import OPEN
from tests.relabelled import relabelled


def modes_of_windows(path: Path) -> None:
    """Every file may be executed, as from a file system without modes."""
    for file in path.rglob("*"):
        file.chmod(0o777)


def read_only(path: Path) -> None:
    """Every file is read-only."""
    for file in path.rglob("*"):
        if file.is_file():
            file.chmod(0o400)


def checked_out(path: Path) -> None:
    """Committed to git and checked out again, with another umask."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.autocrlf=false"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "results"]):
        subprocess.run([*git, *arguments], cwd=path, check=True)
    subprocess.run(["sh", "-c", "umask 077; git clone -q . ../clone"], cwd=path, check=True)
    shutil.rmtree(path)
    (path.parent / "clone").rename(path)
    shutil.rmtree(path / ".git")


def zipped(path: Path) -> None:
    """Zipped and unzipped: other times and modes."""
    archive = path.parent / "results.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for file in path.rglob("*"):
            packed.write(file, file.relative_to(path))
    shutil.rmtree(path)
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(path)


def declaration_by_mail(path: Path) -> None:
    """The declaration has Windows line ends."""
    _crlf(path / "declaration.json")


def verdict_by_mail(path: Path) -> None:
    """The verdict has Windows line ends."""
    _crlf(path / "probes/lenet-pytorch.json")


def system_by_mail(path: Path) -> None:
    """The submission's system.json has Windows line ends and a blank line at its end."""
    _crlf(path / "system.json")


def withdrawn_by_mail(path: Path) -> None:
    """Run 2 is withdrawn by a file with Windows line ends and a byte order mark."""
    (path / "lenet/pytorch/run_2.WITHDRAWN").write_bytes(b"\xef\xbb\xbfThe fan stood still.\r\n")


def notes_in_another_script(path: Path) -> None:
    """Notes in Greek and Japanese."""
    file = path / "declaration.json"
    file.write_text(
        file.read_text("utf-8").replace(
            "a shared virtual machine", "Ψύξη: ανεμιστήρας — 冷却ファン付き 🌀"
        ),
        "utf-8",
    )


def notes_with_line_ends(path: Path) -> None:
    """Notes of two lines."""
    file = path / "declaration.json"
    file.write_text(
        file.read_text("utf-8").replace(
            "a shared virtual machine", "heatsink\\r\\nfan at full speed"
        ),
        "utf-8",
    )


def _crlf(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n") + b"\r\n")


BUNDLES: tuple[Callable[[Path], None], ...] = (modes_of_windows, read_only, checked_out, zipped)
SUBMISSIONS = (
    *BUNDLES,
    declaration_by_mail,
    verdict_by_mail,
    system_by_mail,
    withdrawn_by_mail,
    notes_in_another_script,
    notes_with_line_ends,
)


def main(samples: Path) -> None:
    """Try all of them, one line each."""
    for name, treatments in (("closed-0", BUNDLES), ("submission/second", SUBMISSIONS)):
        for treat in treatments:
            with tempfile.TemporaryDirectory() as folder:
                target = (
                    Path(folder)
                    / (f"case/{OPEN}" if name.startswith("submission") else "case")
                    / Path(name).name
                )
                relabelled(samples / name, target)
                treat(target)
                result = judged(target)
                print(
                    f"{result['outcome']:22}{name:20}{treat.__name__:28}{' '.join(result.get('invalid', []))}{result.get('error', '')}",  # noqa: E501
                    flush=True,
                )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
