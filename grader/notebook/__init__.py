"""What a learner calls in a notebook or watches in a terminal: check, hint, predict, progress, microscope, watch."""
