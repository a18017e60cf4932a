"""Reads TOML files into frozen classes."""

import sys
from pathlib import Path
from typing import Any, TypeVar

from suite.errors import SuiteError
from suite.files.schema import from_plain

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Kind = TypeVar("Kind")


def read_toml(path: Path, kind: type[Kind]) -> Kind:
    """The file's content as an instance of the dataclass ``kind``.

    An absent key takes the field's default. Raises SuiteError for a file that cannot be read, and
    as :func:`from_plain`.
    """
    return from_plain(read_table(path), kind, f"{path}: ")


def read_table(path: Path) -> dict[str, Any]:
    """The file's content as it is; raises SuiteError for a file that cannot be read, or is not
    TOML."""
    try:
        return dict(tomllib.loads(path.read_text(encoding="utf-8-sig")))
    except OSError as error:
        raise SuiteError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeError as error:
        raise SuiteError(f"{path} is not in UTF-8; save it as UTF-8.") from error
    except tomllib.TOMLDecodeError as error:
        raise SuiteError(f"{path} is not valid TOML: {error}.") from error
