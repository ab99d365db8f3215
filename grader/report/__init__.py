"""Write feedback and results as text, HTML, JSON and CSV: the last step of grading. Nothing here judges anything."""
