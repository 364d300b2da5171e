"""What scp_ray costs, against the libraries under it: scripts, thresholds, results."""
