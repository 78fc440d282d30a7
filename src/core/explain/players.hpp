// Who shares out a prediction: the columns of the user's table, each with the features that it became.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../table/roles.hpp"

namespace boostforest {

struct Players {
    // column_of: the column that each feature comes from, ascending; inputs: the features that node models see.
    Players(const std::int32_t* column_of, int n_features, int n_columns, const FeatureList& inputs)
        : n(n_columns),
          of_feature(column_of, column_of + n_features),
          feature_start(n_columns + 1),
          input_start(n_columns + 1) {
        const int n_inputs = inputs.numbers == nullptr ? n_features : inputs.n;
        for (int j = 0; j < n_inputs; ++j) of_input.push_back(of_feature[inputs[j]]);
        count(of_feature, feature_start);
        count(of_input, input_start);
    }

    int n;                                    // columns
    std::vector<std::int32_t> of_feature;     // column of each feature
    std::vector<std::int32_t> feature_start;  // first feature of each column, then the number of features
    std::vector<std::int32_t> of_input;       // column of each input of node models; ascending
    std::vector<std::int32_t> input_start;    // first input of each column, then the number of inputs

   private:
    static void count(const std::vector<std::int32_t>& of, std::vector<std::int32_t>& start) {
        for (const std::int32_t player : of) ++start[player + 1];
        for (std::size_t player = 1; player < start.size(); ++player) start[player] += start[player - 1];
    }
};

}  // namespace boostforest
