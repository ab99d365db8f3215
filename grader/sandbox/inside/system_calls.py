"""List the system calls that a submission may make: those that Python, torch and their libraries may need.

`seccomp` makes a filter of these lists. It allows the calls in `ALLOWED_CALLS`, `clone` for threads, and `fcntl`,
`ioctl` and `prctl` with the arguments listed below. Any other call fails with EPERM, as if the submission had no right
to it. Two kinds of calls end otherwise, for reasons that `seccomp` gives: `clone3`, and those for another kind of
processor.

So a submission cannot
- start programs or processes,
- use the network, namespaces or mounts,
- see the memory of other processes,
- hold kernel memory that no limit counts (locks, inotify, message queues, shared memory); that of pipes and sockets is
  limited by the number of open files (`isolation.Bounds`),
- keep others from using the machine's files (leases).

The lists were written from what these libraries may call, not recorded from runs. If a call is missing, a program that
needs it fails in the sandbox only: `tests/grading/test_three_ways.py` plays programs in it and outside and compares.
That calls are refused is tried by submissions in `tests/attacks/`, such as `holds_leases.py`, `leaves_namespaces.py`
and `connects_by_hand.py`.

The numbers are those of libseccomp 2.5.4; its `scmp_sys_resolver -a aarch64 read` prints the one of `read` on aarch64.
"""

