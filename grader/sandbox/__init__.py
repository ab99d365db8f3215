"""Run submissions isolated and bring back the traces of what they did.

The processes, from the outside to the inside:

1. The grader: `client.py Child` sends requests and reads answers; `no_answer.py` says why there is none. `parcels.py`
   packs an exercise's driver.
2. A cgroup where there is one (`cgroups.py`), and in it bubblewrap (`bubblewrap.py`).
3. The server, a warmed process that has imported torch (`inside/server.py`). `server_process.py` starts it by the
   command in `server_command.py`. One's own file needs no isolation: then it is forked from the grader, without layer
   2 (`forked_server.py`, where its `can_fork` allows it). What it and a child say to the grader: `inside/protocol.py`.
4. For each child a *keeper*, which the server forks: it makes the child's namespaces and reports its end.
5. The *child* (`inside/child.py`), which gives up its rights (`inside/isolation.py`, `inside/seccomp.py`) and then
   executes the submission. `inside/hidden_modules.py` executes the driver in it; `inside/originals.py`,
   `inside/protected_functions.py`, `inside/noted_assignments.py`, `inside/dict_versions.py`, `inside/dispatcher.py` and
   `inside/compiler_stand_in.py` refuse, or notice and undo, what the submission changes in torch, numpy or our code.
"""
