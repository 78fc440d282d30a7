// Which columns may act together: a score is then a sum of functions of such columns each.
//
// A term of a tree's score depends on the columns that were split on above its node, and on one more if it is the slope
// of that column. So below splits on some columns only those may be split on, or have slopes, that may act together
// with all of them.
#pragma once

#include <cstdint>
#include <vector>

namespace boostforest {

class Interactions {
   public:
    // features, inputs: column of every feature, and of every feature that node models see. most: any so many columns
    // may act together; 0: those of one of the sets, each ascending.
    Interactions(std::vector<std::int32_t> features, std::vector<std::int32_t> inputs, int most,
                 std::vector<std::vector<std::int32_t>> sets);

    int n_features() const { return static_cast<int>(features_.size()); }
    int n_inputs() const { return static_cast<int>(inputs_.size()); }
    int column(int feature) const { return features_[feature]; }

    // Which columns may be used below splits on `path`, columns in any order.
    void find_allowed(std::vector<std::int32_t> path);
    bool allows_feature(int feature) const { return allowed_[features_[feature]] != 0; }
    bool allows_input(int input) const { return allowed_[inputs_[input]] != 0; }

   private:
    std::vector<std::int32_t> features_, inputs_;
    int most_;
    std::vector<std::vector<std::int32_t>> sets_;
    std::vector<std::uint8_t> allowed_;  // by column
};

}  // namespace boostforest
