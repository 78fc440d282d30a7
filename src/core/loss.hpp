// What a tree minimises. A loss is anything convex and twice differentiable in the score f.
//
// To add one: derive from Loss in loss.cpp, add its Task, return it from make_loss.
// Several outputs lie one after another: output c of row i is f[c * stride + i], and likewise g, h, z, v.
#pragma once

#include <cstdint>
#include <memory>

namespace boostforest {

enum class Task : std::uint8_t { kRegression = 0, kBinary = 1, kMulticlass = 2 };

class Loss {
   public:
    virtual ~Loss() = default;

    // Scores per row: 1, or the number of classes if there are more than two.
    virtual int n_outputs() const { return 1; }

    // True if h = 1 everywhere and the pseudo-label is the plain residual: h is then never asked for.
    virtual bool is_least_squares() const { return false; }

    // Σ w · loss(y, f).
    virtual double value(const double* f, std::int64_t stride, const double* y, const double* w,
                         std::int64_t n) const = 0;

    // First and second derivative by f. h may be null if is_least_squares().
    virtual void derivatives(const double* f, std::int64_t stride, const double* y, std::int64_t n, double* g,
                             double* h, std::int64_t out_stride) const = 0;

    // The regression that a node model solves (FitModel): pseudo-label z = -g/h, kept within ±4 as in LogitBoost, and
    // weight v = w · max(h, 2 eps). Least squares: z = -g, v = w.
    void pseudo_labels(const double* g, const double* h, const double* w, std::int64_t n, std::int64_t stride,
                       double* z, double* v) const;
};

std::unique_ptr<Loss> make_loss(Task task, int n_classes);

}  // namespace boostforest
