from pathlib import Path

from suite.machine.interfaces import describe_links
from suite.meters.meter import MeteredProcess
from suite.meters.sources.network import NetworkMeter


def board(tree) -> Path:
    """A Raspberry Pi: wired at 1 Gbit/s, wireless up, a second wired interface without a cable, a
    bridge that states no speed."""

    def interface(name: str, state: str, kind: str = "1", **files: str) -> dict[str, str]:
        counters = {"statistics/tx_bytes": "2000\n", "statistics/rx_bytes": "1000\n"}
        return {
            f"sys/class/net/{name}/{file}": text
            for file, text in {
                "operstate": f"{state}\n",
                "type": f"{kind}\n",
                **counters,
                **files,
            }.items()
        }

    return tree(
        {
            **interface("lo", "unknown", "772"),
            **interface("eth0", "up", **{"speed": "1000\n", "device/uevent": ""}),
            **interface("eth1", "down", **{"speed": "-1\n", "device/uevent": ""}),
            **interface("wlan0", "up", **{"wireless/status": "", "device/uevent": ""}),
            **interface("br0", "up", **{"speed": "-1\n"}),
        }
    )


def test_an_interface_that_disappears_during_the_run_is_no_longer_read(tree) -> None:
    root = board(tree)
    meter = NetworkMeter(root)
    meter.open(MeteredProcess(1, Path("/data")))
    (root / "sys/class/net/eth0").rename(root / "unplugged")
    assert {reading.channel.split(".")[0] for reading in meter.read()} == {"wlan0", "br0"}


def test_a_machine_with_nothing_but_a_loopback_says_so(tree) -> None:
    root = tree({"sys/class/net/lo/operstate": "unknown\n", "sys/class/net/lo/type": "772\n"})
    availability = NetworkMeter(root).availability()
    assert (availability.available, availability.reason) == (
        False,
        "only the loopback interface is up",
    )


def test_links_are_described_by_kind_and_speed_or_the_reason_why_not(tree) -> None:
    links = {link["interface"]: link for link in describe_links(board(tree))}
    assert set(links) == {"eth0", "wlan0", "br0"}
    assert (links["eth0"]["kind"], links["eth0"]["speed_mbit_s"], links["eth0"]["reason"]) == (
        "wired",
        1000,
        None,
    )
    assert (links["wlan0"]["kind"], links["wlan0"]["speed_mbit_s"]) == ("wireless", None)
    assert (links["br0"]["kind"], links["br0"]["reason"]) == (
        "virtual",
        "its driver reports no speed",
    )
