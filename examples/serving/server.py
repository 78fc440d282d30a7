"""A model file behind HTTP: rows of named values come in as JSON, predictions go out.

    pip install "boostforest[frames]" fastapi uvicorn
    python examples/serving/server.py houses.bf --port 8000

    curl localhost:8000/predict --json '{"rows": [{"area": 120.5, "town": "Bonn"}, {"area": null, "town": "Trier"}]}'

Every row has every column of the training table, null where the value is missing; a model that was fitted without names
calls its columns x0, x1, … What is wrong with a request is said in one sentence, status 422. GET /model lists the
columns, GET /health says that the server is up. An example, not a product: no authentication, no encryption, no limit
on how often it is asked, and a request is read before its size is checked; put it behind a proxy that sees to that.
"""

import argparse

import pandas as pd
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

import boostforest

MAX_ROWS = 10_000  # in a request
SHOWN = 3  # mistakes, and names, in a message

Value = StrictInt | StrictFloat | StrictStr | None  # strict: true is not 1, and "1" is text


class Rows(BaseModel):
    model_config = ConfigDict(extra="forbid")
    rows: list[dict[str, Value]] = Field(min_length=1, max_length=MAX_ROWS)


def create_app(path):
    """Return a server of the model in a file; the file is read once, here."""
    estimator = boostforest.load_model(path)
    columns = kinds_of_columns(estimator)
    app = FastAPI(title=type(estimator).__name__, version=boostforest.__version__)

    @app.exception_handler(RequestValidationError)
    def refuse_body(request: Request, error: RequestValidationError):
        return JSONResponse({"detail": in_words(error)}, status_code=422)

    @app.get("/health")
    def health():
        return {"status": "ok"}

    @app.get("/model")
    def model():
        known = {"estimator": type(estimator).__name__, "columns": columns}
        return known | ({"classes": estimator.classes_.tolist()} if hasattr(estimator, "classes_") else {})

    @app.post("/predict")  # not async: predictions run in threads, beside each other
    def predict(body: Rows):
        try:
            return predictions(estimator, table(body.rows, columns))
        except ValueError as error:  # boostforest says what is wrong with which column
            raise HTTPException(422, str(error)) from error

    return app


def kinds_of_columns(estimator):
    """Return what each column of the training table held, by name: "number" or "text"."""
    names = getattr(estimator, "feature_names_in_", None)
    names = [f"x{j}" for j in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]
    held = [None] * len(names) if estimator.encoder_ is None else estimator.encoder_.columns
    return {name: kind_of_column(name, column) for name, column in zip(names, held, strict=True)}


def kind_of_column(name, column):
    """Return what a column held, or say that this example does not read it."""
    if getattr(column, "is_text", False) or type(column).__name__ == "TextColumn":
        return "text"
    if column is not None and type(column).__name__ not in ("NumberColumn", "CategoryColumn"):
        raise ValueError(f"This server reads numbers and text, and column {name!r} of the model is something else.")
    return "number"


def table(rows, columns):
    """Return rows as a table with the columns of the fit, or say what is wrong with which row."""
    for i, row in enumerate(rows):
        if row.keys() != columns.keys():
            wrong = {"missing": columns.keys() - row.keys(), "unknown": row.keys() - columns.keys()}
            said = [f"{what}: {some(sorted(names))}" for what, names in wrong.items() if names]
            raise ValueError(
                f"rows[{i}] must have the columns of the model, null for missing values; {'; '.join(said)}."
            )
        for name, value in row.items():
            if value is not None and isinstance(value, str) != (columns[name] == "text"):
                raise ValueError(f"rows[{i}][{name!r}] must be a {columns[name]} or null; got {value!r:.50}.")
    # Objects: a number beyond 2**53 may be a category, and must not become a float.
    return pd.DataFrame(rows, columns=list(columns), dtype=object)


def predictions(estimator, X):
    """Return what the model says of the rows of a table."""
    if not hasattr(estimator, "feature_names_in_"):
        X = X.to_numpy()
    if not hasattr(estimator, "classes_"):
        return {"predictions": estimator.predict(X).tolist()}
    probabilities = estimator.predict_proba(X)
    labels = estimator.classes_[probabilities.argmax(axis=1)]
    return {"labels": labels.tolist(), "probabilities": probabilities.tolist(), "classes": estimator.classes_.tolist()}


def in_words(error):
    """Return what is wrong with a request in one sentence, without the request itself, which may be large."""
    said = {f"{'.'.join(map(str, found['loc'][1:4])) or 'body'}: {found['msg']}" for found in error.errors()}
    return 'The request must be {"rows": [{column: number, text or null}, …]}; ' + some(sorted(said), "; ") + "."


def some(words, separator=", "):
    """Return the first words of a list, and how many more there are."""
    more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return separator.join(words[:SHOWN]) + more


if __name__ == "__main__":
    import uvicorn

    parser = argparse.ArgumentParser(description="Serve the predictions of a model file.")
    parser.add_argument("model", help="a file that save_model, or the command boostforest, has written")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000)
    arguments = parser.parse_args()
    uvicorn.run(create_app(arguments.model), host=arguments.host, port=arguments.port)
