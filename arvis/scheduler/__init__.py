"""What begins by itself: the times of schedules come, and become work."""
