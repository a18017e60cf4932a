"""A model that looks at stored frames, and the files of frames. Needs NumPy and Pillow, as the
camera does."""

from typing import Any, Callable, Iterator, List, Sequence, Tuple

import numpy as np

from reference_impls.communication import World
from reference_impls.contract import Batch, ContractError, Request
from reference_impls.data.pipelines import ReaderPipeline

from .camera import as_pixels
from .task import Task, view_path

CHUNK = 32
"""Frames of an inference."""


class Watcher:
    """A model of an implementation, and how it reads frames: ``side`` is that of its input
    pictures."""

    def __init__(self, request: Request, build: Callable[..., Any], side: int) -> None:
        try:
            built = build(request, World())
        except KeyError as error:
            raise ContractError(
                "there is no model {} in {}; choose another --framework.".format(
                    error, request.framework
                )
            ) from error
        if not isinstance(built.pipeline, ReaderPipeline):
            raise ContractError(
                "the framework {} has its own data pipeline and cannot read frames; choose another"
                " --framework.".format(request.framework)
            )
        self.implementation, self.parameters = built.implementation, int(built.facts["parameters"])
        self._normalise, self.side = built.pipeline.normalisation(from_channels_last=True), side

    def to_device(self, frames: Sequence[bytes], labels: Sequence[int]) -> Any:
        """A mini-batch of JPEG files."""
        pixels = np.stack([as_pixels(frame, self.side) for frame in frames])
        return self.implementation.to_device(
            Batch(self._normalise(pixels), np.array(labels, np.int64))
        )

    def judge(self, frames: Sequence[bytes]) -> List[Tuple[int, float]]:
        """The class of every frame, and its probability."""
        probabilities = self.implementation.probabilities(self.to_device(frames, [0] * len(frames)))
        return [(int(row.argmax()), float(row.max())) for row in probabilities]


def read_file(path: str) -> bytes:
    """A file's content."""
    with open(path, "rb") as stream:
        return stream.read()


def chunks(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """Parts of ``size`` items, the last one smaller."""
    return (items[start : start + size] for start in range(0, len(items), size))


def predictions(
    watcher: Watcher, task: Task, truths: Sequence[int]
) -> Iterator[Tuple[int, int, int, int]]:
    """Rows of task.PREDICTIONS: what the model says about every tested picture at every view;
    ``truths`` by place."""
    for view_deg in task.views_deg:
        for places in chunks(range(len(truths)), CHUNK):
            found = watcher.judge([read_file(view_path(task, view_deg, place)) for place in places])
            yield from (
                (view_deg, place, truths[place], predicted)
                for place, (predicted, _) in zip(places, found)
            )
