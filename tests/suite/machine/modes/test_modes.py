"""Power modes on a simulated board: what is offered, set and put back; what is impossible is said
before anything changes."""

import errno
import json
import os
from pathlib import Path

import pytest

from proofs.power_modes.__main__ import kill_at
from proofs.power_modes.sweep_modes import HELD, KEPT
from suite.cli import app
from suite.errors import SuiteError
from suite.machine.modes import places, restore_journal
from suite.machine.modes.access import refuse_without_access
from suite.machine.modes.available_modes import read_available_modes
from suite.machine.modes.places import FOLDER, has_records
from suite.machine.modes.requested_mode import RequestedMode
from suite.machine.modes.restore_journal import (
    SCHEMA,
    JournalKind,
    Owner,
    RestoreJournal,
    RestoreRecord,
    open_restore_journal,
    owner_of,
)
from suite.machine.modes.set_and_restore import (
    held_modes,
    left_settings,
    recover_modes,
    refuse_mode,
    restore_modes,
    set_mode,
)
from suite.machine.modes.settings import read_settings
from suite.machine.power_settings import read_power_settings
from tests.every_case import some
from tests.simulated_board import EMC_CAP, FAN, settings_of, simulated_board, with_kernel_rules

POLICY = "sys/devices/system/cpu/cpufreq/policy0"
NOBODY = Owner(2**22 + 1, 1, "another boot")
"""A process that no longer runs."""


@pytest.fixture
def board(tmp_path: Path) -> Path:
    return simulated_board(tmp_path / "board")


@pytest.fixture
def pi(tmp_path: Path) -> Path:
    """A Raspberry Pi: cpufreq, and none of NVIDIA's programs."""
    root = simulated_board(tmp_path / "pi", "raspberry-pi-4")
    for name in (
        "usr/sbin/nvpmodel",
        "usr/bin/jetson_clocks",
        EMC_CAP,
        FAN,
        "var/lib/nvpmodel/status",
    ):
        (root / name).unlink()
    return root


def abandon(root: Path, kind: JournalKind = JournalKind.HELD) -> None:
    """What a command leaves that was killed after its first change."""
    journal = open_restore_journal(root)
    journal.write(
        kind,
        RestoreRecord(
            SCHEMA, NOBODY, "cpu_mhz 1190", read_settings(root, read_available_modes(root))
        ),
    )
    (root / POLICY / "scaling_max_freq").write_text("1190400\n")


def test_a_jetson_offers_its_modes_cores_and_clocks(board: Path) -> None:
    available = read_available_modes(board)
    assert [mode.name for mode in available.modes][:2] == ["MAXN", "MODE_15W"]
    assert available.cores == tuple(range(8)) and len(available.switches) == 8
    assert [domain.kind for domain in available.domains] == ["cpu"] * 4 + ["gpu", "memory"]
    assert (available.nvpmodel, available.jetson_clocks, available.fan_file) == (
        "usr/sbin/nvpmodel",
        "usr/bin/jetson_clocks",
        FAN,
    )


def test_a_machine_without_cpufreq_offers_nothing_and_says_so(tmp_path: Path) -> None:
    assert read_available_modes(tmp_path).domains == ()
    with pytest.raises(SuiteError, match="a virtual machine has none"):
        refuse_mode(RequestedMode(cpu_mhz=1000), tmp_path)
    with pytest.raises(SuiteError, match="this machine has no modes of nvpmodel"):
        refuse_mode(RequestedMode("MAXN"), tmp_path)


def test_a_mode_of_nvpmodel_is_set_and_put_back(board: Path) -> None:
    before = settings_of(board)
    set_mode(RequestedMode("MODE_15W"), board)
    label = read_power_settings(board).label
    assert label is not None and label.startswith("MODE_15W: 4 cores up to 1")
    assert [done.wanted for done in restore_modes(board)] == ["MODE_15W"]
    assert settings_of(board) == before and not has_records(board)


def test_cores_clocks_governor_and_fan_are_set_and_put_back(board: Path) -> None:
    before = settings_of(board)
    set_mode(
        RequestedMode(
            cores="4", cpu_mhz=1200, gpu_mhz=900, emc_mhz=1600, governor="performance", fan="120"
        ),
        board,
    )
    now = settings_of(board)
    assert [now[f"sys/devices/system/cpu/cpu{core}/online"] for core in range(8)] == ["1"] * 4 + [
        "0"
    ] * 4
    assert (now[f"{POLICY}/scaling_max_freq"], now[f"{POLICY}/scaling_governor"]) == (
        "1190400",
        "performance",
    )
    assert (
        now["sys/class/devfreq/17000000.gv11b/max_freq"] == "905250000"
        and now[EMC_CAP] == "1600000000"
        and now[FAN] == "120"
    )
    restore_modes(board)
    assert settings_of(board) == before


