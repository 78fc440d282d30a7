// Scratch memory that grows and stays: the loops over nodes allocate nothing once a tree or two have been grown.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace boostforest {

template <class T>
class Buffer {
   public:
    // Room for n values, 64-byte aligned, plus one vector of slack; what was there before may be gone.
    T* get(std::size_t n) {
        n += 64 / sizeof(T);
        if (n > size_) {
            data_.reset();  // free first: the old content is not kept
            size_ = 0;      // in case there is no memory for more
            data_.reset(static_cast<T*>(::operator new((n + n / 2) * sizeof(T), std::align_val_t{64})));
            size_ = n + n / 2;
        }
        return data_.get();
    }
    T* data() const { return data_.get(); }

    // Frees memory of more than so many bytes: what is kept between calls must not be as large as one of them was.
    void keep_at_most(std::size_t n_bytes) {
        if (size_ * sizeof(T) <= n_bytes) return;
        data_.reset();
        size_ = 0;
    }

   private:
    struct Free {
        void operator()(T* p) const { ::operator delete(p, std::align_val_t{64}); }
    };
    std::unique_ptr<T, Free> data_;
    std::size_t size_ = 0;
};

}  // namespace boostforest
