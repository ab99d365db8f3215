"""What an author uses: a lesson's source -> the learner's notebook and the executed solution."""
