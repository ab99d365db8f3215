"""One driver module a lesson: builds model, optimizer and data from a seed and calls the student's function."""
