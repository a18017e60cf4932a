"""Tracks: subjects that pass the camera, each a picture whose viewpoint changes from frame to
frame. Standard library only, Python 3.6 grammar.

A track begins at a skewed view and ends near the view that the teacher was trained on. Everything
follows from the seed, so that the checker of a record can draw the same tracks again.
"""

import random
from typing import List, NamedTuple

FIRST_DEG, LAST_DEG, ROLL_DEG = (50.0, 70.0), (0.0, 15.0), 5.0
"""Ranges of the first and the last frame's angle, and the largest roll either way."""

MAX_VIEW_DEG = 75
"""Beyond it a picture is narrower than a quarter of the frame."""

MAX_TESTED = 1000
"""Pictures that accuracies are measured on."""


class Track(NamedTuple):
    """One subject: a picture of the evaluation set, the angles of its first and last frame
    (negative: seen from the left), and its roll, degrees."""

    picture: int
    first_deg: float
    last_deg: float
    roll_deg: float

    def yaws_deg(self, frames: int) -> List[float]:
        """The angle of every frame, in equal steps."""
        step = (self.last_deg - self.first_deg) / (frames - 1)
        return [self.first_deg + number * step for number in range(frames)]


class Scene(NamedTuple):
    """The tracks, and the pictures that accuracies are measured on, of which no track is."""

    tracks: List[Track]
    tested: List[int]


def tested_pictures(tracks: int, pictures: int) -> int:
    """How many of an evaluation set's pictures are tested; 0 or fewer: the tracks need them all."""
    return min(MAX_TESTED, pictures - tracks)


def draw_scene(seed: int, tracks: int, pictures: int) -> Scene:
    """The scene of a seed in an evaluation set with this number of pictures."""
    generator = random.Random(seed)
    order = list(range(pictures))
    generator.shuffle(order)
    return Scene(
        [_draw_track(generator, picture) for picture in order[:tracks]],
        order[tracks : tracks + tested_pictures(tracks, pictures)],
    )


def _draw_track(generator: random.Random, picture: int) -> Track:
    side = generator.choice((-1.0, 1.0))
    first_deg, last_deg = generator.uniform(*FIRST_DEG), generator.uniform(*LAST_DEG)
    return Track(picture, side * first_deg, side * last_deg, generator.uniform(-ROLL_DEG, ROLL_DEG))


def seen_from(view_deg: int, place: int) -> float:
    """The angle at which the tested picture at ``place`` is seen: from the right and from the left
    in turns."""
    return float(view_deg if place % 2 == 0 else -view_deg)
