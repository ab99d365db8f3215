"""The last step of grading: feedback and results as text, HTML, JSON and CSV. Nothing here judges anything."""
