"""The microscope: one real update of a learner's function beside the right one, line by line."""
