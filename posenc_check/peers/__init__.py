"""Other people's code, run in environments of its own; what it answered is kept in results/."""
