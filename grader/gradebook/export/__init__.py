"""Write results as files that other systems import: Canvas, Moodle, Gradescope, GitHub, JUnit."""
