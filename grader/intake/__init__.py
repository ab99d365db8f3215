"""Downloads of learning systems -> a class: whose files they are, by the roster; nothing is executed."""
