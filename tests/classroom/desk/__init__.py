"""The desk: answers judged by hand in the browser."""
