// The forest that predictions and explanations read.
#pragma once

#include <vector>

#include "../core/forest/stored_forest.hpp"
#include "../core/table/raw_rows.hpp"
#include "bindings.hpp"

namespace boostforest {

class ColumnReader;

// A forest and the arrays that it reads.
class Model : public StoredForest {
   public:
    Model(const nb::dict& columns, int n_features, int n_outputs);

   private:
    Model(ColumnReader reader, int n_features, int n_outputs);

    std::vector<nb::object> arrays_;
};

RawRows raw_rows(const Model& model, const Array<double, 2>& x, const Array<double, 1>& mean,
                 const Array<double, 1>& scale, const Normal* normal = nullptr);

}  // namespace boostforest
