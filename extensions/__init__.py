"""What a researcher adds to the suite, one folder each; imported as suite.extensions."""
