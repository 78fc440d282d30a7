// What trees with models in Python take from the core: splits, pseudo-labels and losses of single nodes.
#include <memory>

#include "../core/forest/forest.hpp"
#include "../core/kernels/kernels.hpp"
#include "bindings.hpp"

namespace boostforest {

namespace {

// Rows of one node, or a batch of them.
struct NodeRows {
    Array<std::int32_t, 1> rows;
    Array<double, 1> weights;
    Array<double, 2> scores;  // outputs × rows
};

// Scratch of one thread: the rows as the core wants them, with room behind every vector.
class Workspace {
   public:
    explicit Workspace(const Dataset& data) : finder(data), data_(data) {}

    // Copies the rows in and computes their state at the scores; `loss_value` is Σ w · loss there.
    Sample load(const NodeRows& node) {
        const Loss& loss = data_.loss;
        const auto n = static_cast<std::int64_t>(node.rows.shape(0));
        const std::int64_t stride = padded_rows(n);
        std::int32_t* rows = rows_.get(n);
        double* w = w_.get(n);
        double* labels = y_.get(n);
        double* f = f_.get(loss.n_outputs() * stride);
        Sample sample{
            .rows = rows, .n = n, .w = w, .y = labels, .state = state_.get(loss.n_state() * stride), .stride = stride};
        for (std::int64_t i = 0; i < n; ++i) {
            rows[i] = node.rows(i);
            w[i] = node.weights(i);
            labels[i] = data_.y[rows[i]];
            sample.weight += w[i];
        }
        for (int c = 0; c < loss.n_outputs(); ++c) std::copy_n(node.scores.data() + c * n, n, f + c * stride);
        loss_value = loss.start(f, stride, sample);
        return sample;
    }

    SplitFinder finder;
    LossWorkspace loss_work;
    double loss_value = 0;

   private:
    const Dataset& data_;
    Buffer<std::int32_t> rows_;
    Buffer<double> w_, y_, f_, state_;
};

// A training table in scaled units, missing values filled.
class Table {
   public:
    Table(const Array<double, 2>& x, const Array<double, 1>& mean, const Array<double, 1>& scale,
          const Array<double, 1>& y, int loss, int n_classes, const Fill& fill, const FeatureNumbers& split_features)
        : n_rows_(static_cast<std::int64_t>(x.shape(0))),
          n_features_(static_cast<int>(x.shape(1))),
          width_(padded_width(n_features_)),
          n_classes_(n_classes),
          y_(y.data(), y.data() + y.shape(0)),
          loss_(loss_of(loss, n_classes, y)) {
        require(x.shape(0) < std::size_t{1} << 31 && x.shape(1) > 0 && x.shape(1) < std::size_t{1} << 30,
                "up to 2^31 - 1 rows, 1 to 2^30 - 1 features");
        require(mean.shape(0) == x.shape(1) && scale.shape(0) == x.shape(1), "mean and scale: one value per feature");
        require(y.shape(0) == x.shape(0), "y needs one value per row");
        const FeatureList may_cut = feature_list(split_features, x.shape(1));
        if (may_cut.numbers != nullptr) may_cut_.assign(may_cut.numbers, may_cut.numbers + may_cut.n);
        const auto normal = normal_of(fill, x.shape(1));
        const RawRows rows{x.data(), n_rows_, n_features_, mean.data(), scale.data(), normal.get()};
        double* values = values_.get(static_cast<std::size_t>(n_rows_) * width_);
        run_without_gil(nb::none(), [&](Control& control) {
            any_missing_ = scale_rows(rows, 0, n_rows_, values);
            if (any_missing_) missing_ = take_missing(values, rows, 1, control);
        });
        indicators_ = find_indicators(values, n_rows_, n_features_, missing());
    }

    // Rows × features, read only; keeps the table alive (see its definition below).
    nb::ndarray<nb::numpy, const double, nb::ndim<2>> values() const {
        return {values_.data(),
                {static_cast<std::size_t>(n_rows_), static_cast<std::size_t>(n_features_)},
                nb::handle(),
                {width_, 1}};
    }

