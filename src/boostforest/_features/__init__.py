"""From the user's table to the features that trees see."""
