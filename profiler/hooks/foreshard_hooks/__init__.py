"""What all hooks of Python programs share."""
