"""Known wrong forms, simulated in float64: what an implementation with one fault would return."""
