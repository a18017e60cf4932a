"""Programs that take turns with the harness, which pauses and continues them: for every
implementation of the checkout."""
