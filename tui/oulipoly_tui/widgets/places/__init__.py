"""What is read from its end or from anywhere in it: places whose lines are made when they are looked at."""
