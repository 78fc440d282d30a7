"""What the public estimators share."""
