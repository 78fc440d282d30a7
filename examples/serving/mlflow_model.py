"""A model file as an MLflow model: MLflow keeps this code and the file, and nothing is pickled.

``mlflow.pyfunc.save_model`` and ``log_model`` take the path of this file as ``python_model``, and the model file among
the ``artifacts``: see docs/deploy.md.
"""

from mlflow.models import set_model
from mlflow.pyfunc import PythonModel

import boostforest


class SavedForest(PythonModel):
    def load_context(self, context):
        self.estimator = boostforest.load_model(context.artifacts["model"])

    def predict(self, context, model_input, params=None):
        if (params or {}).get("probabilities", False):
            return self.estimator.predict_proba(model_input)
        return self.estimator.predict(model_input)


set_model(SavedForest())
