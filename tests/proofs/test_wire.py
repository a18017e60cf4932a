"""The wire's table: what stands beside the medians, told from made-up steps."""

from proofs.wire.__main__ import LOADS, NUMBERS, Case, percentile, rows_of, tail_ratio

CASE = Case("lenet5", 2, 100.0, next(iter(LOADS)), 2)


def test_the_percentile_of_few_steps_is_the_longest_and_called_so() -> None:
    assert percentile([[float(step) for step in range(1, 101)]]) == 99
    assert percentile([[3.0, 1.0], [2.0]]) == 3
    assert "| longest 50.0 ms | longest 25.0 ms | 2.000 " in next(rows_of(CASE, found(1))).text
    assert "longest" not in next(rows_of(CASE, found(50))).text


def test_tails_are_compared_by_turns() -> None:
    steady, one_bad = [[1.0] * 10] * 8, [[1.0] * 9 + [5.0], *[[1.0] * 10] * 7]
    assert tail_ratio(steady, steady) == (1, 1, 1)
    assert tail_ratio(one_bad, steady) == (5, 1, 5), "one bad turn of eight may be chance"


def test_half_of_the_bytes_have_half_of_the_limit() -> None:
    exact, rounded = rows_of(CASE, found(1))
    assert exact.limit_share == 2 * rounded.limit_share
    assert rounded.median.median == 2


def found(times: int) -> dict[str, object]:
    """Two turns in which ours takes twice as long."""
    ours, theirs = [[0.02, 0.05] * times] * 2, [[0.01, 0.025] * times] * 2
    return {
        "gradient_bytes": 246_824,
        "goodput_bytes_s": 12.5e6,
        "exchange_alone_s": [0.02, 0.02],
        "forward_s": [0.005, 0.005],
        "steps_s": {
            **dict.fromkeys(NUMBERS, ours),
            "DistributedDataParallel, Gloo": theirs,
            "DistributedDataParallel, float16": theirs,
        },
        "load": [0.5, 1.0],
    }
