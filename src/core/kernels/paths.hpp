// Path-dependent contributions of kPathRows rows side by side: see explain/path_dependent.hpp. Values of one point,
// column or output lie kPathRows apart, and no sum runs over lanes: a row has the same values whatever lies beside it.
// Part of all.cpp: compiled once per instruction set, so no standard library here.
#pragma once

#include "simd.hpp"

namespace boostforest {
namespace BF_ISA {
namespace {

bool path_step(const PathRule& rule, const double* x, const PathSplit& split, const double* product,
               const PathColumn& before, const PathColumn& after, double* out) {
    double n_met = 0;
    for_columns(rule.n_rows, [&]<class V>(int l) {
        const V value = load<V>(x + l), one = splat<V>(1), missing = splat<V>(split.missing_left ? 1 : 0);
        const V left = value <= split.threshold ? one : value != value ? missing : V{};
        const V met = load<V>(before.met + l) * (split.is_left ? left : one - left);
        n_met += sum(met);
        store<V>(after.met + l, met);
    });
    double *of_met = after.inverse + rule.n * kPathRows, *squares = of_met + rule.n;
    for (Index t = 0; t < rule.n; ++t) {  // u has two values, of rows that meet the conditions and of the others
        const double of_others = (1 - rule.points[t]) * after.share;
        const V2 u = {rule.points[t] + of_others, of_others}, inverse = 1 / u;
        of_met[t] = inverse[0];
        squares[t] = inverse[0] * inverse[0];
        const double other_inverse = u[1] > 0 ? inverse[1] : 0.0;
        for_columns(rule.n_rows, [&]<class V>(int l) {
            const Index at = t * kPathRows + l;
            const V met = load<V>(after.met + l);
            store<V>(after.inverse + at, met != 0 ? splat<V>(inverse[0]) : splat<V>(other_inverse));
            store<V>(out + at, load<V>(product + at) * load<V>(before.inverse + at) *
                                   (met != 0 ? splat<V>(u[0]) : splat<V>(u[1])));
        });
    }
    return n_met > 0;
}

void path_return(const PathRule& rule, int n_outputs, const double* under, const PathColumn& before,
                 const PathColumn& after, double* below, double* values) {
    for_columns(rule.n_rows, [&]<class V>(int l) {
        const V gain = load<V>(after.met + l) - after.share, gain_before = load<V>(before.met + l) - before.share;
        for (Index k = 0; k < n_outputs; ++k) {
            V total{};
            for (Index t = 0; t < rule.n; ++t) {
                const Index at = t * kPathRows + l, own = k * rule.n * kPathRows + at;
                const V all = load<V>(under + own), inverse = load<V>(after.inverse + at);
                total += all * (gain * inverse - gain_before * load<V>(before.inverse + at));
                store<V>(below + own, load<V>(below + own) + all);
            }
            double* value = values + k * kPathRows + l;
            store<V>(value, load<V>(value) + rule.weight * total);
        }
    });
}

// What inputs change of the score of the rows from l on: writes each, returns their sum and the slope of the output.
template <class V>
struct Change {
    V total, bend;
};
template <class V>
[[gnu::always_inline]] inline Change<V> change_of(const PathModel& m, const double* x, int n, int l, double* line) {
    V total{}, more{};  // the terms of one sum would wait for each other
    const auto add = [&](Index j, V& to) {
        const V own = m.slopes[j] * (load<V>(x + j * kPathRows + l) - m.means[j]);
        store<V>(line + j * kPathRows + l, own);
        to += own;
    };
    for (Index j = 0; j + 1 < n; j += 2) {
        add(j, total);
        add(j + 1, more);
    }
    if (n % 2 != 0) add(n - 1, total);
    total += more;
    const V low = splat<V>(m.lower), high = splat<V>(m.upper), to = m.score + total;
    const V above = to < low ? low : to, within = above > high ? high : above;
    const V bent = total != 0 ? (within - m.output) / total : V{};
    const V straight = within == to ? splat<V>(1) : bent;
    return {total, m.score == m.output ? straight : bent};
}

void path_line(const PathModel& m, const double* x, int n, double* line, double* change, double* bend) {
    for_columns(kPathRows, [&]<class V>(int l) {
        const Change<V> of_rows = change_of<V>(m, x, n, l, line);
        store<V>(change + l, of_rows.total);
        store<V>(bend + l, of_rows.bend);
    });
}

// kPoints points from `first` on. What a column on the path changes of the output, it gets by Σ rule × product × r /
// u²: path_return gives it the rest of it.
template <class V, int kPoints>
[[gnu::always_inline]] inline V path_points(const PathRule& rule, Index first, int l, const PathModel& m,
                                            const PathColumn* const* columns, int n, V off_path, double* values,
                                            Index stride) {
    const Index start = first * kPathRows + l;
    V weighted[kPoints], line[kPoints], whole{};
    unrolled<0, kPoints>([&]<int t>() {
        weighted[t] = rule.weights[first + t] * load<V>(m.product + start + t * kPathRows);
        line[t] = off_path;
        whole += weighted[t];
    });
    for (int i = 0; i < n; ++i) {
        const PathColumn& column = *columns[i];
        if (!column.any_met) continue;
        const V change = load<V>(column.change + l);  // 0 for rows that do not meet its conditions
        const double* inverse = column.inverse + rule.n * kPathRows + first;
        V own{}, more{};  // the terms of one sum would wait for each other
        unrolled<0, kPoints>([&]<int t>() {
            line[t] += change * inverse[t];
            (t % 2 == 0 ? own : more) += weighted[t] * inverse[rule.n + t];
        });
        own += more;
        double* value = values + column.player * stride + l;
        store<V>(value, load<V>(value) + rule.weight * column.share * change * own);
    }
    unrolled<0, kPoints>([&]<int t>() {
        double* below = m.below + start + t * kPathRows;
        store<V>(below, weighted[t] * (m.output + rule.points[first + t] * line[t]));
    });
    return whole;
}

void path_model(const PathRule& rule, const PathModel& m, const PathColumn* const* columns, int n_columns,
                const double* x, int n_inputs, double* line, const double* change, const double* bend,
                const std::int32_t* off_path, int n, const std::int32_t* of_input, double* values, Index stride) {
    for_columns(rule.n_rows, [&]<class V>(int l) {
        const Change<V> of_rows =
            x != nullptr ? change_of<V>(m, x, n_inputs, l, line) : Change<V>{load<V>(change + l), load<V>(bend + l)};
        const V slope = of_rows.bend;
        V rest = of_rows.total;
        for (int i = 0; i < n_columns; ++i) {
            const PathColumn& column = *columns[i];
            V own{};
            for (Index j = column.first_input; j < column.last_input; ++j) own += load<V>(line + j * kPathRows + l);
            rest -= own;
            store<V>(column.change + l, own * slope * load<V>(column.met + l));
        }
        rest *= slope;
        V whole{};
        if (rule.n == 4) whole = path_points<V, 4>(rule, 0, l, m, columns, n_columns, rest, values, stride);
        if (rule.n == 5) whole = path_points<V, 5>(rule, 0, l, m, columns, n_columns, rest, values, stride);
        if (rule.n == 6) whole = path_points<V, 6>(rule, 0, l, m, columns, n_columns, rest, values, stride);
        if (rule.n == 7) whole = path_points<V, 7>(rule, 0, l, m, columns, n_columns, rest, values, stride);
        for (Index first = 0; rule.n % 8 == 0 && first < rule.n; first += 8)
            whole += path_points<V, 8>(rule, first, l, m, columns, n_columns, rest, values, stride);
        whole *= rule.weight * slope;
        for (int i = 0; i < n; ++i) {
            const Index j = off_path[i];
            double* value = values + of_input[j] * stride + l;
            store<V>(value, load<V>(value) + whole * load<V>(line + j * kPathRows + l));
        }
    });
}

}  // namespace
}  // namespace BF_ISA
}  // namespace boostforest
