"""What every part may use and no reader of the search needs: files, signals, threads, wings, names of arguments."""
