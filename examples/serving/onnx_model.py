"""An exported model in ONNX Runtime: tables go in as they are, without boostforest.

pip install onnxruntime pandas
python examples/serving/onnx_model.py houses.onnx new_houses.csv
"""

import json
import sys

import numpy as np
import onnxruntime
import pandas as pd

ROWS_AT_ONCE = 500  # memory goes with the rows that are predicted at once
TYPES = {"tensor(double)": np.float64, "tensor(float)": np.float32}


class OnnxModel:
    def __init__(self, path, n_threads=1):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = n_threads
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.columns = json.loads(self.session.get_modelmeta().custom_metadata_map["columns"])
        self.inputs = {given.name: given.type for given in self.session.get_inputs()}
        self.outputs = [output.name for output in self.session.get_outputs()]

    def predict(self, table):
        """Return what the model gives for the rows of a frame: arrays by the names of the outputs."""
        missing = [name for name in self.columns if name not in table.columns]
        if missing:
            raise ValueError(f"The table must have the columns {self.columns}; {missing} are missing.")
        starts = range(0, max(len(table), 1), ROWS_AT_ONCE)
        parts = [self.session.run(None, self._feed(table[i : i + ROWS_AT_ONCE])) for i in starts]
        return {
            name: np.concatenate(values) for name, values in zip(self.outputs, zip(*parts, strict=True), strict=True)
        }

    def _feed(self, rows):
        if list(self.inputs) == self.columns:  # there are categories: each column is an input of its own
            return {name: self._column(rows[[name]], name) for name in self.columns}
        return {"X": self._numbers(rows[self.columns], "X")}

    def _column(self, column, name):
        if self.inputs[name] != "tensor(string)":
            return self._numbers(column, name)
        return column.astype(object).where(column.notna(), "").to_numpy()  # a missing category is empty text

    def _numbers(self, columns, name):
        values = columns.to_numpy(TYPES[self.inputs[name]], na_value=np.nan)
        if np.isinf(values).any():  # boostforest refuses them, the graph does not
            raise ValueError("The table must not have infinite values, nor values too large for the model's type.")
        return values


if __name__ == "__main__":
    model = OnnxModel(sys.argv[1])
    found = model.predict(pd.read_csv(sys.argv[2]))
    pd.DataFrame({name: list(values.squeeze()) for name, values in found.items()}).to_csv(sys.stdout, index=False)