def test_a_limit_below_the_minimum_lowers_the_minimum_first(board: Path) -> None:
    assert (board / POLICY / "scaling_min_freq").read_text().strip() == "1190400"
    steps = [str(step) for step in refuse_mode(RequestedMode(cpu_mhz=115), board)]
    assert "scaling_min_freq" in steps[0] and "scaling_max_freq" in steps[1]


def test_settings_are_put_back_in_an_order_that_the_kernel_accepts(
    board: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = settings_of(board)
    with monkeypatch.context() as patch:
        with_kernel_rules(board, patch)
        with held_modes(board) as apply:
            apply(RequestedMode(cores="2", cpu_mhz=115, gpu_mhz=115))
            apply(RequestedMode("MODE_15W", cpu_mhz=115))
            apply(RequestedMode(cpu_mhz=2266, cores="0,3-5"))
        set_mode(RequestedMode(cores="2", cpu_mhz=115), board)
        set_mode(RequestedMode(cores="8", cpu_mhz=2266), board)
        set_mode(RequestedMode(cores="1"), board)
        restore_modes(board)
    assert settings_of(board) == before


def test_clocks_of_cores_that_were_off_line_are_put_back_too(
    board: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for core in (6, 7):
        (board / f"sys/devices/system/cpu/cpu{core}/online").write_text("0\n")
    before = settings_of(board)
    with monkeypatch.context() as patch:
        with_kernel_rules(board, patch)
        set_mode(RequestedMode(cores="8", cpu_mhz=115), board)
        assert (
            board / "sys/devices/system/cpu/cpufreq/policy6/scaling_max_freq"
        ).read_text() == "115200"
        restore_modes(board)
    assert settings_of(board) == before


def test_clocks_of_cores_that_a_mode_brings_on_line_are_set_to_a_step(
    board: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = settings_of(board)
    set_mode(RequestedMode("MODE_15W"), board)  # 4 of 8 cores
    with monkeypatch.context() as patch:
        with_kernel_rules(board, patch)
        set_mode(RequestedMode("MAXN", cpu_mhz=1190), board)
    now = settings_of(board)
    policies = [f"sys/devices/system/cpu/cpufreq/policy{core}" for core in (0, 2, 4, 6)]
    assert {now[f"{policy}/scaling_max_freq"] for policy in policies} == {"1190400"}
    restore_modes(board)
    assert settings_of(board) == before


def test_locked_clocks_are_unlocked_by_jetson_clocks_itself(board: Path) -> None:
    before = settings_of(board)
    set_mode(RequestedMode(jetson_clocks=True), board)
    assert read_power_settings(board).clocks_locked and settings_of(board)[FAN] == "255"
    set_mode(RequestedMode("MODE_15W", jetson_clocks=True), board)
    restore_modes(board)
    assert settings_of(board) == before
    assert sorted(path.name for path in (board / FOLDER).iterdir()) == ["lock"]


def test_several_modes_one_after_the_other_restore_what_was_before_the_first(board: Path) -> None:
    before = settings_of(board)
    for requested in (
        RequestedMode("MODE_15W"),
        RequestedMode(cpu_mhz=1190),
        RequestedMode("MAXN"),
    ):
        set_mode(requested, board)
    restore_modes(board)
    assert settings_of(board) == before


@pytest.mark.parametrize(
    ("requested", "words"),
    [
        (RequestedMode("MAXM"), "did you mean 'MAXN'"),
        (RequestedMode(cores="7-9"), "There are no cores '7-9'"),
        (RequestedMode(cores="four"), "names no cores"),
        (RequestedMode(cpu_mhz=1700), "the nearest are 115, 1190, 1421, 1498, 1907, 2266 MHz"),
        (RequestedMode(gpu_mhz=2000), "no gpu clock has that frequency"),
        (RequestedMode(governor="perfomance"), "did you mean 'performance'"),
        (RequestedMode(turbo="on"), "no switch for turbo"),
        (RequestedMode(fan="300"), "0 to 255"),
    ],
)
def test_an_impossible_mode_is_refused_before_anything_changes(
    board: Path, requested: RequestedMode, words: str
) -> None:
    before = settings_of(board)
    with pytest.raises(SuiteError, match=words):
        set_mode(requested, board)
    assert settings_of(board) == before and not (board / FOLDER).exists()


def test_what_another_board_has_is_refused_by_name(pi: Path) -> None:
    for requested, words in (
        (RequestedMode("MAXN"), "no modes of nvpmodel"),
        (RequestedMode(jetson_clocks=True), "only Jetsons"),
        (RequestedMode(fan="9"), "no fan"),
    ):
        with pytest.raises(SuiteError, match=words):
            refuse_mode(requested, pi)


def test_root_is_asked_for_with_the_command_to_type(
    board: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    monkeypatch.setattr("sys.argv", ["suite", "power", "set", "--cores", "2"])
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(
        SuiteError, match=r"Only root may write /sys/.*; type: sudo env .*suite power set --cores 2"
    ):
        refuse_mode(RequestedMode(cores="2"), board)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(SuiteError, match="file system that is read-only, as in a container"):
        refuse_without_access(board, ["sys/x"], [])


def test_a_step_that_fails_leaves_everything_as_it_was(board: Path) -> None:
    before = settings_of(board)
    (board / "usr/bin/jetson_clocks").write_text(
        '#!/bin/sh\n[ -n "$1" ] && exit 0\necho broken; exit 3\n'
    )
    with pytest.raises(SuiteError, match="failed with exit code 3: broken"):
        set_mode(RequestedMode("MODE_15W", cores="2", jetson_clocks=True), board)
    assert settings_of(board) == before and not has_records(board)


def test_a_program_that_fails_keeps_nothing_else_from_being_put_back(board: Path) -> None:
    before = settings_of(board)
    set_mode(RequestedMode(cores="2", cpu_mhz=1190, jetson_clocks=True), board)
    program = board / "usr/bin/jetson_clocks"
    program.write_text("#!/bin/sh\necho no such clock\nexit 3\n")
    with pytest.raises(
        SuiteError,
        match=(
            r"was restored, but .*--restore .* failed with exit code 3: no such clock\. Restart the"
            r" machine"
        ),
    ):
        restore_modes(board)
    assert settings_of(board) == before


def test_on_a_full_disk_nothing_is_changed(board: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = settings_of(board)

    def refuse(path: Path, value: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("suite.machine.modes.restore_journal.write_json", refuse)
    with pytest.raises(SuiteError, match="No space left on device; free some space"):
        set_mode(RequestedMode("MODE_15W"), board)
    with pytest.raises(SuiteError, match="No space left on device"), held_modes(board):
        pass
    assert settings_of(board) == before


def test_nvpmodel_that_asks_for_a_restart_is_reported(board: Path) -> None:
    (board / "usr/sbin/nvpmodel").write_text(
        "#!/bin/sh\necho 'DO YOU WANT TO REBOOT NOW? enter YES/yes to confirm:'\n"
    )
    with pytest.raises(SuiteError, match="this mode may need a restart; type `sudo nvpmodel -m 2`"):
        set_mode(RequestedMode("MODE_15W"), board)
    assert not has_records(board)


def test_held_modes_each_start_from_what_was_before(board: Path) -> None:
    before = settings_of(board)
    with held_modes(board) as apply:
        apply(RequestedMode(cores="2"))
        apply(RequestedMode(gpu_mhz=905))
        assert settings_of(board)["sys/devices/system/cpu/cpu7/online"] == "1"
        apply(RequestedMode())
        assert settings_of(board) == before
        apply(RequestedMode("MODE_15W"))
        assert recover_modes(board) == ()  # the process that holds them still runs
    assert settings_of(board) == before and not has_records(board)


def test_a_fan_that_nobody_set_keeps_its_own_duty(board: Path) -> None:
    """The kernel turns it up on a hot board."""
    with held_modes(board) as apply:
        apply(RequestedMode(gpu_mhz=905))
        (board / FAN).write_text("200\n")
        apply(RequestedMode(gpu_mhz=1377))
        assert settings_of(board)[FAN] == "200"
        apply(RequestedMode(fan="120"))
        assert settings_of(board)[FAN] == "120"
    assert settings_of(board)[FAN] == "200"


def test_modes_that_a_running_command_holds_are_not_changed_by_another(board: Path) -> None:
    running = owner_of(os.getppid())
    open_restore_journal(board).write(
        JournalKind.HELD,
        RestoreRecord(SCHEMA, running, "MAXN", read_settings(board, read_available_modes(board))),
    )
    for change in (
        lambda: set_mode(RequestedMode("MODE_15W"), board),
        lambda: restore_modes(board),
    ):
        with pytest.raises(
            SuiteError, match=f"Process {running.pid} changes power modes while it runs"
        ):
            change()


def test_a_sweep_on_top_of_a_kept_mode_puts_that_mode_back(board: Path) -> None:
    before = settings_of(board)
    set_mode(RequestedMode("MODE_15W"), board)
    kept = settings_of(board)
    with held_modes(board) as apply:
        apply(RequestedMode("MAXN"))
    assert settings_of(board) == kept
    restore_modes(board)
    assert settings_of(board) == before


def test_another_process_with_the_same_number_is_not_the_owner() -> None:
    now = owner_of(os.getpid())
    assert (
        now.is_alive
        and not Owner(now.pid, now.start_ticks + 1, now.boot_id).is_alive
        and not Owner(now.pid, now.start_ticks, "other").is_alive
    )


@pytest.mark.parametrize("kind", JournalKind)
def test_what_a_killed_command_left_is_put_back(board: Path, kind: JournalKind) -> None:
    before = settings_of(board)
    abandon(board, kind)
    (left,) = left_settings(board)
    assert not left.is_alive and left.changed == (
        f"{POLICY}/scaling_max_freq is 1190400 instead of 2265600",
    )
    (done,) = recover_modes(board)
    assert (
        done.changed == left.changed and settings_of(board) == before and recover_modes(board) == ()
    )


@pytest.mark.parametrize("kind", JournalKind)
def test_after_a_restart_only_what_is_the_same_file_is_put_back(
    pi: Path, kind: JournalKind
) -> None:
    """Numbers of hwmon are given anew at each boot; a driver may be another one since."""
    chips, preference = pi / "sys/class/hwmon", pi / POLICY / "energy_performance_preference"
    preference.write_text("power\n")
    for number, switch in ((8, "1\n"), (9, "2\n")):
        (chips / f"hwmon{number}").mkdir(parents=True)
        (chips / f"hwmon{number}/pwm1_enable").write_text(switch)
    abandon(pi, kind)
    preference.unlink()
    (chips / "hwmon8").rename(chips / "hwmon7")
    (chips / "hwmon9/pwm1_enable").write_text("0\n")
    (done,) = recover_modes(pi)
    assert done.changed == (f"{POLICY}/scaling_max_freq is 1190400 instead of 1800000",)
    assert (chips / "hwmon9/pwm1_enable").read_text() == "0\n" and not has_records(pi)


def test_a_kept_mode_stays_after_its_command(board: Path) -> None:
    set_mode(RequestedMode("MODE_15W"), board)
    journal = RestoreJournal(board / FOLDER)
    record = journal.read(JournalKind.KEPT)
    assert record is not None and record.is_complete
    journal.write(
        JournalKind.KEPT,
        RestoreRecord(SCHEMA, NOBODY, record.wanted, record.before, is_complete=True),
    )
    assert recover_modes(board) == () and (read_power_settings(board).label or "").startswith(
        "MODE_15W"
    )


def test_without_root_the_next_command_says_how(
    board: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    abandon(board)
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(
        SuiteError, match=r"did not restore the earlier settings .* type: sudo env .* power restore"
    ):
        recover_modes(board)


def test_any_command_puts_back_what_was_left(
    board: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = settings_of(board)
    abandon(board)
    monkeypatch.setattr("suite.cli.app.has_records", lambda: has_records(board))
    monkeypatch.setattr(
        "suite.machine.modes.set_and_restore.recover_modes", lambda: recover_modes(board)
    )
    monkeypatch.setattr("sys.argv", ["suite", "explain", "seeds"])
    with pytest.raises(SystemExit):
        app.main()
    assert "Put back 1 power setting from before process" in capsys.readouterr().err
    assert settings_of(board) == before


def test_a_journal_of_somebody_else_is_not_trusted(board: Path) -> None:
    abandon(board)
    (board / FOLDER / "held.json").chmod(0o666)
    with pytest.raises(SuiteError, match="not trusted"):
        recover_modes(board)


@pytest.mark.parametrize("file", ["etc/passwd", "sys/devices/../../etc/passwd", "/sys/devices/x"])
def test_a_journal_names_only_settings_of_the_kernel(board: Path, file: str) -> None:
    abandon(board)
    path = board / FOLDER / "held.json"
    record = json.loads(path.read_text())
    record["before"]["files"][0]["file"] = file
    path.write_text(json.dumps(record))
    with pytest.raises(SuiteError, match="is not a setting of the kernel"):
        recover_modes(board)


def test_the_journal_of_the_real_machine_is_the_machines_or_the_users() -> None:
    assert [folder.name for folder in places.journal_folders(Path("/"))] == ["power", "power"]


@pytest.mark.parametrize(
    ("kind", "wait_s"),
    some([(HELD, 0.05), (KEPT, 0.02), (HELD, 0.0), (HELD, 0.13), (KEPT, 0.09)], 2),
)
def test_a_killed_sweep_of_modes_leaves_nothing(board: Path, kind: str, wait_s: float) -> None:
    assert kill_at(board, 7, kind, wait_s).is_restored


def test_one_command_at_a_time_changes_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore_journal, "LOCK_TIMEOUT_S", -1.0)
    with (
        restore_journal.RestoreJournal(tmp_path).locked(),
        pytest.raises(SuiteError, match="Another command has been changing"),
        restore_journal.RestoreJournal(tmp_path).locked(),
    ):
        pytest.fail("two commands have the lock")
    with restore_journal.RestoreJournal(tmp_path).locked():
        pass
