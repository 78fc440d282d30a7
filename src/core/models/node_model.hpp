// The models that sit at the nodes: one interface, one file per model under models/.
//
// A model is linear in its inputs, which are the features or the units of the tree's hidden layer: so the models on a
// path can be added into one. A kind of node model is a way to fit such a model, and what it is linear in.
//
// To add one:
//   1. derive from NodeModel in models/NAME.cpp, which CMakeLists.txt lists: fit() writes the parameters and the fitted
//      values of the rows; what it has to know goes into NodeRules;
//   2. give it a NodeFit and a line in kNodeFits below. If its inputs are new, derive them from NodeInputs
//      (models/node_inputs.hpp); what they are stored as is then a new ModelKind (part of the file format; evaluated in
//      kernels/predict.hpp and checked in forest/stored_forest.cpp);
//   3. give it a class in src/boostforest/nodes/_native.py, and read its parameters in src/bindings/training_table.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "../base/buffer.hpp"
#include "../forest/tree_view.hpp"
#include "../losses/loss.hpp"
#include "../ridge/bounded_ridge.hpp"
#include "../ridge/ridge.hpp"
#include "../ridge/sparse_ridge.hpp"

namespace boostforest {

// How the models of a tree are fitted.
enum class NodeFit : std::uint8_t { kConstant, kRidge, kElm, kLinearSvr };

// A tree's node model and its parameters; each model reads its own.
struct NodeRules {
    NodeFit fit = NodeFit::kRidge;
    double reg_lambda = 0;         // ridge, ELM: penalty on the squared slopes
    int max_features = 0;          // ridge: features that the models of a tree are fitted to, drawn for it; 0: all
    int n_hidden = 0;              // ELM: units of the hidden layer
    double cost = 1;               // SVR: price of an error, C
    double epsilon = 0;            // SVR: errors up to this size are free
    double tolerance = 0;          // SVR: duality gap over the objective at which it stops
    int max_iterations = 0;        // SVR: steps at the most
    double intercept_penalty = 1;  // SVR: κ, on the squared intercept; above 0
};

// Σ w (x - mean)(x - mean)ᵀ of a node's rows, where it is handed down (grow/gram_hand_down.hpp).
struct NodeGram {
    Buffer<double> buffer;
    double* mean = nullptr;    // `width` doubles
    double* values = nullptr;  // upper triangle, `width` rows of as many doubles
    double largest = 0;        // of Σ w x² over the features, when it was last summed: rounding errors are shares of it
    bool known = false;
    bool wanted = false;  // also where the model can be fitted without it

    void start(int width, bool is_wanted) {
        mean = buffer.get(static_cast<std::size_t>(width) * (width + 1));
        values = mean + width;
        known = false;
        wanted = is_wanted;
    }
};

// The regression problem of one node.
struct NodeProblem {
    const double* x;               // inputs of the whole table, rows of `width` doubles
    int width;                     // doubles per row
    int n_inputs;                  // of which are inputs
    int n_outputs;                 // models to fit
    const Sample& sample;          // the node's rows: their numbers in x and their own weights
    const PseudoLabels& labels;    // what to fit, with which weights
    const NodeRules& rules;        // parameters
    const Indicators* indicators;  // columns of x kept as lists too; null: none
    double* fitted;                // out: fitted[c * fitted_stride + i] for the rows
    std::int64_t fitted_stride;
    const std::int8_t* monotone = nullptr;  // per input: 1 or -1 if the slopes on the path must not add up to less or
                                            //   more than 0, 0: free; null: all free. Ridge only, and no lists then
    const double* path_slopes = nullptr;    // what the slopes above add up to; null: 0
    NodeGram* gram = nullptr;               // ridge: known already, or to be filled; null: neither
};

struct NodeWorkspace {
    Buffer<double> rows;     // the node's rows, shifted by their mean
    Buffer<double> vectors;  // mean, slopes
    RidgeWorkspace ridge;
    BoundsWorkspace bounds;
    SparseRows sparse;               // the node's rows where the table has indicators
    Buffer<double> svr;              // see models/linear_svr.cpp
    std::int64_t n_unconverged = 0;  // fits that were given up before they had converged
};

class NodeModel {
   public:
    virtual ~NodeModel() = default;

    // Writes the parameters of every output, intercept first, and the fitted values.
    virtual void fit(const NodeProblem& problem, NodeWorkspace& work, double* params) const = 0;

    // Whether it can make use of NodeProblem::gram.
    virtual bool uses_gram() const { return false; }
};

class NodeInputs;

std::unique_ptr<NodeModel> make_constant_model();
std::unique_ptr<NodeModel> make_ridge_model();
std::unique_ptr<NodeModel> make_linear_svr_model();
std::unique_ptr<NodeInputs> make_no_inputs();     // models/constant.cpp
std::unique_ptr<NodeInputs> make_features();      // models/ridge.cpp
std::unique_ptr<NodeInputs> make_hidden_units();  // models/elm.cpp

// The node models there are, in the order of NodeFit.
struct NodeFitEntry {
    const char* name;  // in Python
    std::unique_ptr<NodeModel> (*make_model)();
    std::unique_ptr<NodeInputs> (*make_inputs)();
};
inline constexpr NodeFitEntry kNodeFits[] = {
    {.name = "CONSTANT", .make_model = make_constant_model, .make_inputs = make_no_inputs},
    {.name = "RIDGE", .make_model = make_ridge_model, .make_inputs = make_features},
    {.name = "ELM", .make_model = make_ridge_model, .make_inputs = make_hidden_units},
    {.name = "LINEAR_SVR", .make_model = make_linear_svr_model, .make_inputs = make_features},
};

inline const NodeFitEntry& entry_of(NodeFit fit) {
    return kNodeFits[static_cast<std::size_t>(fit)];
}

}  // namespace boostforest
