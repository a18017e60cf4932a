"""The rule about the recorded command knows the options of the command line."""

from suite.cli.app import command_help, load_command
from suite.compliance.rules.run_record import COMMANDS, KNOWN


def test_the_rule_knows_every_option_of_a_run() -> None:
    options = {
        option
        for parameter in load_command("run").params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert set(KNOWN) == options | {"--help"}


def test_the_rule_names_commands_that_there_are() -> None:
    assert set(COMMANDS) <= set(command_help())
