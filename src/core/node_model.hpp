// The models that sit at the nodes: one interface, one file per model under models/.
//
// A model is linear in its inputs, which are the features or the units of the tree's hidden layer: so the models on a
// path can be added into one.
//
// To add one:
//   1. give it a NodeFit and say in model_kind what it leaves behind (the numbers of ModelKind are part of the file
//      format; a new one is also evaluated in kernels/predict.hpp and checked in src/bindings/model.cpp);
//   2. derive from NodeModel in models/NAME.cpp: fit() writes the parameters and the fitted values of the rows; what it
//      has to know goes into NodeRules;
//   3. return it from make_node_model below;
//   4. give it a class in src/boostforest/nodes/_native.py, and read its parameters in src/bindings/fit.cpp.
#pragma once

#include <cstdint>
#include <memory>

#include "bounded_ridge.hpp"
#include "buffer.hpp"
#include "linalg.hpp"
#include "loss.hpp"
#include "node_gram.hpp"
#include "sparse_ridge.hpp"
#include "tree_view.hpp"

namespace boostforest {

// How the models of a tree are fitted.
enum class NodeFit : std::uint8_t { kConstant = 0, kRidge = 1, kElm = 2, kLinearSvr = 3 };

// What is stored of them.
constexpr ModelKind model_kind(NodeFit fit) {
    return fit == NodeFit::kConstant ? ModelKind::kConstant
           : fit == NodeFit::kElm    ? ModelKind::kHidden
                                     : ModelKind::kLinear;
}

// A tree's node model and its parameters; each model reads its own.
struct NodeRules {
    NodeFit fit = NodeFit::kRidge;
    double reg_lambda = 0;         // ridge, ELM: penalty on the squared slopes
    int n_hidden = 0;              // ELM: units of the hidden layer
    double cost = 1;               // SVR: price of an error, C
    double epsilon = 0;            // SVR: errors up to this size are free
    double tolerance = 0;          // SVR: duality gap over the objective at which it stops
    int max_iterations = 0;        // SVR: steps at the most
    double intercept_penalty = 1;  // SVR: κ, on the squared intercept; above 0
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
};

std::unique_ptr<NodeModel> make_ridge_model();
std::unique_ptr<NodeModel> make_constant_model();
std::unique_ptr<NodeModel> make_linear_svr_model();

inline std::unique_ptr<NodeModel> make_node_model(NodeFit fit) {
    switch (fit) {
        case NodeFit::kConstant: return make_constant_model();
        case NodeFit::kRidge:
        case NodeFit::kElm: return make_ridge_model();  // on other inputs
        case NodeFit::kLinearSvr: return make_linear_svr_model();
    }
    return nullptr;
}

}  // namespace boostforest
