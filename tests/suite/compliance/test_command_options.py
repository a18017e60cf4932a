"""The rule about the recorded command knows the options of the command line."""

import pytest

from suite.cli.app import command_help, load_command
from suite.compliance.rule import BundleContext
from suite.compliance.rules.run_record import COMMANDS, KNOWN
from tests.checks_alone import found, varied


def test_the_rule_knows_every_option_of_a_run() -> None:
    options = {
        option
        for parameter in load_command("run").params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert set(KNOWN) == options | {"--help"}


def test_the_rule_names_commands_that_there_are() -> None:
    assert set(COMMANDS) <= set(command_help())


def test_a_stall_analysis_has_runs_of_the_open_division(context: BundleContext) -> None:
    typed = ("suite", "run", "--division", "closed", "--workload", "lenet")

    def divisions(*more: str) -> list[str]:
        run = {"command": (*typed, *more)}
        given = found("command-agrees", varied(context, request={"division": "open"}, run=run))
        return [each.observed for each in given if each.expected.startswith("division")]

    assert (divisions(), divisions("--stall-analysis")) == (["'open'"], [])


@pytest.mark.parametrize(
    ("words", "is_found"),
    [
        (("suite", "run"), True),
        (("/venv/bin/suite", "run"), True),
        (("-m", "run"), True),
        (("experiment.py", "run"), False),
        (("suite", "reproduce", "run"), False),
    ],
)
def test_only_the_options_of_the_suite_s_own_run_are_compared(
    words: tuple[str, ...], is_found: bool, context: BundleContext
) -> None:
    """Of a program that calls `suite.api.run`, they may mean something else."""
    made = varied(context, run={"command": (*words, "--seed", "77", "--gpus", "0")})
    for check, expected in (("command-agrees", "seed"), ("command-runs", "only options")):
        given = [each for each in found(check, made) if each.expected.startswith(expected)]
        assert bool(given) is is_found


@pytest.mark.parametrize(
    ("typed", "is_found"),
    [(".", False), ("link", False), ("mnist", False), ("digits", True), ("synthetic", True)],
)
def test_a_word_that_names_none_of_the_workload_s_data_sets_was_a_folder(
    typed: str, is_found: bool, context: BundleContext
) -> None:
    """The request has the folder that a link or "." leads to."""
    made = varied(context, run={"command": ("suite", "run", "--data", typed)})
    assert bool(found("command-agrees", made)) is is_found
