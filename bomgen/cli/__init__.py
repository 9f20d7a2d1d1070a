"""The command line: one module for a command or two that are akin, and the modules that commands share."""
