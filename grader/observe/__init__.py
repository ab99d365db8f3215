"""Run a program and record what it does. This room goes into the sandbox, so it knows no answers.

`play.play` is the way in: it plays a driver's scenarios with a program that `program.load_program` has loaded. A
scenario records by `recorder.Recorder`, which uses most of the other modules. What comes out is a `trace.Trace`.
"""
