"""What runs in a framework's environment; imported there as extensions.viewpoint.programs."""
