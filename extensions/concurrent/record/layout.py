"""Names of the folders and files of an experiment: one measurement per folder
(suite.extensions.concurrent.record.records), figures and a manifest."""

from pathlib import Path

FIGURES, MEASUREMENT = "beside.json", "measurement.json"


def training_alone(output: Path) -> Path:
    """The folder of the training's baseline."""
    return output / "training-alone"


def inference_alone(output: Path, batch: int) -> Path:
    """The folder of the inference's baseline."""
    return output / f"inference-alone-b{batch}"


def beside(output: Path, batch: int) -> Path:
    """The folder of both sides' measurement."""
    return output / f"beside-b{batch}"


def batch_sizes(output: Path) -> list[int]:
    """The batch sizes of an experiment, in ascending order."""
    names = [
        path.name.removeprefix("beside-b")
        for path in output.glob("beside-b*")
        if not path.is_symlink() and path.is_dir()
    ]
    return sorted(int(name) for name in names if name.isdecimal() and len(name) < 10)
