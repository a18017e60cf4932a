"""Reading loggers' files: what is understood of the formats that loggers write, and what is
refused."""

import gzip
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from suite.errors import FileError, SuiteError
from suite.metrics.traces import logs, reading
from suite.metrics.traces.attaching import read_logger
from suite.metrics.traces.columns import TraceOptions
from suite.metrics.traces.head import HEAD_BYTES
from suite.metrics.traces.reading import power_of_energies, read_trace
from suite.metrics.traces.series import turns_of
from suite.metrics.traces.sniffing import format_sentence, recognise_format
from suite.metrics.traces.trace_format import Trace, format_of

NOTHING = TraceOptions()


def written(number: float, between_groups: str) -> str:
    """A number with a decimal comma and a sign between its groups of three digits."""
    return f"{number:,.1f}".replace(".", "\0").replace(",", between_groups).replace("\0", ",")


EXPORTS = {
    "Joulescope": (
        "#time,current,voltage,power\n"
        + "".join(f"{n / 2},0.{n % 3 + 1},5.1,{(n % 3 + 1) * 0.51:.3f}\n" for n in range(30)),
        NOTHING,
    ),
    "Monsoon": (
        "Time(s),Main(mA),Main Voltage(V)\n"
        + "".join(f"{n / 5000:.4f},{400 + n},4.2\n" for n in range(30)),
        NOTHING,
    ),
    "PPK2": (
        "Timestamp(ms),Current(uA)\n" + "".join(f"{n * 10},{400000 + n}\n" for n in range(30)),
        TraceOptions(volts=5.0),
    ),
    "PPK2 with its logic port": (
        "Timestamp(ms),Current(uA),D0-D7\n"
        + "".join(f"{n * 10},{400000 + n},00000000\n" for n in range(30)),
        TraceOptions(volts=5.0),
    ),
    # apower is the power; current times voltage would be the apparent power
    "Shelly, by the names of its RPC": (
        "timestamp,apower,voltage,current,aenergy.total\n"
        + "".join(f"{1795330800 + n},{4 + n % 3}.1,230.1,0.031,{n}\n" for n in range(30)),
        NOTHING,
    ),
    # the voltages of the USB data lines are none of the supply
    "FNIRSI FNB58, fnirsi-usb-power-data-logger": (
        "\ntimestamp sample_in_packet voltage_V current_A dp_V dn_V temp_C_ema energy_Ws"
        " capacity_As\n"
        + "".join(
            f"{1657568326.775 + n / 100:.3f} {n % 4} 5.02325 0.5{n % 3} 1.184 1.031 30.500"
            f" {n / 9:.6f} {n / 99:.6f}\n"
            for n in range(30)
        ),
        NOTHING,
    ),
    "Otii, decimal commas": (
        "Timestamp;Main current (A);Main voltage (V)\n"
        + "".join(f"{n / 4};0,4{n};5,01\n".replace(".", ",") for n in range(30)),
        NOTHING,
    ),
    "Home Assistant": (
        "entity_id,state,last_changed\n"
        + "".join(f"sensor.p,{4 + n % 3}.5,2026-11-22T07:00:{n:02d}.500Z\n" for n in range(30))
        + "sensor.p,unavailable,2026-11-22T07:01:00Z\n",
        NOTHING,
    ),
    "date and time": (
        "Datum;Uhrzeit;Leistung [W]\n"
        + "".join(f"22.11.2026;07:00:{n:02d};{4 + n % 3},5\n" for n in range(30)),
        NOTHING,
    ),
    "UM25C": (
        "Time,Voltage (V),Current (A),Power (W),Energy (mWh)\n"
        + "".join(f"00:00:{n:02d},5.1,0.5,{2.5 + n % 3},{n}\n" for n in range(30)),
        NOTHING,
    ),
    "no header": (
        "".join(f"{n / 10:.1f},{4 + n % 3}\n" for n in range(30)),
        TraceOptions(unit="W"),
    ),
    "text before the header": (
        "Logger v3\nSerial: 1234\n\nsample\ttime_s\tP_mW\n"
        + "".join(f"{n}\t{n / 10:.1f}\t{4000 + n % 3}\n" for n in range(30)),
        NOTHING,
    ),
    "milliseconds since 1970": (
        "timestamp,power\n"
        + "".join(f"{1795330800000 + n * 1000},{4 + n % 3}.1\n" for n in range(30)),
        NOTHING,
    ),
    "units in cells": (
        "Zeit,Power\n" + "".join(f"2026-11-22 07:00:{n:02d},{4 + n % 3}.5 W\n" for n in range(30)),
        NOTHING,
    ),
    "quoted decimal commas": (
        '"t","W"\n' + "".join(f'"{n / 2}","{4 + n % 3},5"\n'.replace(".", ",") for n in range(30)),
        NOTHING,
    ),
    "two rails": (
        "t [s],cpu [mW],gpu [mW]\n" + "".join(f"{n},1000,{2000 + n}\n" for n in range(30)),
        TraceOptions(power=("cpu [mW]", "gpu [mW]")),
    ),
    "a meter that chooses its range": (
        "t [s],P\n"
        + "".join(f"{n},{['950 mW', '1.05 W', '990000 µW'][n % 3]}\n" for n in range(30)),
        NOTHING,
    ),
    "thousands": (
        "t [s],P [mW]\n" + "".join(f'{n},"{950.5 + n * 10:,.1f}"\n' for n in range(30)),
        NOTHING,
    ),
    "thousands without decimals": (
        "t [s],P [mW]\n" + "".join(f'{n / 2},"{950 + n * 10:,d}"\n' for n in range(30)),
        NOTHING,
    ),
    "German thousands": (
        "t [s];P [mW]\n" + "".join(f"{n},5;{written(950.5 + n * 10, '.')}\n" for n in range(30)),
        NOTHING,
    ),
    "French thousands": (
        "t [s];P [mW]\n" + "".join(f"{n},5;{written(950.5 + n * 10, ' ')}\n" for n in range(30)),
        NOTHING,
    ),
    "names as in programs": (
        "t_ms,power_mw\n" + "".join(f"{n * 100},{4000 + n}\n" for n in range(30)),
        NOTHING,
    ),
    "minutes": (
        "elapsed_minutes,power_w\n" + "".join(f"{n / 60:.5f},{4 + n % 3}\n" for n in range(30)),
        NOTHING,
    ),
    "millions with points": (
        "t [s];P [uW]\n"
        + "".join(
            f"{n},5;{900_000 + n * 10_000:,d}\n".replace(",", ".").replace(".5;", ",5;")
            for n in range(30)
        ),
        NOTHING,
    ),
    "days of a spreadsheet": (
        "Time,Power (W)\n"
        + "".join(f"{46348.8 + n / 86400:.8f},{4 + n % 3}.5\n" for n in range(30)),
        TraceOptions(time_unit="d"),
    ),
    "tegrastats": (
        "".join(
            f"11-27-2026 10:00:{n:02d} RAM 2448/7771MB (lfb 2x4MB) CPU [1%@1510] EMC_FREQ 0%@2133"
            f" GR3D_FREQ 0%@[305] cpu@49.5C VDD_IN {4500 + n}mW/4500mW VDD_SOC 1350mW/1350mW\n"
            for n in range(30)
        ),
        NOTHING,
    ),
    "tegrastats without times, of a board that has no input rail": (
        "".join(
            "RAM 2448/7771MB (lfb 2x4MB) CPU [1%@1510] VDD_GPU_SOC 3000mW/3000mW VDD_CPU_CV"
            f" {1000 + n}mW/1000mW VIN_SYS_5V0 4000mW/4000mW VDDQ_VDD2_1V8AO 700mW/700mW\n"
            for n in range(30)
        ),
        TraceOptions(rate_hz=1.0),
    ),
    "jtop's log": (
        "time,uptime,CPU1,GPU,Power VDD_CPU_GPU_CV,Power VDD_SOC,Power TOT\n"
        + "".join(
            f"2026-11-27 10:00:{n:02d}.5,1 day,{n},0,900,1350,{4500 + n}\n" for n in range(30)
        ),
        NOTHING,
    ),
    "Tasmota's log": (
        "".join(
            f'10:00:{n:02d}.1 MQT: tele/plug/SENSOR = {{"Time":"2026-11-27T10:00:{n:02d}","ENERGY":'
            f'{{"Total":12.345,"Power":{4 + n % 3},"ApparentPower":70,"Voltage":230}}}}\n'
            for n in range(30)
        ),
        NOTHING,
    ),
    "PTDaemon's log": (
        "".join(
            f"Time,11-27-2026 10:00:{n:02d}.758,Watts,{4 + n % 3}.006,Volts,-1.0,Mark,run_testing\n"
            for n in range(30)
        ),
        NOTHING,
    ),
    "turbostat, a row for the machine and one for each CPU": (
        "Time_Of_Day_Seconds\tCore\tCPU\tAvg_MHz\tPkgWatt\tCorWatt\n"
        + "".join(
            f"{1795330800 + n}.5\t{cpu}\t{cpu}\t1000"
            + f"\t{4 + n % 3}.00\t2.00" * (cpu != 1)
            + "\n"
            for n in range(30)
            for cpu in ("-", 0, 1)
        ),
        NOTHING,
    ),
    "nvidia-smi dmon": (
        "# Date Time gpu pwr gtemp sm\n#YYYYMMDD HH:MM:SS Idx W C %\n"
        + "".join(f" 20261127 10:00:{n:02d} 0 {40 + n % 3} 35 0\n" for n in range(30)),
        NOTHING,
    ),
    "perf stat -I -x, with joules of each interval": (
        "# started on Fri Nov 27 14:00:00 2026\n\n"
        + "".join(
            f" {n / 5:.9f},0.{40 + n % 2},Joules,power/energy-pkg/,200000000,100.00,,\n"
            for n in range(1, 31)
        ),
        NOTHING,
    ),
    "a counter of mWh": (
        "t [s],energy (mWh)\n"
        + "".join(f"{n / 5},{n / 10 + n * n / 1e4:.4f}\n" for n in range(31)),
        NOTHING,
    ),
    "microwatts, by the column's name": (
        "timestamp,scaph_host_power_microwatts\n"
        + "".join(f"{1795330800 + n},{4000000 + n % 3}\n" for n in range(30)),
        NOTHING,
    ),
    "a counter of microjoules, by the column's name": (
        "timestamp,scaph_host_energy_microjoules\n"
        + "".join(f"{1795330800 + n},{4000000 * n + n * n}\n" for n in range(31)),
        NOTHING,
    ),
    "a plug of two channels, both": (
        "".join(
            f'{{"Time":"2026-11-29T15:22:{n:02d}","ENERGY":{{"Power":[6.{n % 7},5.5]}}}}\n'
            for n in range(30)
        ),
        TraceOptions(sum=True),
    ),
    "kilowatts": (
        "t [s],Power (kW)\n" + "".join(f"{n},0.00{4 + n % 3}5\n" for n in range(30)),
        NOTHING,
    ),
    "powerstat, whose lines end with blanks": (
        "sudo powerstat\n\n  Time   Idle  Watts  CPU Freq\n"
        + "".join(f"10:00:{n:02d}   95.5   {5 + n % 3}.28  2.27 GHz  \n" for n in range(30)),
        NOTHING,
    ),
    "averages below the rows": (
        '"Elapsed Time (sec)","Processor Power_0(Watt)","GT Frequency(MHz)"\n'
        + "".join(f'"  {n / 10}","  2{n % 3}.170","   0"\n' for n in range(30))
        + '\n"Average Processor Power_0 (Watt) = 22.262827"\n' * 25,
        NOTHING,
    ),
    "a mode, and rows that end with a comma": (
        "t [s],power.management,power.draw [W]\n"
        + "".join(f"{n},Enabled,{19 + n % 3}.4 W,\n" for n in range(30)),
        NOTHING,
    ),
    "tegrastats, month first": (
        "".join(
            f"10-01-2025 20:05:{n:02d} RAM 22/68MB VDD_IN {5542 + n % 3}mW/5542mW"
            " VDD_CPU_GPU_CV 1594mW/1594mW VDD_SOC 1234mW/1234mW\n"
            for n in range(30)
        ),
        NOTHING,
    ),
    "PTDaemon's log of two analysers, the sum first": (
        "".join(
            f"{line % (530 + n % 3)},Analyzer1,{line % 8},Analyzer2,{line % (522 + n % 3)}\n"
            for n in range(30)
            for line in [f"Time,11-28-2024 15:24:{n:02d}.738,Watts,%d,Volts,-1.0,Mark,a_test"]
        ),
        NOTHING,
    ),
    "a power with its unit, alone": (
        "power.draw [W]\n" + "".join(f"{13 + n % 3}.61 W\n" for n in range(30)),
        TraceOptions(rate_hz=10.0),
    ),
    "a name in a program, a phase and an event": (
        "ElapsedSeconds,Power [mW],Phase,Event\n"
        + "".join(
            f"{5 * n},{4220 + n % 3},{'before' if n < 4 else 'load'},{'start' * (n == 4)}\n"
            for n in range(30)
        ),
        TraceOptions(time=("1",)),
    ),
    "rows at a rate": (
        "power [W]\n" + "".join(f"{4 + n % 3}.5\n" for n in range(30)),
        TraceOptions(power=("1",), rate_hz=10.0),
    ),
}


