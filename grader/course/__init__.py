"""The course: its data classes, the reader of its files, and the data classes of feedback and results."""
