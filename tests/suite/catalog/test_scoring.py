"""The numbers of scoring, and the rulebook's text about them."""

import itertools
import re

from suite.catalog.power import Coverage, Tier
from suite.catalog.reference_points import load_points
from suite.catalog.rounds import load_rounds
from suite.catalog.scoring import EnergyStanding, load_scoring
from suite.catalog.workloads import load_workloads
from suite.files.paths import repository_root

SCORING = load_scoring()


def test_every_kind_of_instrument_with_every_coverage_has_one_place() -> None:
    kinds = [(one.tier, one.covers) for one in SCORING.instruments()]
    assert sorted(kinds) == sorted(itertools.product(Tier, Coverage))
    assert [one.place for one in SCORING.instruments()] == list(range(len(kinds)))


def test_only_meters_at_the_wall_or_the_boards_input_rank_and_estimates_come_last() -> None:
    for one in SCORING.instruments():
        ranks = one.tier in (Tier.ANALYSER, Tier.WALL_METER) and one.covers in (
            Coverage.WALL,
            Coverage.BOARD,
        )
        assert (one.standing is EnergyStanding.RANKED) == ranks
        assert (one.standing is EnergyStanding.ESTIMATE) == (one.tier is Tier.ESTIMATE)
    order = [one.standing for one in SCORING.instruments()]
    assert order == sorted(order, key=list(EnergyStanding).index)


def test_the_rulebook_states_these_numbers() -> None:
    chapter = (
        (repository_root() / "rules" / "RULES.md")
        .read_text()
        .split("## Runs and scoring")[1]
        .split("\n## ")[0]
    )
    plain = re.sub(r"\s+", " ", chapter)
    words = {3: "three", 4: "four", 5: "five"}
    assert f"A rank needs {words[SCORING.min_runs]} runs" in plain
    assert f"at a level of {100 * SCORING.epochs_level:g} %" in plain
    assert f"{100 * SCORING.noise_floor:g} % are added" in plain
    assert f"{100 * (1 - SCORING.pair_level):g} % interval of the ratio" in plain
    assert (
        f"planned with {words[SCORING.missed.min_planned_runs]} runs or more and four in five"
        in plain
        and SCORING.missed.min_share_reached == 0.8
    )
    assert f"{words[SCORING.short.min_epochs]} whole epochs or more" in plain
    assert "takes a day or more" in plain and SCORING.short.min_whole_s == 24 * 3600
    assert "within one percent" in plain and SCORING.rate_tolerance == 0.01


def test_the_rulebook_states_how_a_target_follows() -> None:
    plain = re.sub(r"\s+", " ", (repository_root() / "rules" / "RULES.md").read_text())
    targets = SCORING.targets
    assert (
        f"the first {100 * targets.share_of_schedule:g} % of the schedule's epochs counts" in plain
    )
    coverages = f"{100 * targets.confidence:g}/{100 * targets.coverage:g}"
    assert f"at most the one-sided {coverages} normal tolerance bound" in plain
    assert (targets.step, targets.min_runs, targets.min_frameworks) == (0.005, 6, 2)
    assert "at least to the last epoch that counts" in plain
    assert "No two of a setting have the same framework, seed and precision" in plain
    assert "rounded down to half a point" in plain and "needs six runs in two frameworks" in plain


def test_what_a_round_has_frozen_is_there_and_of_its_workloads() -> None:
    digests = {
        point.digest for workload in load_workloads() for point in load_points(workload.name)
    }
    for each in load_rounds():
        assert each.reference_points and set(each.reference_points) <= digests, (
            f"a frozen point of round {each.name} is lost or changed"
        )
