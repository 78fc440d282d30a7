// Compiled once for each instruction set (see CMakeLists.txt), each time into a namespace of its own (BF_ISA).
// Vectors are written with the GCC/Clang vector extension, as long as a register: eight doubles for AVX-512, four for
// AVX2, two for SSE2 and NEON. No standard library in any of these files (kernels.hpp says why).

#include "kernels.hpp"

#include "boost.hpp"
#include "cubes.hpp"
#include "effects.hpp"
#include "explain.hpp"
#include "gram.hpp"
#include "hidden.hpp"
#include "histogram.hpp"
#include "lanes.hpp"
#include "linalg.hpp"
#include "logit_boost.hpp"
#include "loss.hpp"
#include "mixed.hpp"
#include "partition.hpp"
#include "paths.hpp"
#include "predict.hpp"
#include "small_ridge.hpp"
#include "split.hpp"
#include "svr.hpp"

namespace boostforest {
namespace BF_ISA {

extern const Kernels kTable;
const Kernels kTable = {
    .name = BF_ISA_NAME,
    .column_range = column_range,
    .left_sums = left_sums,
    .add_members = add_members,
    .add_gain = add_gain,
    .boosting_gains = boosting_gains,
    .best_place = best_place,
    .mark_left = mark_left,
    .part_rows = part_rows,
    .part_columns = part_columns,
    .take_nonzero = take_nonzero,
    .draw_batch = draw_batch,
    .take_draws = take_draws,
    .gather_centred = gather_centred,
    .gather_shifted = gather_shifted,
    .normal_equations = normal_equations,
    .normal_equations_of_lists = normal_equations_of_lists,
    .small_ridge = small_ridge,
    .row_products = row_products,
    .centre_equations = centre_equations,
    .factor = factor,
    .substitute = substitute,
    .weigh_products = weigh_products,
    .solve_lanes = solve_lanes,
    .dual_lanes = dual_lanes,
    .columns_times_lanes = columns_times_lanes,
    .rows_times_lanes = rows_times_lanes,
    .substitute_lanes = substitute_lanes,
    .substitute_few = substitute_few,
    .label_products = label_products,
    .linear = linear,
    .linear_rows = linear_rows,
    .add_clipped_rows = add_clipped_rows,
    .add_weighted_rows = add_weighted_rows,
    .weighted_sums = weighted_sums,
    .sum = sum_of,
    .sums = sums_of,
    .value_range = value_range,
    .exponential = exponential,
    .logarithm = logarithm,
    .sigmoid = sigmoid,
    .softmax = softmax,
    .residual_statistics = residual_statistics,
    .class_statistics = class_statistics,
    .class_pseudo_labels = class_pseudo_labels,
    .centre_outputs = centre_outputs,
    .shared_pseudo_labels = shared_pseudo_labels,
    .step_residual = step_residual,
    .step_logistic = step_logistic,
    .step_softmax = step_softmax,
    .hidden_units = hidden_units,
    .svr_start = svr_start,
    .svr_system = svr_system,
    .svr_direction = svr_direction,
    .svr_move = svr_move,
    .tree_scores = tree_scores,
    .scores_of_row = scores_of_row,
    .constants_of_row = constants_of_row,
    .widen_values = widen_values,
    .clipped_rows = clipped_rows,
    .coalition_scores = coalition_scores,
    .coalition_sums = coalition_sums,
    .clipped_coalitions = clipped_coalitions,
    .mixed_games = mixed_games,
    .meet_split = meet_split,
    .compare_cubes = compare_cubes,
    .add_cubes = add_cubes,
    .line_sums = line_sums,
    .unit_curves = unit_curves,
    .curve_sums = curve_sums,
    .add_sigmoids = add_sigmoids,
    .add_curve = add_curve,
    .cube_lanes = kLaneBits,
    .path_step = path_step,
    .path_return = path_return,
    .path_line = path_line,
    .path_model = path_model,
    .logit_responses = logit_responses,
    .regression_sums = regression_sums,
    .absolute_sum = absolute_sum,
    .choose_bits = choose_bits,
    .pack_pairs = pack_pairs,
    .add_cells = add_cells,
    .add_gains = add_gains,
    .add_squares = add_squares,
    .add_shared_gains = add_shared_gains,
    .best_borders = best_borders,
    .take_away = take_away,
    .code_bits = code_bits,
    .append_side = append_side,
    .add_to_bins = add_to_bins,
    .least_values = least_values,
};

}  // namespace BF_ISA
}  // namespace boostforest
