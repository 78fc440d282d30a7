"""Words of the docstrings of pool forests, and their fitted attributes."""

POOL_FOREST = {
    "member": "member",
    "members": "members",
    "grow": "Fit each member to",
    "to": "to",
    "jobs": """Members to fit at the same time, through joblib; None is 1 unless a joblib context says otherwise, -1 all
cores. Trees of scikit-learn and of this package are fitted in threads, other estimators in processes, unless
``joblib.parallel_config`` names another backend. Predictions run in threads.""",
    "or_balanced": ', "balanced_subsample"',
    "but_weights": """. "balanced_subsample" balances within each drawn replica, by weights that are passed on to the
members.""",
    "codes": "",
}

ATTRIBUTES = """\
estimators_ : list of estimators
    The fitted members.{codes}
estimators_features_ : list of ndarray
    The columns that each member was given.
estimators_samples_ : list of ndarray
    The rows that each member was fitted to; not stored, but drawn again from the seeds.
member_params_ : list of dict
    The parameters that each member has drawn from its pools.
member_seeds_ : ndarray of shape (n_estimators,)
    Seed of each member.
feature_importances_ : ndarray of shape (n_features_in_,)
    Mean share of each feature in the members' importances, if all members have them.
n_features_in_ : int
    Number of features.
feature_names_in_ : ndarray of shape (n_features_in_,)
    Names of the features, if the training table had any.
"""
