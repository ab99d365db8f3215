"""Turn a learning system's download into a class: find each student's files and match them with the roster. Runs
nothing."""
