"""What every room may use and what knows nothing of the course: errors, files, tables, names for messages."""
