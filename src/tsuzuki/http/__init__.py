"""What every HTTP answer shares: request ids, logs, headers, errors, sign-in, metrics."""
