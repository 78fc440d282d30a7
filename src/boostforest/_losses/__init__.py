"""What a forest minimises."""
