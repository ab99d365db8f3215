"""Grade a whole class: several submissions at once, on this machine or a cluster, keeping results as they come."""
