# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libuv's own tests of threads and of its pool of threads, each in a process of its own; and of processes, by its own test
runner, which forks and executes itself for each test and its helpers, as the tests themselves do."""
from case import Case

PACKAGES = ["libuv1"]
BUILD = 'sh autogen.sh; ./configure CC="$CC" --disable-shared; make -j2 test/run-tests'
PROGRAM = "test/run-tests"
ONE_ROW = True
TESTS = """thread_local_storage thread_stack_size thread_mutex thread_mutex_recursive thread_rwlock thread_rwlock_trylock
thread_create thread_equal semaphore_1 semaphore_2 semaphore_3 barrier_1 barrier_2 barrier_3 barrier_serial_thread
barrier_serial_thread_single condvar_1 condvar_2 condvar_3 condvar_4 condvar_5 async async_null_cb
threadpool_queue_work_simple threadpool_queue_work_einval threadpool_multiple_event_loops
threadpool_cancel_getaddrinfo threadpool_cancel_random
threadpool_cancel_work threadpool_cancel_fs threadpool_cancel_single fs_file_async fs_read_dir random_async
getaddrinfo_concurrent loop_stop""".split()

RUNNER = """spawn_exit_code spawn_stdin spawn_stdout spawn_stdout_to_file spawn_and_kill spawn_detached spawn_fails
spawn_inherit_streams spawn_preserve_env tcp_ping_pong pipe_ping_pong ipc_send_recv_tcp ipc_listen_before_write
fork_threadpool_queue_work_simple kill""".split()


class Test(Case):
    env = {"UV_RUN_AS_ROOT": "1"}

    def __init__(self, name):
        self.name = name

    def command(self, program, work):
        return [program, self.name, self.name]  # the second makes it run in this process


class Runner(Test):
    def command(self, program, work):
        return [program, self.name]


def cases(options):
    return [Test(name) for name in TESTS] + [Runner(name) for name in RUNNER]
