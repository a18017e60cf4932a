"""From files to what is known of a board: its modes, the profiled ones, a fitted model and its
prediction of every mode."""

from collections.abc import Sequence
from pathlib import Path

from suite.errors import SuiteError
from suite.extensions.prediction.record.answers import Known, know
from suite.extensions.prediction.record.models import fit
from suite.extensions.prediction.record.modes import Modes, read_grid
from suite.extensions.prediction.record.table import Profile, read_table
from suite.files.paths import rules_folder


def modes_of(grid: str | Path) -> Modes:
    """The modes of a TOML file of axes, or of a file in ``rules/mode_grids`` by its name."""
    folder = rules_folder() / "mode_grids"
    names = sorted(path.stem for path in folder.glob("*.toml"))
    if str(grid) in names:
        return read_grid(folder / f"{grid}.toml")
    if not Path(grid).is_file():
        raise SuiteError(
            f"There is no grid {str(grid)!r}",
            f"give a TOML file of axes, or one of {', '.join(names)}",
        )
    return read_grid(Path(grid))


def known_of(
    path: Path,
    grid: str | Path | None = None,
    model: str = "physical",
    others: Sequence[Path] = (),
    seed: int = 0,
) -> tuple[Known, Profile]:
    """Fit a model to a table and predict the modes of the grid (without one: those that the table
    names)."""
    table = read_table(path)
    modes = table.modes if grid is None else modes_of(grid)
    if modes.names != table.profile.names:
        problem = (
            f"The grid has the resources {', '.join(modes.names)}, and {path} has"
            f" {', '.join(table.profile.names)}"
        )
        raise SuiteError(problem, "use the same columns, in the same order")
    modes = modes.with_rows(table.profile.rows)
    predictor = fit(
        model, modes, table.profile, [read_table(other).profile for other in others], seed
    )
    return know(modes, modes.indices(table.profile.rows).tolist(), predictor), table.profile
