/* Proves: std::thread, std::mutex and their guards are known; a lock is given back where an exception leaves its scope. */
// LEVELS: -O1 -O2
// VARIABLES: guarded read_guarded thrown open_count
// RUN: cd %t.dir && %python %root/tests/races/check.py %s
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <thread>

static std::mutex lock;
static std::shared_mutex readers;
static int guarded, read_guarded, thrown;
static int open_count;

static void may_throw(int n) {
    std::lock_guard<std::mutex> hold(lock);
    guarded++;
    if (n > 3) throw std::runtime_error("too many");
}

static void work(int n) {
    try {
        may_throw(n);
    } catch (const std::exception &) {
        thrown++; // RACE a
    }
    {
        std::unique_lock<std::mutex> hold(lock);
        guarded++;
    }
    std::shared_lock<std::shared_mutex> hold(readers);
    open_count += read_guarded; // RACE b
}

int main() {
    std::thread a(work, 1), b(work, 5);
    {
        std::unique_lock<std::shared_mutex> hold(readers);
        read_guarded++;
    }
    a.join();
    b.join();
    return 0;
}
