// Extreme learning machines: ridge regressions on the units of a hidden layer that each tree draws for itself.
#include <algorithm>
#include <numeric>

#include "hidden_layer.hpp"
#include "node_inputs.hpp"

namespace boostforest {

namespace {

constexpr std::int64_t kKeptUnits = std::int64_t{1} << 22;  // hidden units that a thread keeps: 32 MB

class HiddenUnits final : public NodeInputs {
   public:
    HiddenUnits() : NodeInputs(ModelKind::kHidden) {}

    void start(const TreeStart& tree) override {
        worker_ = &tree.worker;
        x_ = tree.data.model_x;
        x_width_ = padded_width(tree.data.n_model_features);
        n_ = tree.rules.n_hidden;
        width_ = hidden_width(n_);
        layer_.draw(child(tree.seed, kHiddenLayer), n_, x_, x_width_, tree.data.n_model_features, tree.sample,
                    *worker_);
        keeps_units_ = tree.data.n_rows * width_ <= kKeptUnits;
        if (!keeps_units_) return;
        layer_.evaluate(x_, tree.rows, tree.n_rows, x_width_, *worker_, units_.get(tree.data.n_rows * width_));
    }

    const double* find(Sample& sample) override {
        if (keeps_units_) return units_.data();
        const std::int64_t n = sample.n;
        double* x = rows_x_.get(static_cast<std::size_t>(n) * x_width_);
        for (std::int64_t i = 0; i < n; ++i)
            std::copy_n(x_ + std::int64_t{sample.rows[i]} * x_width_, x_width_, x + i * x_width_);
        layer_.evaluate(x, nullptr, n, x_width_, *worker_, units_.get(static_cast<std::size_t>(n) * width_));
        std::int32_t* numbers = numbers_.get(n);
        std::iota(numbers, numbers + n, 0);
        sample.rows = numbers;
        return units_.data();
    }

    std::vector<double> hidden() const override { return layer_.values(); }

   private:
    HiddenLayer layer_;
    Worker* worker_ = nullptr;      // that grows the tree
    int x_width_ = 0;               // doubles per row of x_
    bool keeps_units_ = false;      // of all rows of the tree; else
    Buffer<double> units_;          //   those of the current sample,
    Buffer<double> rows_x_;         //   made of these rows,
    Buffer<std::int32_t> numbers_;  //   which have these numbers
};

}  // namespace

std::unique_ptr<NodeInputs> make_hidden_units() {
    return std::make_unique<HiddenUnits>();
}

}  // namespace boostforest
