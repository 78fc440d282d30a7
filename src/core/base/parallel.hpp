// The only place with threads.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>

namespace boostforest {

// Thrown inside workers to leave long loops after somebody has asked to stop.
struct Cancelled : std::exception {
    const char* what() const noexcept override { return "cancelled"; }
};

// Shared by all workers of one call.
class Control {
   public:
    // poll: called by the calling thread about ten times a second with the number of finished items; false: stop.
    using Poll = std::function<bool(std::int64_t)>;
    explicit Control(Poll poll = {}) : poll_(std::move(poll)) {}

    bool stopped() const { return stop_.load(std::memory_order_relaxed); }
    void stop() { stop_.store(true, std::memory_order_relaxed); }
    void item_done() { done_.fetch_add(1, std::memory_order_relaxed); }
    void poll() {
        if (poll_ && !poll_(done_.load(std::memory_order_relaxed))) stop();
    }

   private:
    Poll poll_;
    std::atomic<bool> stop_{false};
    std::atomic<std::int64_t> done_{0};
};

// One thread of a parallel_for.
class Worker {
   public:
    Worker(Control& control, int number) : control_(control), number_(number) {}

    int number() const { return number_; }  // 0 is the calling thread

    // To be called often, with the work since the last call in multiply-adds or the like: throws Cancelled when the
    // work is to end.
    void check(std::int64_t work) {
        if (control_.stopped()) throw Cancelled();
        work_ += work;
        if (number_ != 0 || work_ < kWorkPerLook) return;  // looking at the clock costs as much as a small node
        work_ = 0;
        const auto now = std::chrono::steady_clock::now();
        if (now - last_poll_ < std::chrono::milliseconds(100)) return;
        last_poll_ = now;
        control_.poll();
    }

   private:
    Control& control_;
    int number_;
    static constexpr std::int64_t kWorkPerLook = 1'000'000;
    std::int64_t work_ = 0;
    std::chrono::steady_clock::time_point last_poll_ = std::chrono::steady_clock::now();
};

// The same for work that may be done outside of a parallel_for, where nobody asks it to end: null.
inline void check(Worker* worker, std::int64_t work) {
    if (worker != nullptr) worker->check(work);
}

constexpr int kMaxThreads = 64;

// Calls body(item, worker) for every item, the calling thread included, items handed out in order. The first exception
// stops the others and is thrown again here. Throws Cancelled if the control was stopped before all items were done.
void parallel_for(std::int64_t n_items, int n_threads, Control& control,
                  const std::function<void(std::int64_t, Worker&)>& body);

}  // namespace boostforest
