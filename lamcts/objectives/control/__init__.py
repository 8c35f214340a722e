"""Things to be controlled: gaits, a lander, pushing hands, a rover."""
