"""Counted training steps: their record is sealed, and nothing else was kept."""

from suite.compliance.rule import Rule
from suite.extensions.counted_steps.record import COUNTED_STEPS

RECORD = COUNTED_STEPS
RULES: tuple[Rule, ...] = ()
