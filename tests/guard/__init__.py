"""The guard: each module closes one way in which a page could fool its reader."""
