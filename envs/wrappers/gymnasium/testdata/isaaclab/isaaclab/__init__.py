"""A stand-in for Isaac Lab 2.3, for tests of gorl's bridge alone; isaaclab_tasks/fish.py says what is like the original."""
