// The models that sit at the nodes: one interface, one file per model under models/.
//
// To add one:
//   1. give it a ModelKind in tree_view.hpp (the number is part of the file format) and, unless it is linear in x,
//      say so in is_linear();
//   2. derive from NodeModel in models/NAME.cpp: fit() writes the parameters and the fitted values of the rows;
//   3. return it from make_node_model below, evaluate it in predict (kernels/predict.hpp, linear_model);
//   4. name it in src/boostforest/_parameters.py.
#pragma once

#include <cstdint>
#include <memory>

#include "buffer.hpp"
#include "linalg.hpp"
#include "loss.hpp"
#include "sparse_ridge.hpp"
#include "tree_view.hpp"

namespace boostforest {

// The regression problem of one node.
struct NodeProblem {
    const double* x;               // scaled features of the whole table, rows of `width` doubles
    int width;                     // doubles per row
    int n_features;                // of which are features
    int n_outputs;                 // models to fit
    const Sample& sample;          // the node's rows: their numbers in x and their own weights
    const PseudoLabels& labels;    // what to fit, with which weights
    double reg_lambda;             // penalty on the slopes
    const Indicators* indicators;  // columns kept as lists too; null: none
    double* fitted;                // out: fitted[c * fitted_stride + i] for the rows
    std::int64_t fitted_stride;
};

struct NodeWorkspace {
    Buffer<double> rows;     // the node's rows, shifted by their mean
    Buffer<double> vectors;  // mean, slopes
    RidgeWorkspace ridge;
    SparseRows sparse;  // the node's rows where the table has indicators
};

class NodeModel {
   public:
    virtual ~NodeModel() = default;

    // True if params are intercept and slopes, so that the models on a path can be added into one.
    virtual bool is_linear() const { return true; }

    // Parameters per output.
    virtual int n_params(int n_features) const = 0;

    // Writes n_outputs × n_params parameters, one output after another, and the fitted values.
    virtual void fit(const NodeProblem& problem, NodeWorkspace& work, double* params) const = 0;
};

std::unique_ptr<NodeModel> make_ridge_model();
std::unique_ptr<NodeModel> make_constant_model();

inline std::unique_ptr<NodeModel> make_node_model(ModelKind kind) {
    switch (kind) {
        case ModelKind::kConstant: return make_constant_model();
        case ModelKind::kRidge: return make_ridge_model();
        case ModelKind::kPython: break;
    }
    return nullptr;
}

}  // namespace boostforest
