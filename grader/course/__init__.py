"""The course: its nouns, the reader of its files, and what is said to a learner about an exercise."""
