"""What every part may use: types, checks, threads, progress, random draws."""
