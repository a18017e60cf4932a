"""Tracks: the same for a seed, from skewed to nearly frontal, and of no picture that accuracies are
measured on."""

import pytest

from suite.extensions.viewpoint.programs.tracks import (
    FIRST_DEG,
    LAST_DEG,
    MAX_TESTED,
    ROLL_DEG,
    Track,
    draw_scene,
    seen_from,
)


def test_a_seed_gives_the_same_scene_and_another_seed_another() -> None:
    assert draw_scene(3, 50, 2000) == draw_scene(3, 50, 2000)
    assert draw_scene(3, 50, 2000) != draw_scene(4, 50, 2000)


def test_the_scene_of_seed_1_is_the_one_that_records_rely_on() -> None:
    """Golden: a Python whose generator differs would make every record of another one wrong."""
    scene = draw_scene(1, 2, 10)
    assert (scene.tracks[0].picture, scene.tracks[1].picture, scene.tested) == (
        6,
        8,
        [9, 7, 5, 3, 0, 4, 1, 2],
    )
    assert scene.tracks[0][1:] == pytest.approx(
        (-51.8771917354847, -0.42521214783009464, 3.3576510391986965)
    )


def test_no_tested_picture_passes_the_camera() -> None:
    scene = draw_scene(1, 300, 359)
    assert len(scene.tracks) == 300 and len(scene.tested) == 59
    assert not {track.picture for track in scene.tracks} & set(scene.tested)
    assert len(draw_scene(1, 300, 10_000).tested) == MAX_TESTED


def test_a_track_goes_from_a_skewed_view_to_a_nearly_frontal_one_on_one_side() -> None:
    for track in draw_scene(7, 200, 1000).tracks:
        assert (
            FIRST_DEG[0] <= abs(track.first_deg) <= FIRST_DEG[1]
            and LAST_DEG[0] <= abs(track.last_deg) <= LAST_DEG[1]
        )
        assert track.first_deg * track.last_deg >= 0 and abs(track.roll_deg) <= ROLL_DEG


def test_frames_are_in_equal_steps_from_the_first_angle_to_the_last() -> None:
    assert Track(0, -60.0, 0.0, 0.0).yaws_deg(4) == pytest.approx([-60.0, -40.0, -20.0, 0.0])


def test_tested_pictures_are_seen_from_both_sides() -> None:
    assert [seen_from(30, place) for place in range(3)] == [30.0, -30.0, 30.0]
