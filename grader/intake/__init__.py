"""Turn a learning system's download into a class: who handed in what. Nothing is executed here."""
