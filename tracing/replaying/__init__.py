"""Running a recorded run again: the same loop, with the record in the place of the model and the tools."""
