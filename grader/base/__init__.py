"""General helpers that every room may use and that know nothing of the course: errors, files, tables, names."""
