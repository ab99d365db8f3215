"""Functions that a learner calls in a notebook, and their terminal forms: check, hint, predict, progress, microscope,
watch."""
