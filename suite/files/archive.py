"""A folder as one file, a submission or a run: written reproducibly, read as hostile input.

The archive is a plain tar: bundles hold compressed tables, and a compressor's version would change
the bytes.
"""

import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from suite.errors import SuiteError
from suite.files.durable import DISK_FULL
from suite.files.tree import MAX_BYTES, MAX_FILES, paths_below

MAX_DEPTH = 12
COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
"""How compressed files begin; they may be bombs."""


def pack_archive(directory: Path, target: Path, *, base: Path) -> Path:
    """Write every plain file below ``directory`` into the new tar ``target``, named relative to
    ``base``; the same input gives the same bytes.

    Members are sorted and carry no times and owners. Raises SuiteError for a link or anything else
    that is no file or folder. What fails or is interrupted leaves no file behind.
    """
    target.touch(exist_ok=False)
    try:
        with (
            target.open("wb") as stream,
            tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in paths_below(directory):
                if path.is_symlink() or not (path.is_file() or path.is_dir()):
                    raise SuiteError(f"{path} is neither a file nor a folder; remove it.")
                if path.is_file():
                    add_file(archive, path, path.relative_to(base).as_posix())
    except BaseException:
        target.unlink()
        raise
    return target


def add_file(archive: tarfile.TarFile, path: Path, name: str) -> None:
    """Add a file under this name, without its times and owner."""
    member = tarfile.TarInfo(name)
    member.size, member.mode, member.mtime = path.stat().st_size, 0o644, 0
    with path.open("rb") as content:
        archive.addfile(member, content)


def unpack_archive(path: Path, directory: Path) -> None:
    """Write an archive's plain files below ``directory``, which must be empty.

    Raises SuiteError, before anything more is written, for a member that is not a plain file or
    folder, for a name that leads out of ``directory`` or occurs twice, and for more than MAX_FILES
    files, MAX_BYTES bytes or MAX_DEPTH nested folders.
    """
    _refuse_compressed(path)
    try:
        if not tarfile.is_tarfile(path):
            raise SuiteError(
                f"{path} is neither a folder nor a tar archive",
                "give a run directory, a submission or its archive",
            )
        # plain tar only: a compressed archive may be a bomb
        with tarfile.open(path, "r:") as archive:
            written, seen = 0, set()
            for count, member in enumerate(_members(archive, path)):
                name = _safe_name(member, path)
                written += member.size
                if count >= MAX_FILES or written > MAX_BYTES:
                    raise SuiteError(
                        f"{path} holds more than {MAX_FILES} files or {MAX_BYTES // 2**20} MiB;"
                        " unpacking stopped."
                    )
                if name in seen:
                    raise SuiteError(f"{path} holds {name} twice; unpacking stopped.")
                seen.add(name)
                _write_member(archive, member, directory / name)
            _require_end(archive, path)
    except (tarfile.TarError, EOFError, OSError, ValueError, OverflowError) as error:
        if getattr(error, "errno", None) in DISK_FULL:
            raise SuiteError(
                f"The disk is full: {path} could not be unpacked into {directory}",
                "free some space there, or unpack it on another disk",
            ) from error
        raise SuiteError(
            f"{path} is not a whole tar archive ({str(error)[:200]}); pack it again."
        ) from error


def _refuse_compressed(path: Path) -> None:
    with path.open("rb") as stream:
        head = stream.read(max(map(len, COMPRESSED)))
    for start, name in COMPRESSED.items():
        if head.startswith(start):
            raise SuiteError(
                f"{path} is compressed with {name}; only plain tar archives are read. Decompress"
                " it, or unpack it, and try again."
            )


def _members(archive: tarfile.TarFile, path: Path) -> Iterator[tarfile.TarInfo]:
    """The plain files; folders follow from their names."""
    for member in archive:
        if member.isdir():
            continue
        if not member.isreg() or member.issparse():
            raise SuiteError(
                f"{path} holds {member.name[:100]!r}, which is not a plain file; unpacking stopped."
            )
        yield member


def _require_end(archive: tarfile.TarFile, path: Path) -> None:
    """Raise ReadError unless two empty blocks end the archive: tarfile accepts an archive cut off
    between two members."""
    with path.open("rb") as stream:
        stream.seek(archive.offset)
        if stream.read(2 * tarfile.BLOCKSIZE) != bytes(2 * tarfile.BLOCKSIZE):
            raise tarfile.ReadError("its end is missing")


def _safe_name(member: tarfile.TarInfo, path: Path) -> PurePosixPath:
    name = PurePosixPath(member.name)
    is_unsafe = (
        name.is_absolute()
        or ".." in name.parts
        or "\0" in member.name
        or "\\" in member.name
        or len(name.parts) > MAX_DEPTH
        or not name.parts
    )
    if is_unsafe:
        raise SuiteError(
            f"{path} holds a file named {member.name[:100]!r}, which leads out of the folder;"
            " unpacking stopped."
        )
    return name


def _write_member(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    content = archive.extractfile(member)
    assert content is not None  # it is a plain file
    with content, target.open("xb") as out:
        shutil.copyfileobj(content, out)
