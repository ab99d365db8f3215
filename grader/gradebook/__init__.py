"""Points measured -> the mark that counts: policy, lateness, marks by hand. Nothing here is measured anew."""
