"""Evenkeel plans, predicts and diagnoses the training of large models.

Results are those of the command `evenkeel`; `.json()` of a result is the command's JSON. Times are in the unit of the
layers' times (ms where a device models them), memory is in MB of 2^20 bytes unless a name says bytes.
"""
from evenkeel._balance import Balance, balance
from evenkeel._base import Error, EvenkeelWarning, InputError, Progress, Result, Stopped, SystemFailure, text_of
from evenkeel._calibrate import Calibration, calibrate
from evenkeel._evenkeel import lib as _lib
from evenkeel._job import Estimate, Job, Memory, estimate, memory, read_job
from evenkeel._layers import Layers, make_layers, read_layers
from evenkeel._layout import Layout, Layouts, plan
from evenkeel._plan import Plan, frameworks, read_plans, schedules
from evenkeel._simulate import Case, Simulation, simulate
from evenkeel._trace import Trace, read_trace
from evenkeel._uniform import Uniform, simulate_uniform

__all__ = ["Balance", "Calibration", "Case", "Error", "Estimate", "EvenkeelWarning", "InputError", "Job", "Layers",
           "Layout", "Layouts", "Memory", "Plan", "Progress", "Result", "Simulation", "Stopped", "SystemFailure",
           "Trace", "Uniform", "balance", "calibrate", "estimate", "frameworks", "make_layers", "memory", "plan",
           "read_job", "read_layers", "read_plans", "read_trace", "schedules", "simulate", "simulate_uniform"]

__version__ = text_of(_lib.ek_version())

for _name in __all__:  # their names in help() and in tracebacks
    globals()[_name].__module__ = __name__