# fmt: off
ALLOWED_CALLS: tuple[tuple[str, int, int | None], ...] = (
    # Each entry: name, number on x86_64, number on aarch64 (None if aarch64 does not have the call).
    #
    # Memory. Calls that do nothing but lock it or share it between processes are left out. What `mmap` locks or shares
    # counts as the child's memory like any other.
    ("mmap", 9, 222),
    ("munmap", 11, 215),
    ("mprotect", 10, 226),
    ("mremap", 25, 216),
    ("madvise", 28, 233),
    ("brk", 12, 214),
    ("msync", 26, 227),
    ("mincore", 27, 232),
    ("mbind", 237, 235),
    ("get_mempolicy", 239, 236),
    ("set_mempolicy", 238, 237),
    # Files that are open, by their descriptors. `flock` is left out, like the locks of `fcntl`: locks are kernel memory
    # that no limit counts.
    ("read", 0, 63),
    ("write", 1, 64),
    ("pread64", 17, 67),
    ("pwrite64", 18, 68),
    ("readv", 19, 65),
    ("writev", 20, 66),
    ("preadv", 295, 69),
    ("pwritev", 296, 70),
    ("preadv2", 327, 286),
    ("pwritev2", 328, 287),
    ("lseek", 8, 62),
    ("close", 3, 57),
    ("close_range", 436, 436),
    ("dup", 32, 23),
    ("dup2", 33, None),
    ("dup3", 292, 24),
    ("pipe", 22, None),
    ("pipe2", 293, 59),
    ("eventfd2", 290, 19),
    ("fsync", 74, 82),
    ("fdatasync", 75, 83),
    ("ftruncate", 77, 46),
    ("fallocate", 285, 47),
    ("fadvise64", 221, 223),
    ("sendfile", 40, 71),
    ("copy_file_range", 326, 285),
    ("fstat", 5, 80),
    ("fstatfs", 138, 44),
    ("getdents", 78, None),
    ("getdents64", 217, 61),
    ("fchmod", 91, 52),
    ("fchown", 93, 55),
    ("fchdir", 81, 50),
    # Files by name: everything but /tmp is read-only, so changes of owners, modes and links stay there.
    ("open", 2, None),
    ("openat", 257, 56),
    ("openat2", 437, 437),
    ("creat", 85, None),
    ("stat", 4, None),
    ("lstat", 6, None),
    ("newfstatat", 262, 79),
    ("statx", 332, 291),
    ("statfs", 137, 43),
    ("access", 21, None),
    ("faccessat", 269, 48),
    ("faccessat2", 439, 439),
    ("readlink", 89, None),
    ("readlinkat", 267, 78),
    ("getcwd", 79, 17),
    ("chdir", 80, 49),
    ("umask", 95, 166),
    ("mkdir", 83, None),
    ("mkdirat", 258, 34),
    ("rmdir", 84, None),
    ("rename", 82, None),
    ("renameat", 264, 38),
    ("renameat2", 316, 276),
    ("link", 86, None),
    ("linkat", 265, 37),
    ("symlink", 88, None),
    ("symlinkat", 266, 36),
    ("unlink", 87, None),
    ("unlinkat", 263, 35),
    ("truncate", 76, 45),
    ("chmod", 90, None),
    ("fchmodat", 268, 53),
    ("chown", 92, None),
    ("lchown", 94, None),
    ("fchownat", 260, 54),
    ("utime", 132, None),
    ("utimes", 235, None),
    ("utimensat", 280, 88),
    ("futimesat", 261, None),
    ("getxattr", 191, 8),
    ("lgetxattr", 192, 9),
    ("fgetxattr", 193, 10),
    ("listxattr", 194, 11),
    ("llistxattr", 195, 12),
    ("flistxattr", 196, 13),
    # Waiting for descriptors, time or processes.
    ("poll", 7, None),
    ("ppoll", 271, 73),
    ("select", 23, None),
    ("pselect6", 270, 72),
    ("epoll_create", 213, None),
    ("epoll_create1", 291, 20),
    ("epoll_ctl", 233, 21),
    ("epoll_ctl_old", 214, None),
    ("epoll_wait", 232, None),
    ("epoll_wait_old", 215, None),
    ("epoll_pwait", 281, 22),
    ("epoll_pwait2", 441, 441),
    ("nanosleep", 35, 101),
    ("clock_nanosleep", 230, 115),
    ("pause", 34, None),
    ("wait4", 61, 260),
    ("waitid", 247, 95),
    # Threads. `clone` is not listed: the filter in `seccomp` allows `clone` for threads and refuses it for processes.
    ("futex", 202, 98),
    ("futex_waitv", 449, 449),
    ("set_robust_list", 273, 99),
    ("get_robust_list", 274, 100),
    ("set_tid_address", 218, 96),
    ("rseq", 334, 293),
    ("membarrier", 324, 283),
    ("arch_prctl", 158, None),
    ("gettid", 186, 178),
    ("sched_yield", 24, 124),
    ("sched_getaffinity", 204, 123),
    ("sched_setaffinity", 203, 122),
    ("sched_getparam", 143, 121),
    ("sched_getscheduler", 145, 120),
    ("sched_get_priority_max", 146, 125),
    ("sched_get_priority_min", 147, 126),
    ("getcpu", 309, 168),
    ("exit", 60, 93),
    ("exit_group", 231, 94),
    # Signals, which reach only the child's own PID namespace. Where a child has none, because it uses a GPU, see
    # `ONLY_ON_ITSELF_WITH_GPU`.
    ("rt_sigaction", 13, 134),
    ("rt_sigprocmask", 14, 135),
    ("rt_sigreturn", 15, 139),
    ("rt_sigpending", 127, 136),
    ("rt_sigsuspend", 130, 133),
    ("rt_sigtimedwait", 128, 137),
    ("sigaltstack", 131, 132),
    ("kill", 62, 129),
    ("tkill", 200, 130),
    ("tgkill", 234, 131),
    ("alarm", 37, None),
    ("setitimer", 38, 103),
    ("getitimer", 36, 102),
    ("restart_syscall", 219, 128),
    # Time, random numbers, and information about the process and the system. `setrlimit` and `prlimit64` can lower the
    # limits of `isolation.set_limits`, but not raise them: a child has no right to (`drop_rights`).
    ("clock_gettime", 228, 113),
    ("clock_getres", 229, 114),
    ("gettimeofday", 96, 169),
    ("time", 201, None),
    ("times", 100, 153),
    ("getrandom", 318, 278),
    ("uname", 63, 160),
    ("sysinfo", 99, 179),
    ("getrusage", 98, 165),
    ("getrlimit", 97, 163),
    ("setrlimit", 160, 164),
    ("prlimit64", 302, 261),
    ("getpriority", 140, 141),
    ("getpid", 39, 172),
    ("getppid", 110, 173),
    ("getpgrp", 111, None),
    ("getpgid", 121, 155),
    ("getsid", 124, 156),
    ("getuid", 102, 174),
    ("geteuid", 107, 175),
    ("getgid", 104, 176),
    ("getegid", 108, 177),
    ("getresuid", 118, 148),
    ("getresgid", 120, 150),
    ("getgroups", 115, 158),
    ("capget", 125, 90),
    # Socket pairs, which asyncio needs. `socket` itself is left out.
    ("socketpair", 53, 199),
    ("sendto", 44, 206),
    ("sendmsg", 46, 211),
    ("sendmmsg", 307, 269),
    ("recvfrom", 45, 207),
    ("recvmsg", 47, 212),
    ("recvmmsg", 299, 243),
    ("shutdown", 48, 210),
    ("getsockopt", 55, 209),
    ("setsockopt", 54, 208),
    ("getsockname", 51, 204),
    ("getpeername", 52, 205),
)
# fmt: on
"""Calls that are allowed with any arguments, except those of `ONLY_ON_ITSELF_WITH_GPU` where a process uses a GPU."""

