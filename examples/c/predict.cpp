// The same in C++: a class that owns a model, and predicts many rows. predict MODEL VALUES... (numbers; row by row)
//
//     c++ -std=c++17 -O2 -I "$(python -c 'import boostforest; print(boostforest.get_include())')" predict.cpp -o
//     predict
#define BOOSTFOREST_IMPLEMENTATION
#include "boostforest.h"

#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

class Forest {
   public:
    explicit Forest(const std::string& path) {
        int status = BF_OK;
        forest_.reset(bf_open(path.c_str(), &status));
        check(status);
    }

    // Results row by row: the target, or the probability of each class.
    std::vector<double> predict(const std::vector<double>& rows) const {
        const auto n_columns = static_cast<std::size_t>(forest_->n_columns);
        if (rows.size() % n_columns != 0)
            throw std::invalid_argument("a row has " + std::to_string(n_columns) + " values");
        const std::size_t n_rows = rows.size() / n_columns;
        std::vector<double> results(n_rows * n_results()), work(bf_work(forest_.get(), n_rows));
        check(bf_predict_rows(forest_.get(), rows.data(), n_rows, n_columns, results.data(), work.data(), nullptr));
        return results;
    }

    std::size_t n_results() const { return static_cast<std::size_t>(bf_n_results(forest_.get())); }

   private:
    struct Close {
        void operator()(bf_forest* forest) const { bf_close(forest); }
    };

    static void check(int status) {
        if (status != BF_OK) throw std::runtime_error(bf_error(status));
    }

    std::unique_ptr<bf_forest, Close> forest_;
};

int main(int argc, char** argv) {
    try {
        const Forest forest(argc > 1 ? argv[1] : "");
        std::vector<double> rows;
        for (int i = 2; i < argc; ++i) rows.push_back(std::stod(argv[i]));
        const std::vector<double> results = forest.predict(rows);
        for (std::size_t i = 0; i < results.size(); ++i)
            std::printf("%.17g%c", results[i], (i + 1) % forest.n_results() == 0 ? '\n' : ' ');
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
