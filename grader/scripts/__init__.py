"""Watch a learner's own training script while it runs and say what is wrong with its loop."""