def test_a_row_that_is_the_mean_since_the_last_is_of_the_middle_between_them(
    tmp_path: Path,
) -> None:
    text = "t [s],power [W]\n" + "".join(f"{n},{4 + n % 3}\n" for n in range(30))
    trace = trace_of(tmp_path / "trace.csv", text, TraceOptions(mean=True))
    assert trace.is_mean and trace.t_s[:2].tolist() == [-0.5, 0.5]


def trace_of(path: Path, text: str, options: TraceOptions = NOTHING) -> Trace:
    path.write_text(text, encoding="utf-8")
    return read_trace(path, recognise_format(path, options)).trace


REFUSED = {
    "energies that are said to be means": (
        EXPORTS["a counter of mWh"][0],
        TraceOptions(mean=True),
        "--mean or --moment would change nothing about this file; leave it out",
    ),
    "a current at the mains": (
        "timestamp,voltage [V],current [mA]\n"
        + "".join(f"{1795330800 + n},230.1,{30 + n % 3}\n" for n in range(30)),
        NOTHING,
        "apparent power",
    ),
    "a current at a mains that is given": (
        EXPORTS["PPK2"][0],
        TraceOptions(volts=230.0),
        "At 230 V, a mains voltage",
    ),
    "a current without a voltage": (EXPORTS["PPK2"][0], NOTHING, "add --volts"),
    "no header": (EXPORTS["no header"][0], NOTHING, "add --power COLUMN"),
    "two powers": (EXPORTS["two rails"][0], NOTHING, "Several columns are powers"),
    "times of an unknown unit": (
        "time,power\n" + "".join(f"{n * 100},{4 + n % 3}\n" for n in range(30)),
        NOTHING,
        "add --time-unit",
    ),
    "no time": ("power\n" + "".join(f"{4 + n % 3}.5\n" for n in range(30)), NOTHING, "--rate HZ"),
    "a column that there is not": (
        EXPORTS["UM25C"][0],
        TraceOptions(power=("Watt",)),
        "There is no column 'Watt'",
    ),
    "a rail twice": (
        EXPORTS["two rails"][0],
        TraceOptions(power=("gpu [mW]", "3")),
        "'gpu .mW.' is named twice",
    ),
    "the time as a rail": (EXPORTS["two rails"][0], TraceOptions(power=("t [s]",)), "is the time"),
    "a column of units that change": (
        "t [s],value,unit\n" + "".join(f"{n},{['950,mW', '1.05,W'][n % 2]}\n" for n in range(30)),
        TraceOptions(power=("value",), unit="mW"),
        "The unit changes from row to row .column 'unit': W, mW.",
    ),
    "four rows a second, with whole seconds": (
        "time,power [W]\n" + "".join(f"2026-11-22 07:00:{n // 4:02d},4\n" for n in range(60)),
        NOTHING,
        "give --rate HZ",
    ),
    "a unit that there is not": (
        EXPORTS["UM25C"][0],
        TraceOptions(unit="furlong"),
        "There is no unit 'furlong'",
    ),
    "a unit of something else": (
        EXPORTS["UM25C"][0],
        TraceOptions(power=("Power (W)",), unit="mA"),
        "is not a unit of",
    ),
    "thousands without a unit": (
        "t [s],P\n" + "".join(f"{n},{4000 + n}\n" for n in range(30)),
        NOTHING,
        "The unit of 'P' is not stated",
    ),
    "a unit in the wrong case": (
        "t [s],P (MW)\n" + "".join(f"{n},{4000 + n}\n" for n in range(30)),
        NOTHING,
        "The unit of 'P .MW.' is not stated",
    ),
    "days of a spreadsheet without their unit": (
        EXPORTS["days of a spreadsheet"][0],
        NOTHING,
        "add --time-unit d",
    ),
    "a rate of NaN": (
        EXPORTS["rows at a rate"][0],
        TraceOptions(rate_hz=float("nan")),
        "give it a finite number above 0",
    ),
    "a voltage below zero": (
        EXPORTS["PPK2"][0],
        TraceOptions(volts=-5.0),
        "--volts is the supply's voltage",
    ),
    "a rate of nothing": (
        EXPORTS["rows at a rate"][0],
        TraceOptions(rate_hz=0.0),
        "give it a finite number above 0",
    ),
    "an energy with a unit of power": (
        EXPORTS["a counter of mWh"][0],
        TraceOptions(power=("2",), unit="mW"),
        "is in mWh, not in mW: leave --unit out",
    ),
    "kilowatts of watts": (
        EXPORTS["UM25C"][0],
        TraceOptions(power=("Power (W)",), unit="kW"),
        "is in W, not in kW: leave --unit out",
    ),
    "minutes of seconds": (
        EXPORTS["two rails"][0],
        TraceOptions(power=("2",), time_unit="min"),
        "is in s, not in min: leave --time-unit out",
    ),
    "a power and a voltage": (
        EXPORTS["two rails"][0],
        TraceOptions(power=("2",), volts=5.0),
        "leave --current, --voltage and --volts out",
    ),
    "a supply's voltage beside a power": (
        EXPORTS["UM25C"][0],
        TraceOptions(volts=5.0),
        "--volts would change nothing",
    ),
    "a unit of dates": (
        "time,power [W]\n" + "".join(f"2026-11-22 07:00:{n:02d},4\n" for n in range(60)),
        TraceOptions(time_unit="ms"),
        "--time-unit would change nothing",
    ),
    "a unit of rows at a rate": (
        EXPORTS["rows at a rate"][0],
        replace(EXPORTS["rows at a rate"][1], time_unit="ms"),
        "--time-unit would change nothing",
    ),
    "the order of a date's numbers, of seconds": (
        EXPORTS["two rails"][0],
        TraceOptions(power=("2",), day_first=True),
        "--month-first would change nothing",
    ),
    "a voltage of no current": (
        EXPORTS["UM25C"][0],
        TraceOptions(voltage=("Voltage (V)",)),
        "Give --voltage only with --current",
    ),
    "two entities": (
        "entity_id,state,last_changed\n"
        + "".join(
            f"sensor.plug_{('power', 'energy')[n % 2]},{n % 3 + 4}.5,2026-11-22T07:00:{n:02d}Z\n"
            for n in range(30)
        ),
        NOTHING,
        "belong to 2 series: 'sensor.plug_power' .15 rows., 'sensor.plug_energy' .*--series",
    ),
    "an entity that is no power": (
        EXPORTS["Home Assistant"][0].replace("sensor.p,", "sensor.plug_energy,"),
        TraceOptions(series=("sensor.plug_energy",)),
        "By its name, the series .* is not a power",
    ),
    "an entity that there is not": (
        EXPORTS["Home Assistant"][0],
        TraceOptions(series=("sensor.q",)),
        "There is no series 'sensor.q'; the file has 'sensor.p' .30 rows.",
    ),
    "one entity, an energy by its name": (
        EXPORTS["Home Assistant"][0].replace("sensor.p,", "sensor.plug_energy,"),
        NOTHING,
        "By its name, the series .* is not a power",
    ),
    "series in several units": (
        "time,entity_id,value,unit\n"
        + "".join(
            f"2026-11-22T07:00:{n:02d}Z,{row}\n"
            for n in range(30)
            for row in (f"sensor.a,{n % 3},mW", "sensor.b,230,V")
        ),
        NOTHING,
        "several series: 'sensor.a' in mW, 'sensor.b' in V. Add --series NAME",
    ),
    "microwatts of a scraper, by nothing but their size": (
        "t [s],power\n" + "".join(f"{n},{2975364 + n % 3}\n" for n in range(30)),
        NOTHING,
        "add --unit with one of W, mW, uW, kW, J, mJ, uJ",
    ),
    "perf stat of two events": (
        "".join(
            f" {n}.000000000,{row}\n"
            for n in range(1, 31)
            for row in (
                f"6.2{n % 7},Joules,power/energy-pkg/,1000265378,100.00,,",
                f"1.2{n % 7},Joules,power/energy-ram/,1000265378,100.00,,",
            )
        ),
        NOTHING,
        "belong to 2 series: 'power/energy-pkg/' .30 rows., 'power/energy-ram/'.*or --sum",
    ),
    "a plug of two channels": (
        "".join(
            f'{{"Time":"2026-11-29T15:22:{n:02d}","ENERGY":{{"Power":[6.{n % 7},5.0]}}}}\n'
            for n in range(30)
        ),
        NOTHING,
        "belong to 2 series: 'channel 1' .30 rows., 'channel 2' .30 rows.",
    ),
    "the comments of Prometheus": (
        "".join(
            "# HELP power_uw Power of the host\n# TYPE power_uw gauge\n"
            f'power_uw{{sensor="pkg"}} 29700{n % 7} {1795965723525 + n * 1000}\n'
            for n in range(30)
        ),
        NOTHING,
        "Of the columns '1', '2', none is clearly the power",
    ),
    "blocks of powermetrics": (
        "*** Sampled system activity (Sun Nov 29 15:22:03 2026 +0000) (1000.12ms elapsed) ***\n\n"
        "**** Processor usage ****\n\nCPU Power: 2058 mW\nGPU Power: 900 mW\n" * 20,
        NOTHING,
        "powermetrics writes a block of lines for each sample",
    ),
    "rows in no order": (
        "t [s],power [W]\n" + "".join(f"{n * 389 % 997},{4 + n % 3}\n" for n in range(997)),
        NOTHING,
        "its rows are not in order: sort them by time",
    ),
    "a decimal comma between commas": (
        "Timestamp,Power (W)\n"
        + "".join(f"2026-11-29 15:22:{n:02d},30,{n % 9}\n" for n in range(30)),
        TraceOptions(power=("2",), unit="W"),
        "has 2 columns .Timestamp, Power .W.., and its rows have 3",
    ),
    "sentences": (
        "  Power reading now:   97 Watts\n  Minimum during the period:   75 Watts\n"
        "  Average power reading over the period:   90 Watts\n"
        "  Time of the last reading:   Sun Mar 6 2022\n  Period:   0123 Seconds.\n",
        TraceOptions(rate_hz=1.0),
        "is not a table",
    ),
    "messages in JSON": (
        "".join(
            f'08:27:{n:02d} MQTT: tele/plug/STATE = {{"Time":"08:27", "Power":{n % 3}}}\n'
            for n in range(30)
        ),
        NOTHING,
        "JSON",
    ),
    "three cards, each once": (
        "device,Name,Power (W)\ncard0,RX,19.0\ncard1,RX,18.0\ncard2,RX,19.0\n",
        TraceOptions(rate_hz=1.0),
        "belong to 3 series: 'card0' .1 rows",
    ),
    "a column that was added later": (
        "t [s],total [W],memory [MB]\n"
        + "".join(f"{n},{30 + n % 3},16303\n" for n in range(500))
        + "".join(f"{n},cpu,{30 + n % 3},16303\n" for n in range(500, 600)),
        TraceOptions(power=("3",), unit="W"),
        "100 rows with more than the 3 columns of its first lines",
    ),
    "a counter of two rows": (
        "entity_id,state,last_changed\n"
        + "".join(f"sensor.b,18894.{n},2026-11-29T2{n}:00:00Z\n" for n in (1, 3)),
        TraceOptions(unit="kWh"),
        "rises 1 times in 2 rows",
    ),
    "an entity without a name": (
        "time [s],entity_id,power [W]\n"
        + "".join(f"{n},{'sensor.b' * (n % 2)},{4 + n % 3}.1\n" for n in range(30)),
        NOTHING,
        "belong to 2 series: '' .15 rows",
    ),
    "an energy by its name, in watts": (
        "entity_id,state,last_changed\n"
        + "".join(f"sensor.a_energy,1889{n % 3}.1,2026-11-29T22:{n}:00Z\n" for n in range(10, 40)),
        TraceOptions(unit="W"),
        "is the name of an energy",
    ),
    "text": ("so be it\n" * 50, NOTHING, "is not a table"),
    "nothing": ("", NOTHING, "fewer than two rows"),
    "zeros of a disk": ("\0" * 5000, NOTHING, "binary file"),
    "times that stand still": (
        "time [s],power [W]\n" + "5,3\n" * 50,
        NOTHING,
        "with a time that is not after",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_told_is_refused(name: str, tmp_path: Path) -> None:
    text, options, message = REFUSED[name]
    with pytest.raises(SuiteError, match=message):
        trace_of(tmp_path / "trace.csv", text, options)


def test_a_chosen_series_has_the_unit_of_its_rows(tmp_path: Path) -> None:
    text = REFUSED["series in several units"][0]
    trace = trace_of(tmp_path / "trace.csv", text, TraceOptions(series=("sensor.a",)))
    assert trace.power_w[:3] == pytest.approx([0, 0.001, 0.002])


def test_a_counter_of_energy_is_no_power(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    rows = [f"2026-11-22T07:00:{n:02d}Z,sensor.b,{12 + (n % 40) / 100}\n" for n in range(60)]
    path.write_text("time,entity_id,state\n" + "".join(rows), encoding="utf-8")
    with pytest.raises(SuiteError, match="may be an energy counter"):
        read_logger(path, NOTHING)
    assert read_logger(path, TraceOptions(unit="kWh"))[0].is_energy


def test_a_header_that_is_repeated_for_each_reading_is_no_row(tmp_path: Path) -> None:
    """`rocm-smi --showpower --csv` in a loop: two cards a second, no times."""
    text = "".join(
        f"device,Power (W),use (%)\ncard0,{59 + n % 3}.5,80\ncard1,{61 + n % 2}.5,80\n\n"
        for n in range(30)
    )
    path = tmp_path / "trace.csv"
    one = trace_of(path, text, TraceOptions(rate_hz=2.0, series=("card0",)))
    both = trace_of(path, text, TraceOptions(rate_hz=2.0, sum=True))
    assert (one.power_w[0], both.power_w[0]) == (59.5, 60.5 + 62.0), "card1 is half a period later"
    assert len(one.t_s) == 30 and np.diff(one.t_s).tolist() == [1.0] * 29


def test_what_was_understood_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(EXPORTS["Otii, decimal commas"][0], encoding="utf-8")
    said = format_sentence(recognise_format(path, NOTHING))
    assert (
        said
        == "Columns between semicolons, decimal comma; time from 'Timestamp' (s); power = 'Main"
        " current (A)' (A) x 'Main voltage (V)' (V)."
    )


def two_devices(column: str, second: str, lag_s: float) -> str:
    """4 W and 6 W, rows in turn."""
    return f"time [s],{column}power [W]\n" + "".join(
        f"{n + lag_s * place:.3f},{name}{4 + 2 * place + n % 3 / 10}\n"
        for n in range(60)
        for place, name in enumerate(("0," if column else "", second))
    )


@pytest.mark.parametrize("lag_s", [0.0, 0.01, 0.5])
def test_devices_in_turn_are_chosen_or_added(lag_s: float, tmp_path: Path) -> None:
    path, text = tmp_path / "trace.csv", two_devices("gpu,", "1,", lag_s)
    with pytest.raises(SuiteError, match=r"'0' .60 rows., '1' .60 rows.\. Add --series NAME"):
        trace_of(path, text)
    assert trace_of(path, text, TraceOptions(series=("1",))).power_w[0] == 6.0
    with pytest.raises(SuiteError, match="'1' is named twice"):
        trace_of(path, text, TraceOptions(series=("1", "1")))
    for options in (TraceOptions(sum=True), TraceOptions(series=("0", "1"))):
        both = trace_of(path, text, options)
        assert both.power_w.max() <= 10.4 and both.power_w.min() >= 10.0


@pytest.mark.parametrize(
    "changed",
    [
        {"time_columns": []},
        {"time_kind": "date", "time_form": "day-month day"},
        {"rails": [{"power": 2}, {"power": 2}]},
        {"rails": [{"power": 2, "power_unit": "A"}]},
    ],
    ids=["no column of the times", "a form that there is not", "a rail twice", "A for W"],
)
def test_a_record_whose_parts_do_not_belong_together_is_refused(
    changed: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(two_devices("gpu,", "1,", 0.01), encoding="utf-8")
    recorded = asdict(recognise_format(path, NOTHING))
    assert format_of(recorded, path) == recognise_format(path, NOTHING)
    with pytest.raises(FileError, match="power trace format"):
        format_of({**recorded, **changed}, path)


def test_a_log_whose_last_line_is_cut_off_loses_that_line(tmp_path: Path) -> None:
    lines = [
        f"11-27-2026 10:00:{n:02d} RAM 2448/7771MB VDD_IN {4500 + n}mW/4500mW" for n in range(30)
    ]
    trace = trace_of(tmp_path / "tegrastats.txt", "\n".join([*lines, lines[0][:30]]))
    assert len(trace.t_s) == 30 and trace.power_w[-1] == pytest.approx(4.529)


def test_odd_messages_of_a_plug_are_read_at_once_or_left_out() -> None:
    names = logs.log_names(logs.TASMOTA, [])
    text = 'tele/plug/SENSOR = {"Time": 5, "ENERGY": {"Power": 4}}\n{"ENERGY":' + "[" * 100_000
    assert logs.log_table(logs.TASMOTA, text + "}\n", names) == "5\ttele/plug\t4.0\n"


def test_a_log_without_a_whole_line_is_refused(tmp_path: Path) -> None:
    line = '11-27-2026 10:00:00 RAM 2448/7771MB {"ENERGY":.5C VDD_SOC 1350mW VDD_IN 45'
    with pytest.raises(SuiteError, match="no line of"):
        trace_of(tmp_path / "trace.csv", f"{line}\n" * 9 + '{"ENERGY": {}}\n' * 9)


def test_a_device_without_readings_is_not_left_out_of_a_sum(tmp_path: Path) -> None:
    text = "time [s],gpu,power [W]\n" + "".join(
        f"{n + place / 100},{place},{watts}\n"
        for n in range(60)
        for place, watts in enumerate(("4", "6", "[N/A]"))
    )
    path = tmp_path / "trace.csv"
    with pytest.raises(SuiteError, match="'2' has no readings to add"):
        trace_of(path, text, TraceOptions(sum=True))
    assert trace_of(path, text, TraceOptions(series=("0", "1"))).power_w[0] == 10.0


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_a_sum_has_no_readings_where_one_of_its_series_is_silent(
    order: tuple[str, str], tmp_path: Path
) -> None:
    """Plug b from 20 s to 40 s; records of earlier versions go on from its last power to its
    next."""
    path = tmp_path / "trace.csv"
    path.write_text(
        "time [s],plug,power [W]\n"
        + "".join(
            f"{n + place / 10},{plug},{watts}\n"
            for n in range(60)
            for place, (plug, watts) in enumerate((("a", 4), ("b", 6)))
            if plug == "a" or not 20 <= n < 40
        )
    )
    how = recognise_format(path, TraceOptions(series=order))
    trace = read_trace(path, how).trace
    assert not np.any((trace.t_s > 20.5) & (trace.t_s < 38.5))
    assert len(trace.t_s) in (39, 41) and set(trace.power_w) == {10.0}
    before = read_trace(path, replace(how, keeps_gaps=False)).trace
    assert len(before.t_s) == {"a": 59, "b": 39}[order[0]]


@pytest.mark.parametrize("lag_s", [0.01, 0.5])
def test_rows_in_turn_that_name_no_device_are_noticed(lag_s: float, tmp_path: Path) -> None:
    trace = trace_of(tmp_path / "trace.csv", two_devices("", "", lag_s))
    assert turns_of(trace.t_s, trace.power_w) == 2


def test_one_device_rarely_seems_to_take_turns() -> None:
    """A load that rises and falls, with noise, in even spacings, at random moments, or with whole
    seconds of a logger of 1.5 s: only a load that keeps step with the logger is asked about."""
    found = []
    for seed in range(30):
        random = np.random.default_rng(seed)
        even_s = np.arange(400) * 0.5
        power_w = 6 + 2 * np.sin(even_s * random.uniform(0.1, 6)) + random.normal(0, 0.3, 400)
        for t_s in (even_s, even_s + random.uniform(0, 0.5, 400), np.floor(even_s * 3)):
            found.append(turns_of(t_s, power_w) > 1)
    assert np.mean(found) < 0.05


def test_a_row_that_was_written_on_a_change_holds_until_the_next(tmp_path: Path) -> None:
    """Home Assistant's history: 2 W for 10 s, 9 W for 20 s, 2 W for 30 s, not a slope between."""
    text = "entity_id,state,last_changed\n" + "".join(
        f"sensor.p,{watts},2026-11-22T07:{second // 60:02d}:{second % 60:02d}Z\n"
        for second, watts in ((0, 2), (10, 9), (30, 2), (60, 2.1))
    )
    trace = trace_of(tmp_path / "trace.csv", text)
    assert np.trapezoid(trace.power_w, trace.t_s) == pytest.approx(260, rel=0.005)


def test_nothing_holds_beyond_a_row_without_a_number(tmp_path: Path) -> None:
    """A plug that Home Assistant did not reach from 10 s to 30 s; records of earlier versions hold
    its power until then."""
    path = tmp_path / "trace.csv"
    states = ((0, "2"), (10, "unavailable"), (30, "9"), (60, "2"))
    path.write_text(
        "entity_id,state,last_changed\n"
        + "".join(f"sensor.p,{state},{1795330800 + second}\n" for second, state in states)
    )
    how = recognise_format(path, NOTHING)
    trace = read_trace(path, how).trace
    read_s = trace.t_s - trace.t_s[0]
    assert not np.any((read_s > 9.99) & (read_s < 29.99))
    assert (trace.rows, trace.unreadable) == (4, 1)
    assert set(trace.power_w[read_s < 10]) == {2.0}
    assert set(trace.power_w[(read_s > 30) & (read_s < 59.9)]) == {9.0}
    before = read_trace(path, replace(how, keeps_gaps=False)).trace
    assert before.power_w[(before.t_s - before.t_s[0]) < 29].tolist() == [2.0] * 290


def test_a_number_in_the_second_of_a_row_without_one_holds(tmp_path: Path) -> None:
    """A plug that started again."""
    path = tmp_path / "trace.csv"
    states = ((0, "2"), (10, "unavailable"), (10, "5"), (30, "9"), (60, "2"))
    path.write_text(
        "entity_id,state,last_changed\n"
        + "".join(f"sensor.p,{state},{1795330800 + second}\n" for second, state in states)
    )
    trace = read_trace(path, recognise_format(path, NOTHING)).trace
    read_s = trace.t_s - trace.t_s[0]
    assert set(trace.power_w[(read_s > 10) & (read_s < 29.9)]) == {5.0}


def test_a_power_with_the_other_sign_is_not_attached(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("t [s],power [W]\n" + "".join(f"{n},-{4 + n % 3}.1\n" for n in range(30)))
    with pytest.raises(SuiteError, match="below 0 on average"):
        read_logger(path, NOTHING)


def test_a_counter_that_was_reset_loses_one_interval() -> None:
    t_s, energy_j = np.arange(100.0), np.arange(100.0) * 5
    energy_j[60:] -= energy_j[60]
    middles_s, power_w = power_of_energies(t_s, energy_j)
    assert (len(middles_s), set(power_w)) == (98, {5.0})


def test_a_packed_file_is_the_same(tmp_path: Path) -> None:
    text = EXPORTS["UM25C"][0]
    plain, packed = tmp_path / "trace.csv", tmp_path / "trace.csv.gz"
    plain.write_text(text, encoding="utf-8")
    packed.write_bytes(gzip.compress(text.encode()))
    one, other = (read_trace(path, recognise_format(path, NOTHING)) for path in (plain, packed))
    assert (one.sha256, one.trace.power_w.tolist()) == (other.sha256, other.trace.power_w.tolist())


@pytest.mark.parametrize("between", ["", "a new day,\n", "--- 2026-12-01 ---,\n"])
@pytest.mark.parametrize("is_block", [False, True])
def test_times_of_day_go_on_past_midnight(
    is_block: bool, between: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a row without a time is between, and where it ends a block of the file."""
    evening = "Time,Power (W)\n" + "".join(f"23:59:{n},4\n" for n in range(30, 60)) + between
    if is_block:
        monkeypatch.setattr(reading, "BLOCK_BYTES", len(evening))
    text = evening + "".join(f"00:00:{n:02d},5\n" for n in range(30))
    trace = trace_of(tmp_path / "trace.csv", text)
    assert np.diff(trace.t_s).tolist() == [1.0] * 59
    assert (trace.late, trace.unreadable) == (0, 1 if between else 0)


def test_rows_that_go_back_in_time_are_left_out(tmp_path: Path) -> None:
    """The recorders' totals in the last line of a trace, for example."""
    trace = trace_of(
        tmp_path / "trace.csv",
        "time [s],power [W]\n" + "".join(f"{n / 2},4\n" for n in range(50)) + "0,99999\n",
    )
    assert (len(trace.t_s), trace.late, trace.power_w.max()) == (50, 1, 4.0)


@pytest.mark.parametrize("block_bytes", [400, 2**20])
def test_a_file_with_too_many_rows_is_averaged_and_keeps_its_energy(
    block_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MAX_READINGS", 300)
    monkeypatch.setattr(reading, "BLOCK_BYTES", block_bytes)
    power_w = np.random.default_rng(0).uniform(2, 9, 10_007)
    text = "time [s],power [W]\n" + "".join(
        f"{n / 1000:.3f},{watts:.4f}\n" for n, watts in enumerate(power_w)
    )
    trace = trace_of(tmp_path / "trace.csv", text)
    assert 300 <= len(trace.t_s) <= 600
    assert trace.averaged == 32
    period_s = trace.averaged / 1000
    whole = len(trace.t_s) * trace.averaged
    assert trace.power_w.sum() * period_s == pytest.approx(
        np.round(power_w, 4)[:whole].sum() / 1000, rel=1e-9
    )
    assert np.diff(trace.t_s) == pytest.approx(period_s)


def test_a_line_without_an_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(EXPORTS["UM25C"][0] + "1" * 100_000, encoding="utf-8")
    monkeypatch.setattr(reading, "BLOCK_BYTES", 1000)
    with pytest.raises(SuiteError, match="a line of more than"):
        read_trace(path, recognise_format(path, NOTHING))


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv.gz"
    path.write_bytes(
        gzip.compress(
            ("time [s],power [W]\n" + "".join(f"{n},4\n" for n in range(100_000))).encode()
        )
    )
    with pytest.raises(SuiteError, match="holds more than 100000 bytes"):
        read_trace(path, recognise_format(path, NOTHING), max_bytes=100_000)


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_a_micro_sign_is_one_in_a_file_that_is_longer_than_its_head(
    encoding: str, tmp_path: Path
) -> None:
    """In UTF-8 the head ends within one."""
    path = tmp_path / "trace.csv"
    rows = "".join(f"{n:07d},990000 µW\n" for n in range(5000))
    path.write_text(f"t [s],P\n{rows}", encoding=encoding)
    assert (path.read_bytes()[HEAD_BYTES - 1] == 0xC2) is (encoding == "utf-8")
    how = recognise_format(path, NOTHING)
    assert how.encoding == encoding and read_trace(path, how).trace.power_w == pytest.approx(0.99)


def test_units_of_cells_and_signs_of_thousands_keep_every_reading(tmp_path: Path) -> None:
    """950 mW, 1.05 W, 990000 µW; 990.5, 1,000.5: no row is a thousandfold of its neighbour, and
    none is lost."""
    by_range = trace_of(tmp_path / "range.csv", EXPORTS["a meter that chooses its range"][0])
    assert by_range.power_w[:3] == pytest.approx([0.95, 1.05, 0.99])
    for name in (
        "thousands",
        "thousands without decimals",
        "German thousands",
        "French thousands",
        "millions with points",
    ):
        trace = trace_of(tmp_path / "trace.csv", EXPORTS[name][0])
        assert np.diff(trace.power_w) == pytest.approx(0.01), name
        assert trace.unreadable == 0


@pytest.mark.parametrize(
    ("header", "row", "sign"),
    [
        ("Time;Leistung [mW]", "2026-11-29 15:22:{n:02d}.252;{watts}.125", "."),
        ("t [s],P [mW]", '{n},"{watts},125"', ","),
        ("Time;Power", "2026-11-29 15:22:{n:02d};{watts},125 mW", ","),
    ],
)
def test_three_digits_behind_one_sign_are_decimals_or_thousands_by_what_is_stated(
    header: str, row: str, sign: str, tmp_path: Path
) -> None:
    text = f"{header}\n" + "".join(row.format(n=n, watts=4 + n % 3) + "\n" for n in range(30))
    unit, path = 1.0 if "[W]" in header else 1e-3, tmp_path / "trace.csv"
    asked = (
        rf"add `--decimal .` if 4\{sign}125 means 4125; add `--decimal \{sign}` if it means a"
        " number between 4 and 5"
    )
    with pytest.raises(SuiteError, match=asked):
        trace_of(path, text)
    decimals, thousands = (
        trace_of(path, text, TraceOptions(decimal=each)).power_w[0] / unit
        for each in (sign, "." if sign == "," else ",")
    )
    assert (decimals, thousands) == (pytest.approx(4.125), pytest.approx(4125))


def test_points_in_a_file_with_decimal_commas_are_asked_for(tmp_path: Path) -> None:
    text = "t [s];U [V];P [mW]\n" + "".join(f"{n},5;5,0;4.125\n" for n in range(30))
    path = tmp_path / "trace.csv"
    with pytest.raises(
        SuiteError, match=r"`--decimal ,` if 4\.125 means 4125; export the file with one"
    ):
        trace_of(path, text)
    assert trace_of(path, text, TraceOptions(decimal=",")).power_w[0] == pytest.approx(4.125)


@pytest.mark.parametrize(
    "text",
    [
        "time,power [W]\n" + "2026-11-29 15:22:{n:02d},{watts}.125\n",
        "time;power [W];load\n" + "2026-11-29 15:22:{n:02d};{watts}.125;0.5\n",
        "Zeit;Leistung [W]\n" + "29.11.2026 15:22:{n:02d},250;{watts},125\n",
        "t;power [W]\n" + "{n}.5;{watts}.125\n",
    ],
    ids=["between commas", "another column", "the seconds of the times", "times in s"],
)
def test_three_decimals_are_known_where_the_file_shows_the_decimal_sign(
    text: str, tmp_path: Path
) -> None:
    header, _, row = text.partition("\n")
    rows = "".join(row.format(n=n, watts=4 + n % 3) for n in range(30))
    assert trace_of(tmp_path / "trace.csv", f"{header}\n{rows}").power_w[0] == pytest.approx(4.125)


def test_two_rows_in_one_second_do_not_lose_one_of_them_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "Time,Power (W)\n"
        + "".join(f"2026-11-22 07:00:{n // 2:02d},{4 + n * n % 23}\n" for n in range(100)),
        encoding="utf-8",
    )
    with pytest.raises(SuiteError, match="--rate HZ"):
        read_trace(path, recognise_format(path, NOTHING))
    assert len(read_trace(path, recognise_format(path, TraceOptions(rate_hz=2.0))).trace.t_s) == 100
    with pytest.raises(SuiteError, match="export again with a column that names the device"):
        read_trace(path, recognise_format(path, TraceOptions(sum=True)))


def test_rows_of_one_time_that_differ_as_devices_do_are_added_and_never_read_at_a_rate(
    tmp_path: Path,
) -> None:
    """`nvidia-smi --query-gpu=timestamp,power.draw` of four GPUs within 5 % of one another."""
    random, path = np.random.default_rng(0), tmp_path / "trace.csv"
    load_w = np.repeat(120 + 80 * random.random(60), 4) * np.tile([0.98, 1.03, 1.0, 0.97], 60)
    rows = [
        f"2026/11/29 15:22:{n // 4:02d}.000, {watts:.2f} W\n"
        for n, watts in enumerate(load_w + random.normal(0, 0.5, 240))
    ]
    text = "timestamp, power.draw [W]\n" + "".join(rows)
    for options in (NOTHING, TraceOptions(rate_hz=4.0, power=("power.draw [W]",))):
        with pytest.raises(SuiteError, match="as if 4 devices wrote in turn: add --sum"):
            trace_of(path, text, options)
    both = trace_of(path, text, TraceOptions(sum=True))
    assert both.power_w == pytest.approx(load_w.reshape(60, 4).sum(axis=1), abs=5)


def test_numbers_of_two_forms_in_one_file_are_refused(tmp_path: Path) -> None:
    """Half of the rows cannot be read, and the others are a thousand times too small: 1.000 is 1000
    where the times have decimal commas."""
    path = tmp_path / "t.csv"
    rows = [f"{n // 2},{n % 2 * 5};{'1.000' if n % 2 else '1.234,5'}\n" for n in range(100)]
    path.write_text("t [s];P [mW]\n" + "".join(rows), encoding="utf-8")
    how = replace(recognise_format(path, NOTHING), decimal=".")
    with pytest.raises(SuiteError, match=r"numbers that differ in form: .* rows are like '"):
        read_trace(path, how)
