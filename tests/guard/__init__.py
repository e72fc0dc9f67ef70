"""The guard: what makes the text of this site worth trusting. Each module closes one way of fooling the reader."""
