"""Tables for a narrow terminal, a wide one, and a pipe; help texts of a narrow one."""

import pytest
from typer.testing import CliRunner

from suite.cli.app import app, load_command
from suite.cli.tables import show_table

ROWS = [
    {"name": "mobilenetv3", "title": "MobileNetV3 on CIFAR-10", "epochs": "90", "parameters": "1"},
    {"name": "lenet", "title": "LeNet-5 on MNIST", "epochs": "10", "parameters": "61706"},
]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):  # type: ignore[no-untyped-def]
    def show(columns: int, **keep: int) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        show_table(ROWS, **keep)
        return capsys.readouterr().out

    return show


def test_a_narrow_terminal_gets_whole_names_and_is_told_which_columns_it_lacks(shown) -> None:  # type: ignore[no-untyped-def]
    said = shown(80)
    assert "61706" in said and "Left out" not in said
    for columns, left_out in ((60, "parameters"), (48, "epochs, parameters")):
        said = shown(columns)
        assert f"Left out: {left_out}; a wider terminal or --json shows them." in said
        assert "mobilenetv3" in said and "…" not in said
        assert all(len(line) <= columns for line in said.splitlines() if "│" in line)


def test_where_the_columns_that_are_needed_have_no_room_each_row_is_a_list(shown) -> None:  # type: ignore[no-untyped-def]
    said = shown(30, keep=4)
    assert said.startswith("mobilenetv3\n  title: MobileNetV3 on CIFAR-10\n  epochs: 90\n")
    assert "Left out" not in said


def test_a_pipe_gets_a_line_for_each_row_and_no_frame(capsys: pytest.CaptureFixture[str]) -> None:
    show_table(ROWS)
    assert capsys.readouterr().out == (
        "name         title                    epochs  parameters\n"
        "mobilenetv3  MobileNetV3 on CIFAR-10  90      1\n"
        "lenet        LeNet-5 on MNIST         10      61706\n"
    )


@pytest.mark.parametrize("columns", [40, 60, 72, 80])
def test_names_of_options_are_whole_however_narrow_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for name in ("run", "sweep", "check"):
        said = CliRunner().invoke(app, [name, "--help"]).output
        for parameter in load_command(name).params:
            if parameter.param_type_name == "option":
                assert parameter.opts[0] in said
