"""Remedies that many rules share: what a submitter can do about a finding."""

COPY_AGAIN = "copy the whole run directory again; results are never edited, only superseded"
TRAINING_LOOP = (
    "the suite's training loop does not write such records: hand in the files as the run wrote "
    "them, or fix the implementation"
)
READINGS_AS_READ = (
    "hand in the readings and the meters' records as they were recorded; if a meter was wrong, "
    "fix it and run again"
)
