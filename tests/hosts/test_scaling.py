"""A scaling study over hosts: every point is trained on as many as it says, the wire costs what it
must, and what lies beyond is a projection."""

from pathlib import Path

import pytest

from suite.bundle.node_records import read_nodes
from suite.bundle.reader import Bundle
from suite.catalog.workloads import load_workload
from suite.files.paths import repository_root
from suite.metrics.figure import Figure
from suite.metrics.study import Study, read_study
from tests.conftest import environment_of
from tests.hosts.training import SUITE
from tests.namespaces import Cluster

pytestmark = [pytest.mark.hosts, pytest.mark.proof, pytest.mark.pytorch]
HOSTS = ["node0", "node1", "node2", "node3"]
GRADIENT_BYTES, MEGABITS_PER_S = 4 * load_workload("lenet").parameters, 100


def least_s(ranks: int) -> float:
    """What each rank must at least send to sum an array over all of them, at the link's speed."""
    return 2 * (ranks - 1) / ranks * GRADIENT_BYTES * 8 / (MEGABITS_PER_S * 1e6)


def sweep(cluster: Cluster, digits: Path, folder: Path) -> str:
    """Twenty steps on one, two and four hosts, each twice, as a person on the first of them types
    it; returns what it says."""
    words = (
        "sweep --study scaling --nodes 1,2,4 --repetitions 2 --steps 20 --workload lenet"
        f" --threads 1 --data digits={digits} --output {folder}/study"
        f" --hostfile {cluster.hostfile(folder / 'hosts.txt')} --launch-agent {cluster.agent}"
    ).split()
    answer = cluster.run(cluster.hosts[0], SUITE, *words, cwd=repository_root(), timeout_s=600)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def hosts_of(bundle: Bundle) -> list[str | None]:
    """Where a run was by what its nodes said of themselves; a run on one has no such record, and
    was asked for one."""
    assert bundle.run().request["parallel"]["nodes"] == max(1, len(read_nodes(bundle)))
    return [node.node for node in read_nodes(bundle)] or HOSTS[:1]


def test_a_study_of_one_two_and_four_hosts(
    four_hosts: Cluster, digits: Path, tmp_path: Path
) -> None:
    environment_of("pytorch")
    for host in four_hosts.hosts:
        four_hosts.shape(host, MEGABITS_PER_S)
    said = sweep(four_hosts, digits, tmp_path)
    study = read_study(tmp_path / "study")
    assert (study.plan.hosts, study.notes) == (4, ())
    for point, ranks in zip(study.points, (1, 2, 4), strict=True):
        bundles = [Bundle(tmp_path / "study" / run.folder) for run in point.runs]
        assert [hosts_of(bundle) for bundle in bundles] == [HOSTS[:ranks]] * 2
        assert [bundle.steps_frame()["rank"].nunique() for bundle in bundles] == [ranks] * 2
    expect_the_wires_time_in(study)
    expect_what_lies_beyond_to_be_a_projection(study, said)


def expect_the_wires_time_in(study: Study) -> None:
    """The mean step lasts at least as long as its gradients on the wire; how much of the exchange
    the backward pass hides is the machine's affair."""
    alone, *several = study.points
    assert (alone.figures.exchange_s.value, alone.figures.efficiency.value) == (0.0, 1.0)
    for point in several:
        step_s, exchange_s = number(point.figures.step_s), number(point.figures.exchange_s)
        assert exchange_s > 0.25 * least_s(point.ranks)
        assert step_s > least_s(point.ranks)
        # a mean of quotients
        assert number(point.figures.exchange_share) == pytest.approx(exchange_s / step_s, rel=0.2)
        assert number(point.figures.efficiency) == pytest.approx(
            number(alone.figures.step_s) / (point.ranks * step_s)
        )


def expect_what_lies_beyond_to_be_a_projection(study: Study, said: str) -> None:
    assert study.model is not None and study.model.most_measured == 4
    for fit in study.model.fits:
        assert [one.ranks for one in fit.projections if one.is_measured] == [1, 2, 4]
        # a mini-batch of 16 has a sample for each
        assert [one.ranks for one in fit.projections if not one.is_measured] == [8, 16]
    assert said.count("projection,   8 ranks") == 2 and "4 ranks:" not in said


def number(figure: Figure) -> float:
    assert figure.value is not None, figure.reason
    return figure.value
