"""What a learner uses: check and hint in a notebook, progress, the folder of lessons."""
