"""The reference of the command line, from the program itself."""

from collections.abc import Iterator
from typing import Any

from suite.cli.app import command_help, load_command
from suite.files.generated import markdown_table


def command_reference() -> str:
    """A section for each command and subcommand: usage, what it does, arguments and options."""
    sections = "".join(
        "\n".join(_section(name, load_command(name))) for name in sorted(command_help())
    )
    intro = (
        "Generated from `suite --help` and the help of each command. Exit codes: 0 done, 1 does "
        "not comply, 2 error."
    )
    return f"# Commands\n\n{intro}\n\n{sections}"


def _section(path: str, command: Any) -> Iterator[str]:
    yield f"## suite {path}\n"
    yield f"{_help_text(command.help)}\n"
    children = getattr(command, "commands", None)
    if children:
        for name, child in sorted(children.items()):
            if not child.hidden:
                yield from _section(f"{path} {name}", child)
        return
    parameters = [each for each in command.params if not getattr(each, "hidden", False)]
    arguments = [each for each in parameters if each.param_type_name == "argument"]
    words = " ".join(_names(each) + ("…" if each.nargs == -1 else "") for each in arguments)
    yield f"```sh\nsuite {path}{' ' + words if words else ''} [OPTIONS]\n```\n"
    yield f"{_help_text(command.epilog)}\n"
    rows = [
        (f"`{_names(each)}`", _help_text(getattr(each, "help", "") or ""), _default(each))
        for each in parameters
    ]
    yield f"{markdown_table(('argument or option', 'meaning', 'default'), rows)}\n"


def _names(parameter: Any) -> str:
    """How it is written; with the attributes alone that every version of Typer has."""
    value = (parameter.metavar or str(parameter.name)).upper()
    if parameter.param_type_name == "argument":
        return value
    return ", ".join((*parameter.opts, *parameter.secondary_opts)) + (
        "" if parameter.is_flag else f" {value}"
    )


def _value(choice: Any) -> str:
    return str(getattr(choice, "value", choice))


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.required:
        return "required"
    if value is None or value is False or callable(value) or value == () or value == []:
        return ""
    return f"`{_value(value)}`"


def _help_text(text: str | None) -> str:
    return " ".join((text or "").split()).replace("<", "&lt;").replace("*", "\\*")