# <linux/fcntl.h>
ALLOWED_FCNTL_COMMANDS = (
    0,  # F_DUPFD
    1,  # F_GETFD
    2,  # F_SETFD
    3,  # F_GETFL
    4,  # F_SETFL
    1030,  # F_DUPFD_CLOEXEC
    1032,  # F_GETPIPE_SZ
    1034,  # F_GET_SEALS
)
"""Allowed commands of `fcntl`: duplicate a descriptor, read and set its flags, read the size of a pipe and the seals of
a file. Locks are not allowed, for the same reason as `flock` above. Nor are leases: whoever opens a file with a lease,
even outside the sandbox, waits for up to 45 seconds, and a submission could take one on a library that all open."""

# <asm-generic/ioctls.h>
ALLOWED_IOCTL_REQUESTS = (
    0x5401,  # TCGETS, by which `isatty` finds out whether it is a terminal
    0x5413,  # TIOCGWINSZ, the size of a terminal
    0x541B,  # FIONREAD, how much can be read
    0x5421,  # FIONBIO, blocking or not
    0x5450,  # FIONCLEX
    0x5451,  # FIOCLEX
)
"""Allowed requests of `ioctl`: ask whether a descriptor is a terminal, how wide it is, and how much can be read; set
blocking and close-on-exec."""

# <linux/prctl.h>
ALLOWED_PRCTL_OPTIONS = (
    3,  # PR_GET_DUMPABLE
    15,  # PR_SET_NAME
    16,  # PR_GET_NAME
    21,  # PR_GET_SECCOMP
    23,  # PR_CAPBSET_READ
    0x53564D41,  # PR_SET_VMA, names of mappings
)
"""Allowed options of `prctl`: name threads and mappings, and read settings. PR_SET_PDEATHSIG is not allowed: it would
undo `isolation.die_with_parent`."""

# ---- only for processes that use a GPU: they have no PID namespace of their own, and talk to it by `ioctl` --------

ONLY_ON_ITSELF_WITH_GPU = ("kill", "tkill", "tgkill", "prlimit64", "sched_setaffinity")
"""Calls of `ALLOWED_CALLS` whose first argument is a process id, and which such a process may make only on itself.

It sees the ids of other processes, which these calls could change or send a signal. 0 is allowed as well: the caller,
or for `kill` its process group, which the child has for itself (`child.become_child`)."""

# <asm-generic/sockios.h>
REFUSED_IOCTL_REQUESTS_WITH_GPU = (
    0x8901,  # FIOSETOWN
    0x8902,  # SIOCSPGRP
)
"""Requests of `ioctl` that name a process to which a socket then sends signals. Such a process is allowed every request
but these, in place of `ALLOWED_IOCTL_REQUESTS`."""
