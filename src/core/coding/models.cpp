#include "models.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "entropy.hpp"

namespace boostforest {

namespace {

constexpr int kContexts = 26;

// Half an octave of the size to a context.
unsigned context_of(unsigned size) {
    if (size < 2) return size;
    const auto octave = static_cast<unsigned>(std::bit_width(size)) - 1;
    return std::min<unsigned>(2 * octave + (size >> (octave - 1) & 1), kContexts - 1);
}

// The parameter of the model before, in the units of this one.
int in_units(int value, int from, int to) {
    const int shift = from - to;
    if (shift >= 0) return std::clamp(shift >= 8 ? value * 256 : value * (1 << shift), -127, 127);
    return shift < -8 ? 0 : (value + (1 << (-shift - 1))) >> -shift;
}

// Calls code(place, expected, context) for all parameters in their order; it returns what is coded in place of one.
template <class Code>
void for_each_param(const ModelShapes& shapes, const Byte* params, Code code) {
    std::vector<unsigned> sizes;  // mean size of what was coded in each place of a model, in sixteenths
    std::int64_t first_param = 0, first_model = 0;
    for (std::size_t t = 0; t < shapes.n_models.size(); ++t) {
        const std::int64_t group = shapes.group[t], per_model = group * shapes.n_outputs;
        if (static_cast<std::int64_t>(sizes.size()) != per_model) sizes.assign(per_model, 64);
        std::int64_t before = -1;
        for (std::int64_t i = 0; i < shapes.n_models[t]; ++i) {
            const std::int64_t model = shapes.order[first_model + i];
            unsigned here = 64;  // mean size within this model
            for (std::int64_t j = 0, output = 0, k = 0; j < per_model; ++j) {
                int expected = 0;
                if (shapes.differences && before >= 0) {
                    const std::int8_t* exponent = shapes.exponent.data() + first_model * shapes.n_outputs + output;
                    expected = in_units(params[first_param + before * per_model + j],
                                        exponent[before * shapes.n_outputs], exponent[model * shapes.n_outputs]);
                }
                const unsigned context = context_of((3 * sizes[j] + 2 * here) / 8);
                const int coded = code(first_param + model * per_model + j, expected, context);
                const auto size = 16 * static_cast<unsigned>(std::abs(coded));
                sizes[j] = (3 * sizes[j] + size + 2) / 4;
                here = (7 * here + size + 4) / 8;
                if (++k == group) k = 0, ++output;
            }
            before = model;
        }
        first_param += shapes.n_models[t] * per_model;
        first_model += shapes.n_models[t];
    }
}

}  // namespace

std::vector<std::uint8_t> encode_models(const ModelShapes& shapes, const Byte* params) {
    std::vector<std::uint8_t> symbols, contexts;
    for_each_param(shapes, params, [&](std::int64_t place, int expected, unsigned context) {
        const auto coded = static_cast<std::int8_t>(params[place] - expected);  // modulo 256
        symbols.push_back(static_cast<std::uint8_t>(coded));
        contexts.push_back(static_cast<std::uint8_t>(context));
        return int{coded};
    });
    return encode_symbols(symbols, contexts.data(), kContexts);
}

void decode_models(const ModelShapes& shapes, std::span<const std::uint8_t> stream, Byte* params) {
    SymbolReader reader(stream, kContexts);
    for_each_param(shapes, params, [&](std::int64_t place, int expected, unsigned context) {
        const auto coded = static_cast<std::int8_t>(reader.next(context));
        params[place] = static_cast<Byte>(coded + expected);
        return int{coded};
    });
    reader.finish();
}

}  // namespace boostforest