    auto is_missing(const Array<std::int32_t, 1>& rows, int feature) const {
        require_rows(rows);
        require(feature >= 0 && feature < n_features_, "no such feature");
        auto result = new_array<bool>(rows.shape(0));
        for (std::size_t i = 0; i < rows.shape(0); ++i) result(i) = any_missing_ && missing_.test(rows(i), feature);
        return result;
    }

    // Per node (feature, threshold, gain, saw_missing, missing_left, possible); see Split. rules: per node criterion,
    // min_samples_leaf, reg_lambda, max_features, n_cuts. keys: per node that of the attempt.
    nb::list find_splits(const nb::list& list, const Array<double, 2>& rules, const Array<std::uint64_t, 1>& keys,
                         int n_threads) const {
        const std::vector<NodeRows> nodes = read_nodes(list);
        require(rules.shape(0) == nodes.size() && rules.shape(1) == 5 && keys.shape(0) == nodes.size(),
                "rules and keys need one entry per node");
        std::vector<SplitRules> own;
        for (std::size_t i = 0; i < nodes.size(); ++i) own.push_back(read_rules(&rules(i, 0)));
        std::vector<Split> splits(nodes.size());
        for_each_node(nodes, n_threads, [&](std::size_t i, Workspace& work, Worker& worker) {
            const Sample sample = work.load(nodes[i]);
            splits[i] = work.finder.find(sample, own[i], keys(i), worker);
        });
        nb::list result;
        for (const Split& s : splits)
            result.append(nb::make_tuple(s.feature, s.threshold, s.gain, s.saw_missing, s.missing_left, s.possible));
        return result;
    }

    // Per node (z, v), outputs × rows each, in one row after another.
    nb::list pseudo_labels(const nb::list& list, int n_threads) const {
        const std::vector<NodeRows> nodes = read_nodes(list);
        nb::list result;
        std::vector<std::pair<double*, double*>> targets;
        for (const NodeRows& node : nodes) {
            auto z = new_array<double>(node.scores.size()), v = new_array<double>(node.scores.size());
            targets.emplace_back(z.data(), v.data());
            result.append(nb::make_tuple(z, v));
        }
        for_each_node(nodes, n_threads, [&](std::size_t i, Workspace& work, Worker&) {
            const Sample sample = work.load(nodes[i]);
            const PseudoLabels labels = loss_->pseudo_labels(sample, work.loss_work);
            for (int c = 0; c < loss_->n_outputs(); ++c) {
                std::copy_n(labels.z + c * labels.stride, sample.n, targets[i].first + c * sample.n);
                std::copy_n(labels.v + c * labels.stride, sample.n, targets[i].second + c * sample.n);
            }
        });
        return result;
    }

    // Per node Σ w · loss at the scores.
    std::vector<double> losses(const nb::list& list, int n_threads) const {
        const std::vector<NodeRows> nodes = read_nodes(list);
        std::vector<double> values(nodes.size());
        for_each_node(nodes, n_threads, [&](std::size_t i, Workspace& work, Worker&) {
            work.load(nodes[i]);
            values[i] = work.loss_value;
        });
        return values;
    }

   private:
    FeatureList may_cut() const {
        if (may_cut_.empty()) return {nullptr, n_features_};
        return {may_cut_.data(), static_cast<int>(may_cut_.size())};
    }
    const MissingCells* missing() const { return any_missing_ ? &missing_ : nullptr; }

    Dataset dataset() const {
        return {.x = values_.data(),
                .n_rows = n_rows_,
                .n_features = n_features_,
                .split_features = may_cut(),
                .model_x = values_.data(),
                .n_model_features = n_features_,
                .y = y_.data(),
                .loss = *loss_,
                .n_classes = n_classes_,
                .missing = missing(),
                .indicators = indicators_.get()};
    }

    void require_rows(const Array<std::int32_t, 1>& rows) const {
        bool good = true;
        for (std::size_t i = 0; i < rows.shape(0); ++i) good &= rows(i) >= 0 && rows(i) < n_rows_;
        require(good, "no such row");
    }

