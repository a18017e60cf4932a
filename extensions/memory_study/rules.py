"""Studies of memory: their record is sealed, and nothing else was kept."""

from suite.compliance.rule import Rule
from suite.extensions.memory_study.record.study_file import MEMORY_STUDY

RECORD = MEMORY_STUDY
RULES: tuple[Rule, ...] = ()
