"""Find pairs of submissions more alike than chance and the course explain: places to look at, not verdicts."""
