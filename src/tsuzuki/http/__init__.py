"""What every HTTP answer has, whoever gives it: an id, a log line, safe headers, an honest error."""
