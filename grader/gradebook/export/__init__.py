"""Results -> files that other systems take: Canvas, Moodle, Gradescope, GitHub, JUnit."""
