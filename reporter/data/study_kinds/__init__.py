"""One module per kind of study. A module that declares STUDY_KIND is found by
:func:`reporter.data.studies.study_kinds`."""
