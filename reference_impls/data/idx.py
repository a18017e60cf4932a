"""IDX files (MNIST's format) without NumPy. Standard library only."""

import os
import struct
from typing import NamedTuple, Tuple

from reference_impls.contract import ContractError

UNSIGNED_BYTE = 0x08


class IdxHeader(NamedTuple):
    """The header of an IDX file: array shape and offset of the data."""

    shape: Tuple[int, ...]
    offset_bytes: int


def read_header(path: str) -> IdxHeader:
    """Read the header of an IDX file of unsigned bytes and check it against the file's size.

    Raises ContractError naming the file, the expected value and the value found.
    """
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as stream:
            magic = stream.read(4)
            if len(magic) < 4 or magic[:3] != bytes([0, 0, UNSIGNED_BYTE]):
                raise ContractError(
                    "{}: not an IDX file of unsigned bytes (it begins with {}).".format(
                        path, magic.hex() or "nothing"
                    )
                )
            raw = stream.read(4 * magic[3])
    except OSError as error:
        raise ContractError(
            "{}: {}; prepare the data set with `suite data prepare`.".format(path, error.strerror)
        ) from error
    if len(raw) < 4 * magic[3]:
        raise ContractError(
            "{}: the IDX header is truncated at {} bytes.".format(path, 4 + len(raw))
        )
    shape = struct.unpack(">{}I".format(magic[3]), raw)
    count = 1
    for length in shape:
        count *= length
    offset = 4 + len(raw)
    if size != offset + count:
        raise ContractError(
            "{}: expected {} bytes, found {};"
            " prepare the data set again with `suite data prepare`.".format(
                path, offset + count, size
            )
        )
    return IdxHeader(tuple(shape), offset)
