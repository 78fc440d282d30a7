#include <atomic>
#include <cstring>

#include "kernels.hpp"

#if defined(BOOSTFOREST_X86_KERNELS)
#include <cpuid.h>
#endif

namespace boostforest {

namespace generic {
extern const Kernels kTable;
}
#if defined(BOOSTFOREST_X86_KERNELS)
namespace avx2 {
extern const Kernels kTable;
}
namespace avx512 {
extern const Kernels kTable;
}
#endif

namespace {

#if defined(BOOSTFOREST_X86_KERNELS)
// Conversions of half precision; not every compiler lets __builtin_cpu_supports ask for them.
bool has_f16c() {
    unsigned int a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & (1u << 29)) != 0;
}
#endif

bool runs_here(const Kernels& table) {
#if defined(BOOSTFOREST_X86_KERNELS)
    if (!has_f16c()) return &table == &generic::kTable;
    if (&table == &avx512::kTable)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("bmi2");
    if (&table == &avx2::kTable) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return &table == &generic::kTable;
}

// Best first.
const Kernels* const kTables[] = {
#if defined(BOOSTFOREST_X86_KERNELS)
    &avx512::kTable, &avx2::kTable,
#endif
    &generic::kTable};

const Kernels* best() {
    for (const Kernels* table : kTables)
        if (runs_here(*table)) return table;
    return &generic::kTable;
}

std::atomic<const Kernels*>& current() {
    static std::atomic<const Kernels*> table{best()};
    return table;
}

}  // namespace

const Kernels& kernels() {
    return *current().load(std::memory_order_relaxed);
}

bool select_kernels(const char* name) {
    for (const Kernels* table : kTables)
        if (std::strcmp(table->name, name) == 0 && runs_here(*table)) {
            current().store(table, std::memory_order_relaxed);
            return true;
        }
    return false;
}

}  // namespace boostforest
