"""Laws of simulated boards for `python -m benchmarks.predict_modes`: one file each, written before the model was tuned.

A law is a Python file with two functions, ``time_s(mode)`` and ``power_w(mode)``. ``mode`` maps ``cores``, ``cpu_mhz``, ``gpu_mhz`` and ``emc_mhz``
to numbers. ``held_out_*.py`` were not looked at while the model was tuned. No law is a measurement.
"""
