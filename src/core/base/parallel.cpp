#include "parallel.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace boostforest {

void parallel_for(std::int64_t n_items, int n_threads, Control& control,
                  const std::function<void(std::int64_t, Worker&)>& body) {
    std::atomic<std::int64_t> next{0};
    std::mutex mutex;
    std::condition_variable one_ended;
    std::exception_ptr error;
    int running = 1;

    const auto work = [&](int number) {
        try {
            Worker worker(control, number);
            for (std::int64_t item = next.fetch_add(1); item < n_items; item = next.fetch_add(1)) {
                worker.check(0);
                body(item, worker);
                control.item_done();
            }
        } catch (...) {
            control.stop();
            const std::scoped_lock lock(mutex);
            if (!error) error = std::current_exception();
        }
        const std::scoped_lock lock(mutex);
        --running;
        one_ended.notify_all();
    };

    const int n = static_cast<int>(std::min<std::int64_t>({n_items, std::max(n_threads, 1), kMaxThreads}));
    std::vector<std::thread> threads;
    threads.reserve(n);
    for (int number = 1; number < n; ++number) {
        {
            const std::scoped_lock lock(mutex);
            ++running;
        }
        try {
            threads.emplace_back(work, number);
        } catch (const std::system_error&) {  // the system has no more threads: fewer will do
            const std::scoped_lock lock(mutex);
            --running;
            break;
        }
    }
    work(0);
    for (std::unique_lock lock(mutex); running > 0;) {  // the others may have long trees left: go on polling
        one_ended.wait_for(lock, std::chrono::milliseconds(100));
        if (running == 0) break;
        lock.unlock();
        control.poll();
        lock.lock();
    }
    for (std::thread& thread : threads) thread.join();
    if (error) std::rethrow_exception(error);
    if (control.stopped()) throw Cancelled();
}

}  // namespace boostforest