    static SplitRules read_rules(const double* values) {
        constexpr std::int64_t kMost = (std::int64_t{1} << 31) - 1;
        const char* message = "rules: a number is out of range";
        for (const int i : {1, 2}) require(std::isfinite(values[i]) && values[i] >= 0, message);
        return {.criterion = static_cast<Criterion>(whole(values[0], 0, static_cast<int>(Criterion::kC45), message)),
                .min_samples_leaf = values[1],
                .reg_lambda = values[2],
                .max_features = static_cast<int>(whole(values[3], 1, kMost, message)),
                .n_cuts = static_cast<int>(whole(values[4], 1, kMost, message))};
    }

    std::vector<NodeRows> read_nodes(const nb::list& list) const {
        std::vector<NodeRows> nodes;
        for (const nb::handle item : list) {
            NodeRows node;
            const bool is_node = nb::isinstance<nb::tuple>(item) && nb::len(item) == 3 &&
                                 nb::try_cast(item[0], node.rows) && nb::try_cast(item[1], node.weights) &&
                                 nb::try_cast(item[2], node.scores);
            require(is_node, "a node is a tuple of three arrays");
            const std::size_t n = node.rows.shape(0);
            require(n > 0 && node.weights.shape(0) == n && node.scores.shape(1) == n &&
                        node.scores.shape(0) == static_cast<std::size_t>(loss_->n_outputs()),
                    "a node is its rows, their weights and their scores (outputs × rows)");
            require_rows(node.rows);
            require(are_weights(node.weights), "weights must not be negative, nor all of them zero");
            nodes.push_back(std::move(node));
        }
        return nodes;
    }

    // Calls body(node, workspace, worker) on threads.
    template <class Body>
    void for_each_node(const std::vector<NodeRows>& nodes, int n_threads, Body body) const {
        const Dataset data = dataset();
        std::vector<std::unique_ptr<Workspace>> workspaces(kMaxThreads);
        run_without_gil(nb::none(), [&](Control& control) {
            parallel_for(static_cast<std::int64_t>(nodes.size()), n_threads, control,
                         [&](std::int64_t i, Worker& worker) {
                             auto& work = workspaces[worker.number()];
                             if (!work) work = std::make_unique<Workspace>(data);
                             worker.check(static_cast<std::int64_t>(nodes[i].rows.shape(0)) * width_);
                             body(static_cast<std::size_t>(i), *work, worker);
                         });
        });
    }

    std::int64_t n_rows_;
    int n_features_, width_, n_classes_;
    std::vector<std::int32_t> may_cut_;  // features that may be cut; empty: all
    std::vector<double> y_;
    std::unique_ptr<Loss> loss_;
    Buffer<double> values_;
    MissingCells missing_;
    bool any_missing_ = false;
    std::unique_ptr<const Indicators> indicators_;  // columns kept as lists too; null: none
};

}  // namespace

void register_table(nb::module_& module) {
    nb::class_<Table>(module, "Table", "A training table in scaled units, for trees with models in Python.")
        .def(nb::init<const Array<double, 2>&, const Array<double, 1>&, const Array<double, 1>&,
                      const Array<double, 1>&, int, int, const Fill&, const FeatureNumbers&>(),
             nb::arg("x").noconvert(), nb::arg("mean").noconvert(), nb::arg("scale").noconvert(),
             nb::arg("y").noconvert(), nb::arg("loss"), nb::arg("n_classes"),
             nb::arg("fill").noconvert().none() = nb::none(), nb::arg("split_features").noconvert().none() = nb::none())
        .def_prop_ro("values", &Table::values, nb::rv_policy::reference_internal,
                     "Rows × features as node models see them.")
        .def("is_missing", &Table::is_missing, nb::arg("rows").noconvert(), nb::arg("feature"),
             "Which of the rows miss the feature.")
        .def("find_splits", &Table::find_splits, nb::arg("nodes"), nb::arg("rules").noconvert(),
             nb::arg("keys").noconvert(), nb::arg("n_threads"),
             "Where to cut each of the nodes: feature, threshold, gain, saw_missing, missing_left, possible.")
        .def("pseudo_labels", &Table::pseudo_labels, nb::arg("nodes"), nb::arg("n_threads"),
             "What the models of the nodes are to be fitted to, and with which weights.")
        .def("losses", &Table::losses, nb::arg("nodes"), nb::arg("n_threads"), "The nodes' loss at their scores.");
}

}  // namespace boostforest
