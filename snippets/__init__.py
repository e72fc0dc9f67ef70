"""One method, one file: each file here needs only torch and copies alone."""
