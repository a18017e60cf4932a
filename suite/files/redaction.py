"""What could name a person or a network in a text, by what one machine knows: its folders, its user
and its hosts.

A :class:`Redactor` replaces them before a file is written, and what suite.files.name_forms finds by
its form; what it has replaced is found no more.
"""

import getpass
import platform
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.errors import FileError
from suite.files.json_file import read_record, write_json
from suite.files.name_forms import HOME, HOST, USER, is_telling, redact_by_form
from suite.files.paths import repository_root, suite_home

SCHEMA = 1
OUTPUT, DATA, IMPLEMENTATION = "$OUTPUT", "$DATA", "$IMPLEMENTATION"
SUITE_HOME, SUITE = "$SUITE_HOME", "$SUITE"
HOSTFILE, AGENT, WITNESS, ELSEWHERE = "$HOSTFILE", "$AGENT", "$WITNESS", "$ELSEWHERE"
ROOTS: Mapping[str, str] = {
    OUTPUT: "the run directory",
    DATA: "the folder that contains the data set's folder",
    IMPLEMENTATION: "the folder of an implementation outside the checkout",
    SUITE_HOME: "the suite's folder for data sets and environments",
    SUITE: "the suite: its checkout, or where it is installed",
    HOME: "a person's home folder",
    HOSTFILE: "the file given to --hostfile",
    AGENT: "the program given to --launch-agent",
    WITNESS: "the address given to --witness",
    ELSEWHERE: "any other folder; only the last part of the path is kept",
}
"""What the paths of a bundle are relative to."""


def names_of_machine() -> tuple[tuple[str, str], ...]:
    """Telling names of this user and this host, each with what replaces it."""
    found = [(user, USER) for user in sorted({_user(), Path.home().name})]
    host = platform.node()
    found += [(name, HOST) for name in dict.fromkeys((host, host.split(".")[0]))]
    return tuple((name, replacement) for name, replacement in found if is_telling(name))


@dataclass(frozen=True)
class Redactor:
    """Replaces what it knows, folders (longest first) and names, then what is found by form.
    ``folders`` and ``names`` are (text, replacement)."""

    folders: tuple[tuple[str, str], ...]
    names: tuple[tuple[str, str], ...]
    _known: "re.Pattern[str] | None" = field(init=False, repr=False, compare=False)
    _replacements: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Compile one pattern of everything known, so that nothing is replaced twice."""
        texts = sorted({text for text, _ in self.folders}, key=len, reverse=True)
        paths = [
            rf"(?:(?<![\w.~$}}-])|(?<=-[A-Z])){re.escape(text)}(?![\w-]|\.\w)" for text in texts
        ]
        words = [
            rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])"
            for name, _ in sorted(self.names, key=lambda each: -len(each[0]))
        ]
        replacements = {
            name.lower(): replacement for name, replacement in reversed(self.names)
        } | dict(reversed(self.folders))
        object.__setattr__(
            self,
            "_known",
            (
                re.compile("|".join([*paths, *(f"(?i:{word})" for word in words)]))
                if paths or words
                else None
            ),
        )
        object.__setattr__(self, "_replacements", replacements)

    def text(self, content: str) -> str:
        """The text without what is known and what is found by form."""
        if self._known is not None:
            content = self._known.sub(self._replaced, content)
        return redact_by_form(content)

    def value(self, plain: Any) -> Any:
        """JSON values with every text redacted; keys stay."""
        if isinstance(plain, str):
            return self.text(plain)
        if isinstance(plain, Mapping):
            return {key: self.value(each) for key, each in plain.items()}
        return [self.value(each) for each in plain] if isinstance(plain, list | tuple) else plain

    def path(self, typed: str) -> str:
        """A path as somebody typed it, relative to a root; one that is below none keeps its last
        part."""
        place, known = Path(typed).expanduser().absolute(), dict(self.folders)
        output = next(
            (
                folder
                for folder, root in self.folders
                if root == OUTPUT and Path(folder).is_relative_to(place)
            ),
            None,
        )
        if str(place) not in known and output is not None:
            return "/".join([OUTPUT, *[".."] * len(Path(output).relative_to(place).parts)])
        for candidate in (place, _resolved(place)):
            text = self.text(str(candidate))
            if text.startswith(tuple(ROOTS)):
                return text
        return f"{ELSEWHERE}/{self.text(place.name)}"

    def command(self, words: Sequence[str]) -> list[str]:
        """A command line: the program without its folder, paths relative to roots, labels in place
        of hosts' files, agents and witnesses."""
        redacted, option = [Path(words[0]).name] if words else [], ""
        for word in words[1:]:
            name, has_value, value = (
                word.partition("=") if word.startswith("--") else (option, "", word)
            )
            shown = self._option(name, value)
            redacted.append(
                f"{name}={shown}" if has_value else shown if not word.startswith("--") else word
            )
            option = word if word.startswith("--") else ""
        return redacted

    def _option(self, option: str, value: str) -> str:
        """The value of an option, or a word that belongs to none."""
        if option in _LABELLED:
            return _LABELLED[option]
        if option == "--vary":  # values in a list
            return ",".join(self._option("", each) for each in value.split(","))
        folder = value if option in _PATHS else _NAMES.sub("", value)
        if option in _PATHS or "/" in folder or folder.startswith("~"):
            named = value.removesuffix(folder)
            return f"{named}{self.path(folder)}" if "://" not in folder else self.text(value)
        return redact_by_form(value)

    def _replaced(self, found: "re.Match[str]") -> str:
        return self._replacements.get(found[0]) or self._replacements[found[0].lower()]

    def write(self, path: Path) -> None:
        """Keep what is known in a file; it names everybody, and must not outlive the run
        directory's closing."""
        write_json(
            path,
            {
                "schema": SCHEMA,
                "folders": [list(each) for each in self.folders],
                "names": [list(each) for each in self.names],
            },
        )


_LABELLED = {"--hostfile": HOSTFILE, "--launch-agent": AGENT, "--witness": WITNESS}
_PATHS = ("--output", "--implementation")
_NAMES = re.compile(r"^(?:[^/=]+=)+")
"""What stands before a folder, as in --data NAME=DIR and --vary data=NAME=DIR."""


def read_redactor(path: Path) -> Redactor | None:
    """The redactor kept in a file; None where there is none that can be read."""
    with suppress(FileError, KeyError, TypeError, ValueError):
        values = read_record(path, SCHEMA)
        folders, names = (
            tuple((str(text), str(replacement)) for text, replacement in values[key])
            for key in ("folders", "names")
        )
        return Redactor(folders, names)
    return None


def machine_redactor(
    folders: Sequence[tuple[Path, str]] = (), names: Sequence[tuple[str, str]] = ()
) -> Redactor:
    """A redactor for this machine and user; ``folders`` and ``names`` come first. The disk's root
    is no folder of anybody."""
    own = ((suite_home(), SUITE_HOME), (repository_root(), SUITE), (Path.home(), HOME))
    found = [
        (str(place), root)
        for folder, root in (*folders, *own)
        for place in (folder.absolute(), _resolved(folder))
        if len(place.parts) > 1
    ]
    whole = dict(reversed(found))
    # a name is replaced in whatever case it is written
    first = {each[0].lower(): each for each in reversed([*names, *names_of_machine()])}
    return Redactor(
        tuple(sorted(whole.items(), key=lambda each: -len(each[0]))), tuple(first.values())
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no entry in the list of users
        return ""


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # a circle of links
        return path.absolute()
