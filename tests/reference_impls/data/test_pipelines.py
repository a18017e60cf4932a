"""Mini-batches: every sample once, in the seed's order; the same image from every process and in
every mini-batch."""

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from reference_impls.contract import ContractError, DataSet, Loading, Preprocessing, Request
from reference_impls.data.cifar10 import scaled
from reference_impls.data.photographs import ImageFolderReader, central_crop, random_crop
from reference_impls.data.pipelines import READERS, open_pipeline
from reference_impls.shares import Share
from suite.catalog.data_sets import load_data_set
from suite.catalog.workloads import Workload, load_workloads
from suite.datasets.synthetic import WRITERS
from suite.execution.resolve import choose_data
from tests.builders import Scenario, make_request

AUGMENTATIONS = {
    "idx": "none",
    "cifar10": "crop_flip",
    "gld23k": "resized_crop",
    "imagefolder": "resized_crop",
}
NAMES = {"idx": "mnist", "cifar10": "cifar10", "gld23k": "gld23k", "imagefolder": "imagefolder"}
SHAPES = {
    "idx": (1, 28, 28),
    "cifar10": (3, 32, 32),
    "gld23k": (3, 224, 224),
    "imagefolder": (3, 224, 224),
}
TRAIN, EVAL = 20, 10


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A small generated data set by layout, made once."""
    made: dict[str, Path] = {}

    def make(layout: str) -> Path:
        if layout not in made:
            made[layout] = tmp_path_factory.mktemp(layout)
            definition = dataclasses.replace(load_data_set(NAMES[layout]), classes=10)
            WRITERS[layout](made[layout], definition, TRAIN, EVAL, 1)
        return made[layout]

    return make


def request_for(
    folder: Path, layout: str, batch_size: int, seed: int = 1, augmentation: str | None = None
) -> Request:
    """A request for that data set."""
    channels = SHAPES[layout][0]
    preprocessing = Preprocessing(
        [0.4] * channels, [0.2] * channels, augmentation or AUGMENTATIONS[layout]
    )
    data = DataSet(NAMES[layout], str(folder), layout, 10, TRAIN, EVAL, False, True)
    return make_request(folder, Scenario())._replace(
        data=data, preprocessing=preprocessing, global_batch_size=batch_size, seed=seed
    )


@pytest.mark.parametrize("workload", load_workloads(), ids=lambda workload: workload.name)
def test_readers_have_the_augmentation_that_a_workload_asks_for(workload: Workload) -> None:
    for name in (workload.data, *(other.data for other in workload.other_data)):
        asked = choose_data(workload, name).augmentation or workload.preprocessing.augmentation
        assert asked in ("none", AUGMENTATIONS[load_data_set(name).layout])


@pytest.mark.parametrize("layout", READERS)
def test_shapes_types_and_sizes(layout: str, folders: Callable[[str], Path]) -> None:
    batches = list(open_pipeline(request_for(folders(layout), layout, 8)).training(1))
    assert [batch.images.shape for batch in batches] == [
        (size, *SHAPES[layout]) for size in (8, 8, 4)
    ]
    assert {(batch.images.dtype, batch.labels.dtype) for batch in batches} == {
        (np.dtype(np.float32), np.dtype(np.int64))
    }
    evaluated = list(open_pipeline(request_for(folders(layout), layout, 8)).evaluation())
    assert sum(len(batch.labels) for batch in evaluated) == EVAL


@pytest.mark.parametrize("layout", [layout for layout in READERS if layout != "idx"])
def test_pictures_have_the_side_that_the_request_names(
    layout: str, folders: Callable[[str], Path]
) -> None:
    request = request_for(folders(layout), layout, TRAIN)
    large = open_pipeline(request._replace(data=request.data._replace(side=48)))
    for batch in (*large.training(1), *large.evaluation()):
        assert batch.images.shape == (len(batch.labels), 3, 48, 48)
    own = open_pipeline(request._replace(data=request.data._replace(side=SHAPES[layout][1])))
    (batch,), (unnamed,) = own.training(1), open_pipeline(request).training(1)
    assert np.array_equal(batch.images, unnamed.images)


def test_small_pictures_are_scaled_by_pillow_s_bilinear_filter() -> None:
    images = np.random.RandomState(1).randint(0, 256, (2, 3, 32, 32)).astype(np.uint8)
    for found, image in zip(scaled(images, 64), images, strict=True):
        picture = Image.fromarray(image.transpose(1, 2, 0))
        expected = np.asarray(picture.resize((64, 64), Image.Resampling.BILINEAR))
        assert np.array_equal(found.transpose(1, 2, 0), expected)


@pytest.mark.parametrize("layout", READERS)
def test_the_size_of_a_mini_batch_changes_no_image(
    layout: str, folders: Callable[[str], Path]
) -> None:
    small, large = (
        list(open_pipeline(request_for(folders(layout), layout, size)).training(3))
        for size in (3, 20)
    )
    assert np.array_equal(np.concatenate([batch.images for batch in small]), large[0].images)
    assert np.array_equal(np.concatenate([batch.labels for batch in small]), large[0].labels)


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("layout", READERS)
def test_ranks_see_together_what_one_sees(
    layout: str, ranks: int, folders: Callable[[str], Path]
) -> None:
    """Rank r has every image r, r + n, … of each mini-batch, augmented alike; the evaluation set is
    shared out without rest."""
    request = request_for(folders(layout), layout, 8)
    shares = [open_pipeline(request, share=Share(rank, ranks)) for rank in range(ranks)]
    for whole, *parts in zip(
        open_pipeline(request).training(1), *(share.training(1) for share in shares), strict=True
    ):
        for rank, part in enumerate(parts):
            assert np.array_equal(part.images, whole.images[rank::ranks]) and np.array_equal(
                part.labels, whole.labels[rank::ranks]
            )
    assert sum(len(batch.labels) for share in shares for batch in share.evaluation()) == EVAL


@pytest.mark.parametrize("layout", READERS)
def test_channels_last_is_the_same_image(layout: str, folders: Callable[[str], Path]) -> None:
    request = request_for(folders(layout), layout, 20)
    first, last = (
        next(iter(open_pipeline(request, channels_last=way).training(1))) for way in (False, True)
    )
    assert np.array_equal(first.images.transpose(0, 2, 3, 1), last.images)
    assert last.images.flags["C_CONTIGUOUS"]


unit = st.floats(0, 1, exclude_max=True)


@given(st.integers(1, 5000), st.integers(1, 5000), st.tuples(unit, unit, unit, unit, unit))
def test_a_random_crop_lies_in_the_image(width: int, height: int, draw: tuple[float, ...]) -> None:
    (left, top, right, bottom), _ = random_crop(width, height, np.array(draw))
    assert -1e-9 <= left < right <= width + 1e-6
    assert -1e-9 <= top < bottom <= height + 1e-6


@given(st.integers(1, 5000), st.integers(1, 5000))
def test_the_middle_is_a_square_of_seven_eighths_of_the_short_side(width: int, height: int) -> None:
    (left, top, right, bottom), mirrored = central_crop(width, height, None)
    assert right - left == pytest.approx(bottom - top) == pytest.approx(min(width, height) * 0.875)
    assert (left + right, top + bottom) == pytest.approx((width, height))
    assert not mirrored


@pytest.mark.parametrize("layout", ["gld23k", "imagefolder"])
def test_the_number_of_threads_changes_no_image(
    layout: str, folders: Callable[[str], Path]
) -> None:
    alone, together = (
        list(
            open_pipeline(
                request_for(folders(layout), layout, 8)._replace(threads=threads)
            ).training(1)
        )
        for threads in (1, 3)
    )
    assert all(
        np.array_equal(one.images, other.images) for one, other in zip(alone, together, strict=True)
    )


def test_photographs_are_known_by_their_folders_and_by_their_endings_in_any_case(
    tmp_path: Path,
) -> None:
    images = ("train/cat/b.PNG", "train/cat/a.JPG", "train/dog/c.jpeg")
    for name in (*images, "train/cat/notes.txt", "train/.DS_Store"):
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    found = ImageFolderReader(request_for(tmp_path, "imagefolder", TRAIN)).training()
    assert [Path(str(path)).name for path in found.images] == ["a.JPG", "b.PNG", "c.jpeg"]
    assert found.labels.tolist() == [0, 0, 1]


@pytest.mark.parametrize("threads", [1, 2])
def test_an_image_that_cannot_be_decoded_is_named(
    threads: int, folders: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(folders("imagefolder"), tmp_path / "data"))
    victim = next(iter(sorted((folder / "train").rglob("*.jpg"))))
    victim.write_bytes(victim.read_bytes()[:300])
    with pytest.raises(ContractError, match=victim.name):
        list(
            open_pipeline(
                request_for(folder, "imagefolder", TRAIN)._replace(threads=threads)
            ).training(1)
        )


def test_another_number_of_samples_than_the_request_says_is_refused(
    folders: Callable[[str], Path],
) -> None:
    request = request_for(folders("cifar10"), "cifar10", 4)
    with pytest.raises(ContractError, match="expected 21 samples, found 20"):
        list(
            open_pipeline(request._replace(data=request.data._replace(train_samples=21))).training(
                1
            )
        )


def test_an_unknown_layout_is_refused(folders: Callable[[str], Path]) -> None:
    request = request_for(folders("cifar10"), "cifar10", 4)
    with pytest.raises(ContractError, match="no reader for the layout 'zip'"):
        open_pipeline(request._replace(data=request.data._replace(layout="zip")))


def test_workers_are_the_frameworks_to_start(folders: Callable[[str], Path]) -> None:
    """The pipeline gives its mini-batches to the processes that fetch them if there are workers,
    and to no other."""
    asked = []

    def fetch(batches: object, loading: Loading) -> "list[object]":
        asked.append(loading)
        return []

    request = request_for(folders("cifar10"), "cifar10", 4)
    assert len(list(open_pipeline(request, fetch=fetch).training(1))) == 5
    assert (
        list(open_pipeline(request._replace(loading=Loading(3, 2)), fetch=fetch).training(1)) == []
    )
    assert asked == [Loading(3, 2)]
