"""How the scripts run things: every run a process of its own on one thread, one row a run, resumable.

task     what a run is, and seeds in words         search   what a method sees of a run
measure  one run in this process                   worker   ... as a process, started by
pool     processes, some at a time                 sheet    one CSV: a script's rows
ledger   a folder of rows and curves, for `run`    clock    seconds inside LAPACK
script   the options that all scripts share        versions what a row was made with
panels   figures of several panels
"""
