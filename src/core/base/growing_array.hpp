// The columns of a forest while trees are being added to them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace boostforest {

// Memory for several columns at once, in large pages where the system has them: touching the memory of a model page by
// page takes up to a tenth of a fit.
class ColumnBlock {
   public:
    explicit ColumnBlock(std::size_t n_bytes) : n_bytes_((n_bytes + kPage - 1) / kPage * kPage) {
#if defined(__linux__)
        bytes_.reset(static_cast<char*>(std::aligned_alloc(kPage, n_bytes_)));
        if (bytes_ != nullptr) madvise(bytes_.get(), n_bytes_, MADV_HUGEPAGE);
#else
        bytes_.reset(static_cast<char*>(std::malloc(n_bytes_)));
#endif
        if (bytes_ == nullptr) throw std::bad_alloc();
    }

    // The next n bytes, 64-byte aligned in large pages; null if there are not so many left.
    char* take(std::size_t n) {
        const std::size_t start = taken_;
        if (n > n_bytes_ - start) return nullptr;
        taken_ = std::min(n_bytes_, start + (n + 63) / 64 * 64);
        return bytes_.get() + start;
    }

   private:
    struct Free {
        void operator()(char* p) const { std::free(p); }
    };
    static constexpr std::size_t kPage = std::size_t{2} << 20;
    std::unique_ptr<char, Free> bytes_;
    std::size_t n_bytes_, taken_ = 0;
};

// An array that grows within a block it shares, then in memory of its own, without a second copy where the system can
// move pages (realloc).
template <class T>
class GrowingArray {
   public:
    GrowingArray() = default;
    GrowingArray(const GrowingArray&) = delete;
    GrowingArray& operator=(const GrowingArray&) = delete;
    ~GrowingArray() {
        if (block_ == nullptr) std::free(data_);
    }

    // Room for the first n values in a block.
    void start_in(const std::shared_ptr<ColumnBlock>& block, std::size_t n) {
        char* place = block->take(n * sizeof(T));
        if (place == nullptr) return;
        data_ = reinterpret_cast<T*>(place);
        capacity_ = n;
        block_ = block;
    }

    // share: of the whole array that will be there after this, as far as one can tell. Memory for the rest is set
    // aside at once: what is never touched costs nothing, what is moved costs its pages again. But not much of it:
    // a fit of very many trees may be meant to be interrupted.
    void append(const void* values, std::size_t n, double share) {
        if (size_ + n > capacity_) {
            const std::size_t needed = size_ + n, most = (std::size_t{64} << 20) / sizeof(T);
            const double expected = 1.1 * static_cast<double>(needed) * (1 / share - 1);
            const auto more =
                static_cast<std::size_t>(std::min(expected, static_cast<double>(std::max(most, needed / 2))));
            resize(needed + more + 1);
        }
        std::memcpy(data_ + size_, values, n * sizeof(T));
        size_ += n;
    }
    T* data() const { return data_; }
    std::size_t size() const { return size_; }

    // Hands the memory over.
    std::shared_ptr<T> release() {
        if (block_ == nullptr) resize(std::max<std::size_t>(size_, 1));
        std::shared_ptr<T> owner = block_ == nullptr ? std::shared_ptr<T>(data_, [](T* p) { std::free(p); })
                                                     : std::shared_ptr<T>(block_, data_);
        data_ = nullptr;
        block_ = nullptr;
        size_ = capacity_ = 0;
        return owner;
    }

   private:
    void resize(std::size_t capacity) {
        void* moved = std::realloc(block_ == nullptr ? data_ : nullptr, capacity * sizeof(T));
        if (moved == nullptr) throw std::bad_alloc();
        if (block_ != nullptr) std::memcpy(moved, data_, size_ * sizeof(T));
        data_ = static_cast<T*>(moved);
        capacity_ = capacity;
        block_ = nullptr;
    }

    T* data_ = nullptr;
    std::size_t size_ = 0, capacity_ = 0;
    std::shared_ptr<ColumnBlock> block_;  // that data_ lies in; null: memory of its own
};

}  // namespace boostforest
