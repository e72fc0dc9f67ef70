"""What is measured: scripts, and their results as JSON in lab/results."""
