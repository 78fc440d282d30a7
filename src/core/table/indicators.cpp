#include "indicators.hpp"

#include <algorithm>

#include "../kernels/kernels.hpp"

namespace boostforest {

namespace {

constexpr int kAtOnce = 8;  // members that are copied together, wanted or not: few rows have more

// What is known of a column after some rows.
struct TwoValues {
    double first = 0, second = 0;
    std::int64_t n_first = 0, n_second = 0;
    bool possible = true;  // no third value, nothing missing

    void add(double value) {
        if (n_first == 0) first = value;
        if (value == first) {
            ++n_first;
        } else if (n_second == 0 || value == second) {
            second = value;
            ++n_second;
        } else {
            possible = false;
        }
    }
    std::int64_t n_rare() const { return std::min(n_first, n_second); }
};

std::vector<TwoValues> look_at_columns(const double* x, std::int64_t n_rows, int n_features,
                                       const MissingCells* missing) {
    std::vector<TwoValues> columns(n_features);
    std::vector<int> open(n_features);  // columns that may still be indicators
    for (int j = 0; j < n_features; ++j) open[j] = j;
    const std::int64_t width = padded_width(n_features);
    for (std::int64_t i = 0; i < n_rows && !open.empty(); ++i) {
        for (const int j : open) {
            if (missing != nullptr && missing->test(i, j)) columns[j].possible = false;
            columns[j].add(x[i * width + j]);
        }
        if (i < 64 || i % 64 == 0) std::erase_if(open, [&](int j) { return !columns[j].possible; });
    }
    return columns;
}

}  // namespace

std::unique_ptr<Indicators> find_indicators(const double* x, std::int64_t n_rows, int n_features,
                                            const MissingCells* missing) {
    constexpr int kFewest = 16;          // dense rows as short as that are two vectors
    constexpr std::int64_t kRarest = 4;  // the rare value is in one row of this many, or fewer
    constexpr int kMost = 65535;         // what the lists can number
    constexpr std::int64_t kMostMembers = 0xFFFFFFFF;
    if (n_features < kFewest) return nullptr;
    const std::vector<TwoValues> columns = look_at_columns(x, n_rows, n_features, missing);
    if (std::none_of(columns.begin(), columns.end(), [](const TwoValues& column) { return column.possible; }))
        return nullptr;
    auto found = std::make_unique<Indicators>();
    found->number.resize(n_features);
    std::int64_t n_members = 0;
    for (int j = 0; j < n_features; ++j) {
        const TwoValues& column = columns[j];
        if (!column.possible || column.n_rare() * kRarest > n_rows) {
            found->number[j] = -1 - found->n_rest();
            found->rest.push_back(j);
            continue;
        }
        found->number[j] = found->n();
        n_members += column.n_rare();
        const bool first_is_rare = column.n_first < column.n_second;
        found->feature.push_back(j);
        found->rare.push_back(first_is_rare ? column.first : column.second);
        found->frequent.push_back(first_is_rare ? column.second : column.first);
    }
    const std::int64_t width = padded_width(n_features);
    found->width = std::max(8, (found->n_rest() + 7) / 8 * 8);
    if (2 * (found->width * n_rows + n_members) > width * n_rows) return nullptr;
    if (found->n() > kMost || n_members > kMostMembers) return nullptr;

    found->start.reserve(n_rows + 1);
    found->member.reserve(n_members + kAtOnce);
    found->n_words = (n_rows + 63) / 64;
    found->is_rare.resize(found->n() * found->n_words);
    found->x.resize(n_rows * found->width);
    for (std::int64_t i = 0; i < n_rows; ++i) {
        const double* row = x + i * width;
        found->start.push_back(static_cast<std::uint32_t>(found->member.size()));
        for (int k = 0; k < found->n(); ++k)
            if (row[found->feature[k]] == found->rare[k] && columns[found->feature[k]].n_rare() > 0) {
                found->member.push_back(static_cast<std::uint16_t>(k));
                found->is_rare[k * found->n_words + i / 64] |= std::uint64_t{1} << (i % 64);
            }
        for (int k = 0; k < found->n_rest(); ++k) found->x[i * found->width + k] = row[found->rest[k]];
    }
    found->start.push_back(static_cast<std::uint32_t>(found->member.size()));
    found->member.resize(found->member.size() + kAtOnce);
    return found;
}

void RowLists::read(const Indicators& table, const std::int32_t* rows, std::int64_t n) {
    std::uint32_t* first = start.get(n + 1);
    first[0] = 0;
    for (std::int64_t i = 0; i < n; ++i) {
        __builtin_prefetch(table.begin(rows[i]));
        first[i + 1] = first[i] + (table.start[rows[i] + 1] - table.start[rows[i]]);
    }
    n_members = first[n];
    std::uint16_t* to = member.get(n_members);  // a buffer has room for more, which the copies below need
    std::int32_t* owners = owner.get(n_members);
    for (std::int64_t i = 0; i < n; ++i) {
        const std::uint16_t* from = table.begin(rows[i]);
        for (std::uint32_t k = first[i]; k < first[i + 1]; k += kAtOnce, from += kAtOnce) {
            std::copy_n(from, kAtOnce, to + k);
            std::fill_n(owners + k, kAtOnce, static_cast<std::int32_t>(i));
        }
    }
}

}  // namespace boostforest
