"""Planted faults: what the tests must see.  `make mutants`.

Each fault stands in one line of source: it is planted in a copy of the project, the tests named
beside it run there, and one of them must fail.  Without the fault all of them must pass.
"""

import argparse
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "_build", "__pycache__", ".*_cache", "*.ipynb~")
FAST = ("-m", "not slow and not browser")  # `make check` has to see a fault
SECONDS, WHOLE = 180, 3_600  # a run that takes longer hangs: of one fault, of all tests


class Mutant(NamedTuple):
    """A fault: in `file`, `old`, which stands there once, becomes `new`."""

    name: str  # what is wrong
    file: str
    old: str
    new: str
    tests: str  # files or names of tests below tests/, with spaces between; one of them must fail
    compiled: bool = False  # whether kernels are compiled; interpreted, short tests end sooner


MUTANTS = [
    # kernels
    Mutant(
        "peeling: one draw for all released values",
        "companion/kernels/peeling.py",
        "v[picks[i]] + laplace(rng, xi)",
        "v[picks[i]] + (out[picks[0]] - v[picks[0]] if i else laplace(rng, xi))",
        "kernels/test_peeling.py::test_every_released_value_has_noise_of_its_own",
    ),
    Mutant(
        "peeling: a pick is picked again",
        "companion/kernels/peeling.py",
        "if not taken[order[i]] and rng",
        "if rng",
        "kernels/test_peeling.py::test_picks_and_values_have_the_law_of_peeling",
    ),
    Mutant(
        "laplace: half of the scale",
        "companion/kernels/mechanisms.py",
        "return scale * (rng.standard_exponential() - rng.standard_exponential())",
        "return 0.5 * scale * (rng.standard_exponential() - rng.standard_exponential())",
        "kernels/test_mechanisms.py::test_laplace_law",
    ),
    Mutant(
        "gaussian: noise on all entries but the first",
        "companion/kernels/mechanisms.py",
        "out[i] += sigma * rng.standard_normal()",
        "out[i] += sigma * rng.standard_normal() if i else 0.0",
        "baselines/test_ldp_linucb.py::test_local_noise_energy",
    ),
    Mutant(
        "symmetric gaussian: sqrt 2 too small off the diagonal",
        "companion/kernels/mechanisms.py",
        "z = sigma * np.sqrt(0.5) * rng.standard_normal()",
        "z = 0.5 * sigma * rng.standard_normal()",
        "kernels/test_mechanisms.py::test_symmetric_noise_is_isotropic_in_the_frobenius_geometry",
    ),
    Mutant(
        "clip: a context outside the ball stays",
        "companion/kernels/mechanisms.py",
        "c = 1.0 if s <= 1.0 + 1e-9 else 1.0 / np.sqrt(s)",
        "c = 1.0",
        "kernels/test_mechanisms.py::test_clip_record_ends_in_the_universe",
    ),
    Mutant(
        "clip: a reward beyond 1 stays",
        "companion/kernels/mechanisms.py",
        "z = min(max(y, -1.0), 1.0)",
        "z = max(y, -1.0)",
        "kernels/test_mechanisms.py::test_clip_record_ends_in_the_universe",
    ),
    Mutant(
        "shuffle: noise bits of one user for a batch",
        "companion/kernels/mechanisms.py",
        "rng.binomial(b * B, p) - p * b * B",
        "rng.binomial(b, p) - p * b",
        "kernels/test_mechanisms.py::test_shuffled_sum_aggregated_law_is_the_message_level_law",
    ),
    Mutant(
        "shuffle: values are rounded down",
        "companion/kernels/mechanisms.py",
        "return int(low) + (1 if rng.random() < w - low else 0)",
        "return int(low)",
        "kernels/test_mechanisms.py::test_rounding_is_unbiased_and_to_a_neighbour",
    ),
    Mutant(
        "wishart: a degree of freedom too few",
        "companion/kernels/mechanisms.py",
        "(0.5 * (degrees - i))",
        "(0.5 * (degrees - i - 1.0))",
        "kernels/test_mechanisms.py::test_wishart_law",
    ),
    Mutant(
        "generalized noise: radius of one dimension",
        "companion/kernels/mechanisms.py",
        "rng.standard_gamma(0.5 * d)",
        "rng.standard_gamma(0.5)",
        "kernels/test_generalized_noise.py::test_generalized_gaussian_law",
    ),
    Mutant(
        "tree: a merged block loses its noise",
        "companion/kernels/tree.py",
        "rows[q, i] += rows[before, i]",
        "rows[q, i] += 0.0 * rows[before, i]",
        "kernels/test_tree.py::test_equals_the_sum_over_an_explicit_dictionary_of_nodes",
    ),
    Mutant(
        "tree: noise of the block before, used again",
        "companion/kernels/tree.py",
        "rows[q, i] = sigma * rng.standard_normal()",
        "rows[q, i] = sigma * rng.standard_normal() if q == 0 else rows[0, i]",
        "kernels/test_tree.py::test_equals_the_sum_over_an_explicit_dictionary_of_nodes",
    ),
    Mutant(
        "square root: a coefficient off by one",
        "companion/kernels/tree.py",
        "[1.0], (2 * k - 1) / (2 * k)",
        "[1.0], (2 * k - 1) / (2 * k + 1)",
        "kernels/test_tree.py::test_square_root_noise_is_a_convolution_that_squares_to_sums",
    ),
    Mutant(
        "selection: exponential mechanism with Laplace noise",
        "companion/kernels/selection.py",
        "return noisy_largest(rng, scores, scale, True)",
        "return noisy_largest(rng, scores, scale, False)",
        "kernels/test_selection.py::test_exponential_mechanism_law",
    ),
    Mutant(
        "selection: released values have half of the noise",
        "companion/kernels/selection.py",
        "out[picks[i]] += laplace(rng, xi)",
        "out[picks[i]] += laplace(rng, 0.5 * xi)",
        "fliphat/test_regression.py::test_peeling_equals_the_twin",
    ),
    Mutant(
        "optimism: width without its root",
        "companion/kernels/optimism.py",
        "mean + width * np.sqrt(form), k",
        "mean + width * form, k",
        "kernels/test_optimism.py::test_a_bound_on_the_form_never_changes_the_arm",
    ),
    Mutant(
        "glm: slope of the probit link without its constant",
        "companion/kernels/glm.py",
        "math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)",
        "math.exp(-0.5 * z * z) / math.sqrt(math.pi)",
        "kernels/test_glm.py::test_derivatives_are_those_of_differences",
    ),
    Mutant(
        "geometry: records are admitted unscaled",
        "companion/kernels/geometry.py",
        "c = 1.0 if size <= 1.0 + 1e-9 else 1.0 / size",
        "c = 1.0",
        "kernels/test_geometry.py::test_a_record_outside_is_scaled_to_the_ball_and_its_label_clipped",
    ),
    Mutant(
        "lives: a life begins where the last one ended",
        "companion/kernels/lives.py",
        "        copy(w.memory[1], w.memory[0])\n",
        "",
        "kernels/test_lives.py::test_lives_are_those_of_single_calls",
    ),
    # accounting
    Mutant(
        "sensitivity of statistics off by sqrt 2",
        "companion/accounting/privacy.py",
        'STATISTICS_SENSITIVITY = {"ball": np.sqrt(4.5),',
        'STATISTICS_SENSITIVITY = {"ball": np.sqrt(2.25),',
        "accounting/test_privacy.py::test_sensitivities_are_the_suprema_over_all_pairs",
    ),
    Mutant(
        "pair: sensitivity of one block for both",
        "companion/accounting/privacy.py",
        'PAIR_SENSITIVITY = {"ball": np.sqrt(8.0),',
        'PAIR_SENSITIVITY = {"ball": np.sqrt(4.0),',
        "accounting/test_privacy.py::test_sensitivities_are_the_suprema_over_all_pairs",
    ),
    Mutant(
        "releases compose without their root",
        "companion/accounting/privacy.py",
        "sensitivities[universe] * np.sqrt(releases), None",
        "sensitivities[universe], None",
        "baselines/test_noisy_ridge.py::test_guarantee_is_computed_from_the_noise",
    ),
    Mutant(
        "a Gaussian release promises what was asked",
        "companion/accounting/privacy.py",
        "Guarantee(model, true, delta,",
        "Guarantee(model, epsilon, delta,",
        "baselines/test_noisy_ridge.py::test_guarantee_is_computed_from_the_noise",
    ),
    Mutant(
        "tree: a level too few",
        "companion/accounting/privacy.py",
        'return need_int("T", T, 1).bit_length()',
        'return (need_int("T", T, 1) - 1).bit_length()',
        "accounting/test_privacy.py::test_tree_levels",
    ),
    Mutant(
        "classical Gaussian: delta without 1.25",
        "companion/accounting/privacy.py",
        "np.log(1.25 / delta)) / epsilon",
        "np.log(1.0 / delta)) / epsilon",
        "accounting/test_privacy.py::test_classical_formula_is_refused_where_it_is_not_proved",
    ),
    Mutant(
        "zcdp: the factor (1 - 1/a)^a left out",
        "companion/accounting/privacy.py",
        "over * u - a * np.log1p(over)",
        "over * u - over * np.log1p(over)",
        "accounting/test_concentrated.py::test_conversion_equals_the_accountant_library",
    ),
    Mutant(
        "shuffle: log(2/delta) for log(4/delta)",
        "companion/accounting/privacy.py",
        "e * np.log(4.0 / delta) / n) + 8.0 * e / n",
        "e * np.log(2.0 / delta) / n) + 8.0 * e / n",
        "accounting/test_privacy.py::test_amplification_by_shuffling_is_the_published_bound",
    ),
    Mutant(
        "shuffle: amplified beyond the theorem's condition",
        "companion/accounting/privacy.py",
        "np.log(n / (16.0 * np.log(2.0 / delta)))",
        "np.log(n)",
        "accounting/test_privacy.py::test_amplification_by_shuffling_is_the_published_bound",
    ),
    Mutant(
        "binomial: the mirror image is left out",
        "companion/accounting/binomial.py",
        "for side in ((z, rise), mirror)",
        "for side in ((z, rise),)",
        "accounting/test_binomial.py::test_blocks_are_a_bound_on_single_steps",
    ),
    Mutant(
        "binomial: several releases counted once",
        "companion/accounting/binomial.py",
        "n.times * (r * n.move) ** 2",
        "(r * n.move) ** 2",
        "accounting/test_binomial.py::test_a_list_of_one_is_one_release_and_times_is_repetition",
    ),
    Mutant(
        "binomial: what an entry loses counted once",
        "companion/accounting/binomial.py",
        "return r, entries * np.array(lost)",
        "return r, np.array(lost)",
        "accounting/test_binomial.py::test_what_is_lost_is_lost_in_every_entry",
    ),
    Mutant(
        "audit: the event is counted where it was chosen",
        "companion/accounting/counting.py",
        "likely, other = (count_b, count_a) if swap else (count_a, count_b)",
        "likely, other = (choose_b, choose_a) if swap else (choose_a, choose_b)",
        "accounting/test_audit.py::test_bound_is_close_to_the_truth_for_laplace",
    ),
    Mutant(
        "audit: delta is not taken off",
        "companion/accounting/audit.py",
        "np.log(np.maximum(low - delta, high) / high)",
        "np.log(np.maximum(low, high) / high)",
        "accounting/test_audit.py::test_correct_mechanisms_are_rarely_accused",
    ),
    Mutant(
        "audit: streams that differ in two users pass",
        "companion/accounting/audit.py",
        "if len(rows := np.flatnonzero(apart).tolist()) > 1:",
        "if len(rows := np.flatnonzero(apart).tolist()) > 2:",
        "accounting/test_audit.py::test_inputs_that_differ_in_more_than_the_one_user_are_refused",
    ),
    # core: live, simulate, saved runs, stats
    Mutant(
        "saved: arrays of parameters may differ",
        "companion/saved.py",
        'f"{leaf.dtype}{leaf.shape} {digest}"',
        'f"{leaf.dtype}{leaf.shape}"',
        "test_saved.py::test_another_number_in_an_array_of_parameters_is_another_policy",
    ),
    Mutant(
        "saved: numbers of another type are taken",
        "companion/saved.py",
        "(saved.dtype, saved.shape) != (fresh.dtype, fresh.shape)",
        "saved.shape != fresh.shape",
        "test_saved.py::test_what_does_not_fit_is_refused_by_name",
    ),
    Mutant(
        "live: a loaded run begins its stream anew",
        "companion/live.py",
        '        self.rng.bit_generator.state = about["generator"]\n',
        "",
        "test_live.py::test_a_saved_run_goes_on_to_the_bit[False-jdp_linucb]",
    ),
    Mutant(
        "live: open questions are no rounds of the horizon",
        "companion/live.py",
        "self.rounds + len(self._open) + 1)",
        "self.rounds + 1)",
        "test_late.py::test_tickets",
    ),
    Mutant(
        "live: the context stays the caller's array",
        "companion/live.py",
        '("K", "d")).copy()',
        '("K", "d"))',
        "test_core.py::test_the_callers_array_may_be_reused",
    ),
    Mutant(
        "live: the arm advised for the arm played",
        "companion/live.py",
        "        x = X[arm].copy()",
        "        x = X[self._open[ticket][1]].copy()",
        "test_core.py::test_another_arm_than_advised_may_be_played",
    ),
    Mutant(
        "simulate: one stream for all policies",
        "companion/simulate.py",
        "(1, *hashlib.sha256(label.encode()).digest()[:8])",
        "(1,)",
        "test_simulate.py::test_random_streams_follow_the_name",
    ),
    Mutant(
        "simulate: policies draw what the environment draws",
        "companion/simulate.py",
        '(0,) if label == "environment" else',
        "(0,) if True else",
        "test_simulate.py::test_random_streams_follow_the_name",
    ),
    Mutant(
        "simulate: regret of a block forgets the blocks before",
        "companion/simulate.py",
        "self.total[i] = curve[-1]",
        "self.total[i] = 0.0",
        "test_simulate.py::test_blocks_of_any_length_give_the_same_curve",
    ),
    Mutant(
        "simulate: a horizon that is too short passes",
        "companion/core.py",
        "if limit is not None and limit < T:",
        "if limit is not None and limit + 1 < T:",
        "test_core.py::test_the_horizon_ends_the_run",
    ),
    Mutant(
        "core: a record beyond the guarantee is taken",
        "companion/core.py",
        "if total > n or (o.step",
        "if total > n + 1 or (o.step",
        "test_every_optimiser.py::test_live_refuses_what_it_cannot_read_and_changes_nothing",
    ),
    Mutant(
        "stats: the first crossing for the last",
        "companion/stats.py",
        "    i = above[-1]\n",
        "    i = above[0]\n",
        "test_stats.py::test_of_two_crossings_the_last_counts",
    ),
    Mutant(
        "stats: a one-sided t for a two-sided interval",
        "companion/stats.py",
        "stdtrit(n - 1, 0.5 + level / 2)",
        "stdtrit(n - 1, level)",
        "test_stats.py::test_band_is_the_interval_of_every_column",
    ),
    Mutant(
        "stats: Fieller without the covariance",
        "companion/stats.py",
        "a.mean() * b.mean() - q * sab",
        "a.mean() * b.mean()",
        "test_stats.py::test_ratio_covers_and_is_exact_for_proportional_samples",
    ),
    Mutant(
        "stats: jackknife without its factor",
        "companion/stats.py",
        "    half *= np.sqrt((n - 1) / n * ((left",
        "    half *= np.sqrt(1 / n * ((left",
        "test_stats.py::test_the_jackknife_of_a_mean_is_students_interval",
    ),
    Mutant(
        "environments: a reward's mean is another arm's",
        "companion/environments.py",
        "            m = mu[t, k]",
        "            m = mu[t, 0]",
        "test_environments.py::test_gaussian_noise_has_its_scale",
    ),
    Mutant(
        "late: a policy that notes its round takes late rewards",
        "companion/late.py",
        '    "companion.baselines.random",\n',
        '    "companion.baselines.random",\n    "companion.baselines.rs_glinucb",\n',
        "test_late.py::test_every_policy_says_what_it_allows",
    ),
    # baselines
    Mutant(
        "ldp: noise halved",
        "companion/baselines/ldp_linucb.py",
        "add_gaussian(rng, p.sigma, message)",
        "add_gaussian(rng, 0.5 * p.sigma, message)",
        "baselines/test_ldp_linucb.py::test_local_noise_energy",
    ),
    Mutant(
        "ldp: records are not clipped",
        "companion/baselines/ldp_linucb.py",
        "    r, clipped = clip_record(p.offset, x, r, clean)",
        "    clipped = 0\n    clean[:] = x",
        "baselines/test_ldp_linucb.py::test_statistics_of_clipped_records_stay_within_the_sensitivity",
    ),
    Mutant(
        "ldp: the energy of one round's noise",
        "companion/baselines/ldp_linucb.py",
        "p.sigma * np.sqrt(float(p.d * t))",
        "p.sigma * np.sqrt(float(p.d))",
        "baselines/test_noisy_ridge.py::test_model_is_ridge_regression_at_the_documented_ridge",
    ),
    Mutant(
        "jdp: the energy of the ridge doubled",
        "companion/baselines/jdp_linucb.py",
        "p.sigma * np.sqrt(0.5 * p.d * s.nodes.shape[0])",
        "p.sigma * np.sqrt(2.0 * p.d * s.nodes.shape[0])",
        "baselines/test_noisy_ridge.py::test_model_is_ridge_regression_at_the_documented_ridge",
    ),
    Mutant(
        "jdp: the exact sums are released",
        "companion/baselines/jdp_linucb.py",
        "s.release[i] = s.exact[i] + s.nodes[row, i]",
        "s.release[i] = s.exact[i]",
        "baselines/test_jdp_linucb.py::test_tree_release_is_exact_plus_the_live_nodes",
    ),
    Mutant(
        "jdp: one release for a path through the tree",
        "companion/baselines/jdp_linucb.py",
        "calibration, universe, query, releases=levels",
        "calibration, universe, query",
        "baselines/test_noisy_ridge.py::test_guarantee_is_computed_from_the_noise",
    ),
    Mutant(
        "jdp: the arm's context enters unclipped",
        "companion/baselines/jdp_linucb.py",
        "    pack_statistics(s.x, r, s.message)",
        "    pack_statistics(x, r, s.message)",
        "baselines/test_jdp_linucb.py::test_a_record_enters_the_sums_clipped",
    ),
    Mutant(
        "sdp: a batch is not reset",
        "companion/baselines/sdp_linucb.py",
        "        s.counts[:] = 0.0\n        refit",
        "        refit",
        "baselines/test_sdp_linucb.py::test_a_batch_begins_with_nothing",
    ),
    Mutant(
        "sdp: the bits of the shuffle are halved",
        "companion/baselines/sdp_linucb.py",
        "p.g, p.b, P, s.message)",
        "p.g, p.b // 2, P, s.message)",
        "baselines/test_sdp_linucb.py::test_batch_of_the_policy_has_the_law_of_its_messages",
    ),
    Mutant(
        "sdp: rounding is not counted",
        "companion/baselines/sdp_linucb.py",
        "query = sensitivity * g / RANGE + np.sqrt(n), n, largest",
        "query = sensitivity * g / RANGE, n, largest",
        "baselines/test_sdp_linucb.py::test_guarantee_of_the_published_noise_bits",
    ),
    Mutant(
        "sdp: delta of the amplification spent twice",
        "companion/baselines/sdp_linucb.py",
        "d0 = delta / 2 /",
        "d0 = delta /",
        "baselines/test_sdp_linucb.py::test_local_budget_is_amplified_to_the_one_that_was_asked_for",
    ),
    Mutant(
        "noisy sgd: noise without the factor 2 L",
        "companion/baselines/noisy_sgd.py",
        "sigma = None, 2.0 * valid * smallest",
        "sigma = None, valid * smallest",
        "baselines/test_noisy_sgd.py::test_corrected_noise_spends_the_budget",
    ),
    Mutant(
        "noisy sgd: records enter as they came",
        "companion/baselines/noisy_sgd.py",
        "descend(p, theta, A, b, rng, gradient)\n        if",
        "descend(p, theta, X, Y, rng, gradient)\n        if",
        "baselines/test_noisy_sgd.py::test_records_are_clipped_before_anything_else",
    ),
    Mutant(
        "noisy sgd: a step too few is counted",
        "companion/baselines/sampled_steps.py",
        "            steps * renyi(",
        "            (steps - 1) * renyi(",
        "baselines/test_sampled_steps.py::test_every_step_is_counted",
    ),
    Mutant(
        "noisy sgd: profile without its sampling",
        "companion/baselines/sampled_steps.py",
        "inner = np.log1p(np.expm1(epsilon) / g)",
        "inner = epsilon",
        "baselines/test_sampled_steps.py::test_a_step_profile_is_that_of_the_exact_mixture",
    ),
    Mutant(
        "noisy sfw: a batch is not reset",
        "companion/baselines/noisy_sfw.py",
        "        s.total[i] = 0.0\n",
        "",
        "baselines/test_noisy_sfw.py::test_noisy_sfw_is_its_definition",
    ),
    Mutant(
        "noisy sfw: the first release has the later noise",
        "companion/baselines/noisy_sfw.py",
        "p.sigma_first if t + 1 == p.half else p.sigma",
        "p.sigma",
        "baselines/test_noisy_sfw.py::test_the_first_release_has_its_own_noise",
    ),
    Mutant(
        "noisy sfw: a later batch may move half as far",
        "companion/baselines/noisy_sfw.py",
        "4.0 * beta * p.eta * p.radius / p.batch",
        "2.0 * beta * p.eta * p.radius / p.batch",
        "baselines/test_noisy_sfw.py::test_noise_of_both_kinds_of_releases_is_in_proportion_to_what_a_record_moves",
    ),
    Mutant(
        "local md: gradients are not clipped",
        "companion/baselines/local_md.py",
        "c = min(max(2.0 * (dot(X[j], x) - Y[j]), -p.clip), p.clip) / rows",
        "c = 2.0 * (dot(X[j], x) - Y[j]) / rows",
        "baselines/test_local_md.py::test_gradients_are_clipped_by_the_corrected_noise_alone",
    ),
    Mutant(
        "local md: a pass too few is counted",
        "companion/baselines/local_md.py",
        "uses = np.ceil(p.steps / (p.records // p.batch))",
        "uses = np.floor(p.steps / (p.records // p.batch))",
        "baselines/test_local_md.py::test_exact_noise_by_hand",
    ),
    Mutant(
        "local md: a phase reads the records of the first",
        "companion/baselines/local_md.py",
        "        start = end\n",
        "        start = 0\n",
        "baselines/test_local_md.py::test_every_phase_has_records_of_its_own",
    ),
    Mutant(
        "linucb: log(1/failure) once",
        "companion/baselines/linucb.py",
        "log_det - 2.0 * math.log(failure)",
        "log_det - math.log(failure)",
        "baselines/test_linucb.py::test_radius_of_theorem_2_by_hand",
    ),
    # online_linucb
    Mutant(
        "policy: noise on the reward halved",
        "companion/online_linucb/policy.py",
        "return y + p.sigma * rng.standard_normal(), clipped",
        "return y + 0.5 * p.sigma * rng.standard_normal(), clipped",
        "online_linucb/test_policy.py::test_message_is_the_record_plus_independent_gaussian_noise",
    ),
    Mutant(
        "policy: the reward is not clipped",
        "companion/online_linucb/policy.py",
        "    y, clipped = clip_record(p.offset, x, y, out)",
        "    _, clipped = clip_record(p.offset, x, y, out)",
        "online_linucb/test_policy.py::test_no_two_clipped_records_are_further_apart_than_the_sensitivity",
    ),
    Mutant(
        "policy: the noise's energy is not subtracted",
        "companion/online_linucb/policy.py",
        "- 2.0 * p.sigma * p.sigma * theta[i]",
        "- 0.0 * p.sigma * p.sigma * theta[i]",
        "online_linucb/test_policy.py::test_gradient_is_the_derivative_of_the_loss_and_is_clipped",
    ),
    Mutant(
        "policy: noise is drawn once and used for every coordinate",
        "companion/online_linucb/policy.py",
        "    add_gaussian(rng, p.sigma, out)\n    return",
        "    out += p.sigma * rng.standard_normal()\n    return",
        "online_linucb/test_policy.py::test_message_is_the_record_plus_independent_gaussian_noise",
    ),
    Mutant(
        "policy: the prediction is made after the learner moved",
        "companion/online_linucb/policy.py",
        "axpy(prediction, s.x, s.u)",
        "axpy(y, s.x, s.u)",
        "online_linucb/test_policy.py::test_plays_algorithm_1",
    ),
    Mutant(
        "anytime: an epoch lasts one round longer",
        "companion/online_linucb/anytime.py",
        "if run.t < p.length[s.epoch]:",
        "if run.t <= p.length[s.epoch]:",
        "online_linucb/test_anytime.py::test_is_a_sequence_of_restarts",
    ),
    Mutant(
        "maler: the prior of Newton experts is flat",
        "companion/online_linucb/maler.py",
        "(1.0 + 1.0 / max(n, 1)) / (3.0 * (i + 1.0) * (i + 2.0))",
        "(1.0 + 1.0 / max(n, 1)) / (3.0 * (i + 1.0) * (i + 1.0))",
        "online_linucb/test_maler.py::test_equals_the_slow_twin_over_noisy_steps",
    ),
    Mutant(
        "maler: the printed constant of the Newton step",
        "companion/online_linucb/maler.py",
        "NEWTON = 0.5 * 1.0 / (8.0 * 7.0 / 50.0)",
        "NEWTON = 0.5",
        "online_linucb/test_maler.py::test_equals_the_slow_twin_over_noisy_steps",
    ),
    Mutant(
        "theory: R of Theorem 4.1 with half its constant",
        "companion/online_linucb/theory.py",
        "R += 288.0 *",
        "R += 144.0 *",
        "online_linucb/test_theory.py::test_constants_of_the_anytime_learner_by_hand",
    ),
    Mutant(
        "combiner: the server keeps the exact reward",
        "companion/online_linucb/combiner.py",
        "record(p, s, s.base, y)",
        "record(p, s, s.base, r)",
        "online_linucb/test_combiner.py::test_plays_algorithm_2",
    ),
    Mutant(
        "combiner: noise is not in a learner's promise",
        "companion/online_linucb/combiner.py",
        "spread = n * (1.0 + p.sigma * p.sigma)",
        "spread = n * 1.0",
        "online_linucb/test_combiner.py::test_plays_algorithm_2",
    ),
    Mutant(
        "ridge: the noise's energy is not subtracted",
        "companion/online_linucb/corrected_ridge.py",
        "        s.A[i, i] -= sigma * sigma\n",
        "        s.A[i, i] -= 0.0 * sigma\n",
        "online_linucb/test_corrected_ridge.py::test_estimate_has_no_attenuation",
    ),
    # private_glm
    Mutant(
        "joint: the tree's noise is not drawn where nobody explored",
        "companion/private_glm/joint.py",
        "    if explored or p.sigma_v > 0.0:",
        "    if explored:",
        "private_glm/test_joint.py::test_the_tree_of_explored_rounds_has_new_noise_in_rounds_of_the_others",
    ),
    Mutant(
        "joint: a refresh that depends on who explored",
        "companion/private_glm/joint.py",
        "    if p.literal and explored and s.fits[0]",
        "    if explored and s.fits[0]",
        "private_glm/test_joint.py::test_without_noise_every_arm_is_the_twin_s",
    ),
    Mutant(
        "joint: more fits than are paid for",
        "companion/private_glm/joint.py",
        "    if s.fits[1] < p.fit_tau.cutoff and outgrown",
        "    if outgrown",
        "private_glm/test_joint.py::test_matrices_that_go_on_doubling_stop_at_the_cutoff",
    ),
    Mutant(
        "joint: a leaf is weighted by e times its weight",
        "companion/private_glm/joint.py",
        "return slope(link, score) / math.e",
        "return slope(link, score)",
        "private_glm/test_joint.py::test_records_outside_the_universe_are_clipped_and_counted",
    ),
    Mutant(
        "joint: contexts enter the tree unclipped",
        "companion/private_glm/joint.py",
        "        add_leaf(1.0, row, s.V.exact)",
        "        add_leaf(1.0, x, s.V.exact)",
        "private_glm/test_joint.py::test_explored_contexts_enter_their_tree_clipped",
    ),
    Mutant(
        "calibrate: a tree of one level",
        "companion/private_glm/calibrate.py",
        "sigma_v = math.sqrt(tree_levels(T) / rho_tree)",
        "sigma_v = math.sqrt(1 / rho_tree)",
        "private_glm/test_ledger.py::test_the_ledger_is_the_budget",
    ),
    Mutant(
        "ledger: a fit counts as one gradient",
        "companion/private_glm/calibrate.py",
        "n_o, n_tau = (q.cutoff * q.steps for",
        "n_o, n_tau = (q.cutoff for",
        "private_glm/test_ledger.py::test_the_ledger_is_the_budget",
    ),
    Mutant(
        "ledger: sensitivity of a tree off by sqrt 2",
        "companion/private_glm/calibrate.py",
        "m, root, top = tree_levels(p.T), math.sqrt(2.0), top_weight(p.link)",
        "m, root, top = tree_levels(p.T), 1.0, top_weight(p.link)",
        "private_glm/test_ledger.py::test_the_ledger_is_the_budget",
    ),
    Mutant(
        "ledger: rho of one release for all",
        "companion/private_glm/ledger.py",
        "return self.times * self.sensitivity**2 / (2.0",
        "return self.sensitivity**2 / (2.0",
        "private_glm/test_ledger.py::test_the_ledger_is_the_budget",
    ),
    Mutant(
        "ledger: trees and fits share no user",
        "companion/private_glm/ledger.py",
        "return max(orthogonal, 0.5 * rho_tree + rho_fits)",
        "return max(rho_tree, rho_fits)",
        "private_glm/test_ledger.py::test_the_ledger_is_the_budget",
    ),
    Mutant(
        "descent: gradients without noise",
        "companion/private_glm/descent.py",
        "    add_gaussian(rng, q.sigma, g)",
        "    add_gaussian(rng, 0.0, g)",
        "private_glm/test_descent.py::test_every_gradient_has_its_noise",
    ),
    Mutant(
        "descent: all iterates are averaged",
        "companion/private_glm/descent.py",
        "half = steps // 2",
        "half = 0",
        "private_glm/test_descent.py::test_descent_without_noise_finds_the_minimum_of_its_side",
    ),
    Mutant(
        "continual: the floor of eigenvalues is left out",
        "companion/private_glm/continual.py",
        "        add_outer(max(w.A[k, k], least), w.B[k], value)",
        "        add_outer(w.A[k, k], w.B[k], value)",
        "private_glm/test_continual.py::test_eigenvalues_have_a_floor_and_others_stay",
    ),
    Mutant(
        "batches: log(1/delta) as printed, at half of delta",
        "companion/private_glm/batches.py",
        "math.log(2.0 / delta)",
        "math.log(1.0 / delta)",
        "private_glm/test_batches.py::test_the_printed_calibration_splits_both_halves_of_the_budget",
    ),
    Mutant(
        "batches: rounding is not counted",
        "companion/private_glm/batches.py",
        "return levels * ratio + math.sqrt(entries)",
        "return levels * ratio",
        "private_glm/test_batches.py::test_bits",
    ),
    Mutant(
        "batches: gradients counted once",
        "companion/private_glm/batches.py",
        "levels + 1, steps),",
        "levels + 1),",
        "private_glm/test_batches.py::test_calibration_is_proved_and_not_wasteful",
    ),
    Mutant(
        "batches: the best batch counts",
        "companion/private_glm/batches.py",
        "float(proved.max()), delta",
        "float(proved.min()), delta",
        "private_glm/test_batches.py::test_the_guarantee_is_that_of_the_worst_batch",
    ),
    Mutant(
        "shuffle: weights of x x' are not capped",
        "companion/private_glm/shuffle.py",
        "math.exp(-min(2.0 * theta_bound, doubt)), cap)",
        "math.exp(-min(2.0 * theta_bound, doubt)), 1.0)",
        "private_glm/test_shuffle.py::test_weights_are_capped_whatever_the_estimate_says",
    ),
    Mutant(
        "learning: a batch's sums are not emptied",
        "companion/private_glm/learning.py",
        "        sums[i] = 0.0\n",
        "        sums[i] += 0.0\n",
        "private_glm/test_learning.py::test_no_bits_are_exact_sums",
    ),
    Mutant(
        "learning: the users of a batch stay",
        "companion/private_glm/learning.py",
        "    b.size[0] = 0\n",
        "",
        "private_glm/test_shuffle.py::test_a_new_batch_has_none_of_the_users_before",
    ),
    # fliphat
    Mutant(
        "policy: a row is used in two releases",
        "companion/fliphat/policy.py",
        "        n = 0 if p.forget else n  # line 9",
        "        n = n  # line 9",
        "fliphat/test_episodes.py::test_an_estimate_sees_the_previous_episode_and_nothing_else",
    ),
    Mutant(
        "accounting: sensitivity without its factor 4",
        "companion/fliphat/accounting.py",
        "4.0 * eta * x_max * (R + x_max * b_max) / n",
        "2.0 * eta * x_max * (R + x_max * b_max) / n",
        "fliphat/test_accounting.py::test_noise_scales_by_hand",
    ),
    Mutant(
        "accounting: picks of one iteration",
        "companion/fliphat/accounting.py",
        "[exact_factor(sparsity * m, epsilon, delta) for m",
        "[exact_factor(sparsity, epsilon, delta) for m",
        "fliphat/test_accounting.py::test_noise_scales_by_hand",
    ),
    Mutant(
        "accounting: a pick costs as much as a value",
        "companion/fliphat/accounting.py",
        "1.0 + np.exp(-2.0 * ratio)",
        "1.0 + np.exp(-ratio)",
        "fliphat/test_accounting.py::test_composition_equals_enumeration_of_all_outcomes",
    ),
    Mutant(
        "regression: later iterations have the first one's noise",
        "companion/fliphat/regression.py",
        "xi = q.xi_first if m == 0 else q.xi_rest",
        "xi = q.xi_first",
        "fliphat/test_regression.py::test_later_iterations_have_noise_of_their_own",
    ),
    Mutant(
        "regression: rewards are not clipped",
        "companion/fliphat/regression.py",
        "clip(clip(y, q.reward_clip) - sparse",
        "clip(y - sparse",
        "fliphat/test_regression.py::test_only_rewards_are_clipped_where_the_other_bounds_are_infinite",
    ),
    Mutant(
        "regression: no projection on the l1 ball",
        "companion/fliphat/regression.py",
        "    if total <= radius:\n",
        "    if total <= radius or size > 0:\n",
        "fliphat/test_regression.py::test_projection_on_the_l1_ball",
    ),
    Mutant(
        "episodes: contexts are stored unclipped",
        "companion/fliphat/episodes.py",
        "row[j] = clip(x[j], p.row_clip)",
        "row[j] = x[j]",
        "fliphat/test_episodes.py::test_a_row_is_counted_as_clipped_whatever_coordinate_is_wide",
    ),
    Mutant(
        "episodes: a release starts from the last estimate",
        "companion/fliphat/episodes.py",
        "    if not p.warm:\n        size = 0\n",
        "    if False:\n        size = 0\n",
        "fliphat/test_episodes.py::test_an_estimate_sees_the_previous_episode_and_nothing_else",
    ),
    Mutant(
        "residual: releases on kept rows counted once",
        "companion/fliphat/residual.py",
        "uses = 1 if forget else max(int((steps > 0).sum()), 1)",
        "uses = 1",
        "fliphat/test_residual.py::test_rows_that_are_kept_pay_for_all_their_releases",
    ),
    Mutant(
        "theory: the bound of Theorem 3.2 with log(d/s) to the power 1",
        "companion/fliphat/theory.py",
        "sparsity * log_ratio**2 * np.log",
        "sparsity * log_ratio * np.log",
        "fliphat/test_theory.py::test_the_lower_bound_by_hand",
    ),
    # streaming_sco
    Mutant(
        "learner: leaves are not clipped",
        "companion/streaming_sco/learner.py",
        "            c *= p.clip / size",
        "            c *= 1.0",
        "streaming_sco/test_learner.py::test_a_clipped_leaf_is_as_long_as_allowed_and_others_are_untouched",
    ),
    Mutant(
        "learner: labels are not clipped",
        "companion/streaming_sco/learner.py",
        "    y, clipped = admit(x, y, p.q, p.low, p.high, inside)",
        "    _, clipped = admit(x, y, p.q, p.low, p.high, inside)",
        "streaming_sco/test_learner.py::test_labels_are_clipped",
    ),
    Mutant(
        "learner: noise of the coordinates drawn once",
        "companion/streaming_sco/learner.py",
        "noise[row, i] = p.sigma * rng",
        "noise[row, i] = noise[row, 0] if i else p.sigma * rng",
        "streaming_sco/test_learner.py::test_released_sums_are_exact_sums_plus_the_nodes_of_a_naive_tree",
    ),
    Mutant(
        "learner: the late phase has the noise of the first",
        "companion/streaming_sco/learner.py",
        "(math.sqrt(t) if p.schedule == FALLING else 1.0) / (t + 1.0)",
        "1.0 / (t + 1.0)",
        "streaming_sco/test_vertex_fw.py::test_losses_of_all_choices_add_up_to_the_budget",
    ),
    Mutant(
        "calibration: the sensitivity of L alone",
        "companion/streaming_sco/calibration.py",
        "return 2.0 * (2.0 * self.radius * self.beta + self.lipschitz)",
        "return 2.0 * self.lipschitz",
        "streaming_sco/test_calibration.py::test_constants_are_the_largest_slopes_and_gradients",
    ),
    Mutant(
        "calibration: a clipped leaf moves by C",
        "companion/streaming_sco/calibration.py",
        "if clip == np.inf else 2.0 * clip\n\n\ndef vertex",
        "if clip == np.inf else clip\n\n\ndef vertex",
        "streaming_sco/test_calibration.py::test_noise_of_the_square_root_and_of_the_box_by_hand",
    ),
    Mutant(
        "calibration: one level of the tree",
        "companion/streaming_sco/calibration.py",
        "else float(tree_levels(n))",
        "else 1.0",
        "streaming_sco/test_calibration.py::test_a_record_enters_as_many_nodes_as_the_guarantee_counts",
    ),
    Mutant(
        "calibration: a selection by Laplace counts as one by Gumbel",
        "companion/streaming_sco/calibration.py",
        'unit = 8.0 if selector == "gumbel" else 2.0',
        "unit = 8.0",
        "streaming_sco/test_calibration.py::test_noise_of_choices_by_hand",
    ),
    Mutant(
        "calibration: the printed noise is claimed and not measured",
        "companion/streaming_sco/calibration.py",
        "said = Guarantee(model, true, delta,",
        "said = Guarantee(model, epsilon, delta,",
        "streaming_sco/test_calibration.py::test_required_noise_of_the_spec",
    ),
    Mutant(
        "policy: arms that are not played stand still",
        "companion/streaming_sco/policy.py",
        "        elif p.synthetic and t > p.K * p.t0:",
        "        elif p.synthetic and t > p.K * p.T:",
        "streaming_sco/test_policy.py::test_a_synthetic_step_leaves_the_sum_and_moves_the_parameter",
    ),
    Mutant(
        "policy: candidates from the whole gap",
        "companion/streaming_sco/policy.py",
        "top - 0.5 * p.gap",
        "top - p.gap",
        "streaming_sco/test_policy.py::test_the_filter_keeps_arms_within_half_the_gap_of_the_best_forced_estimate",
    ),
    Mutant(
        "policy: the global clock for an arm's",
        "companion/streaming_sco/policy.py",
        "advance(p.learner, s.clock[k], of_arm",
        "advance(p.learner, t, of_arm",
        "streaming_sco/test_policy.py::test_every_arm_is_the_optimiser_of_its_own_records",
    ),
    Mutant(
        "calibration: later leaves are left out",
        "companion/streaming_sco/calibration.py",
        "released - 1.0",
        "0.0",
        "streaming_sco/test_calibration.py::test_noise_of_sums_by_hand",
    ),
    # lplr
    Mutant(
        "params: counts pay for one bin",
        "companion/lplr/params.py",
        "(6, 6 * root * layers, 3, 4)",
        "(3, 6 * root * layers, 3, 4)",
        "lplr/test_params.py::test_corrected_scales",
    ),
    Mutant(
        "params: deeper labels as wide as those of layer 1",
        "companion/lplr/params.py",
        "[1.0] + [2.0] * (d - 1)",
        "[1.0] + [1.0] * (d - 1)",
        "lplr/test_params.py::test_corrected_scales",
    ),
    Mutant(
        "params: the printed noise is promised to be private",
        "companion/lplr/params.py",
        "    if p.one_sided or not p.clip:",
        "    if not p.clip and not p.one_sided:",
        "lplr/test_params.py::test_the_corrected_message_loses_epsilon_and_no_more",
    ),
    Mutant(
        "noise: the matrix noise is one-sided",
        "companion/lplr/noise.py",
        "        add_wishart(rng, degrees, -scale * factor, root, out)",
        "        add_wishart(rng, degrees, 0.0 * scale * factor, root, out)",
        "lplr/test_noise.py::test_moments_of_summed_noise",
    ),
    Mutant(
        "noise: n users share one Laplace",
        "companion/lplr/noise.py",
        "    if n == 1:\n",
        "    if n >= 1:\n",
        "lplr/test_noise.py::test_moments_of_summed_noise",
    ),
    Mutant(
        "fit: predictions are not clipped in labels",
        "companion/lplr/fit.py",
        "            prediction = min(max(prediction, -1.0), 1.0)",
        "            prediction = prediction * 1.0",
        "lplr/test_fit.py::test_labels_are_clipped_in_messages_and_in_sums",
    ),
    Mutant(
        "fit: a user's message is sent twice",
        "companion/lplr/fit.py",
        "tell(p, tree, stage, phi, 1, y, False,",
        "tell(p, tree, stage, phi, 2, y, False,",
        "lplr/test_fit.py::test_labels_are_clipped_in_messages_and_in_sums",
    ),
    Mutant(
        "bins: an edge falls into the next bin",
        "companion/lplr/bins.py",
        "p.log_gamma + 1e-9)",
        "p.log_gamma - 1e-9)",
        "lplr/test_bins.py::test_bin_edges_belong_to_their_own_bin",
    ),
    Mutant(
        "sufficient statistics: half of the budget counts once",
        "companion/lplr/sufficient_statistics.py",
        "epsilon = 1 / p.matrix_scale + 2 * math.sqrt(p.d) / p.vector_scale",
        "epsilon = 1 / p.matrix_scale",
        "lplr/test_sufficient_statistics.py::test_one_message_of_sufficient_statistics_moves_by_epsilon_and_has_its_noise",
    ),
    Mutant(
        "ldp batches: the noise of one user for all",
        "companion/lplr/ldp_linucb_batches.py",
        "noise = sigma * math.sqrt(n)",
        "noise = sigma",
        "lplr/test_ldp_linucb_batches.py::test_a_batch_has_the_noise_of_all_its_users",
    ),
    Mutant(
        "bandits: width of elimination doubled",
        "companion/lplr/bandits.py",
        "rounds.eliminate(f[c], width[c], alive[c])",
        "rounds.eliminate(f[c], 2.0 * width[c], alive[c])",
        "lplr/test_bandits.py::test_an_arm_leaves_where_its_upper_end_is_below_a_lower_one",
    ),
    Mutant(
        "theory: chi-square of the lower bound without its half",
        "companion/lplr/theory.py",
        "excess = 0.5 * (np.expm1(-plus) + np.expm1(-minus))",
        "excess = np.expm1(-plus) + np.expm1(-minus)",
        "lplr/test_theory.py::test_chi_square_at_log_2",
    ),
    # audits
    Mutant(
        "one run: an event is refuted too soon",
        "companion/audits/one_run.py",
        "(m * inverse(r) + excess) / (g - k)",
        "(m * r + excess) / (g - k)",
        "audits/test_one_run.py::test_one_guess_solves_the_inequality_by_hand",
    ),
    Mutant(
        "one run: delta is free",
        "companion/audits/one_run.py",
        "+ 2.0 * m * delta * alpha",
        "",
        "audits/test_one_run.py::test_delta_is_paid_for_by_hand",
    ),
    Mutant(
        "spent: the second release is the first",
        "companion/audits/spent.py",
        "return 0.5 * (outputs[::2] + outputs[1::2])",
        "return outputs[::2]",
        "audits/test_spent.py::test_what_is_made_of_fresh_outputs_by_hand",
    ),
    Mutant(
        "spent: reused noise is drawn anew",
        "companion/audits/spent.py",
        "        other.bit_generator.state = rng.bit_generator.state\n        pair",
        "        pair",
        "audits/test_spent.py::test_what_is_made_of_fresh_outputs_by_hand",
    ),
    Mutant(
        "neighbours: other advice is no leak",
        "companion/audits/neighbours.py",
        "if told(run, at) != told(base, at):",
        "if False:",
        "audits/test_neighbours.py::test_whatever_else_depends_on_a_record_is_a_leak",
    ),
    Mutant(
        "neighbours: the public state is not compared",
        "companion/audits/neighbours.py",
        "if not (to_the_bit or np.array_equal(a, b, equal_nan=True)):",
        "if False:",
        "audits/test_neighbours.py::test_whatever_else_depends_on_a_record_is_a_leak",
    ),
    Mutant(
        "neighbours: round 0 alone is replaced",
        "companion/audits/neighbours.py",
        "return sorted({0, case.rounds // 2, case.rounds - 1})",
        "return [0]",
        "audits/test_neighbours.py::test_records_are_replaced_at_the_beginning_in_the_middle_and_at_the_end",
    ),
    Mutant(
        "normal noise: what no noise hides is passed over",
        "companion/audits/normal_noise.py",
        "return (np.inf, np.inf), np.inf, seen[0].moves(), bounded, chance",
        "continue",
        "audits/test_normal_noise.py::test_what_no_noise_hides_has_no_bound",
    ),
    Mutant(
        "pure noise: losses of the parts do not add up",
        "companion/audits/pure_noise.py",
        "total += again[i, j].sum()",
        "total = max(total, again[i, j].sum())",
        "test_every_guarantee.py::test_guarantee_is_what_is_measured[lplr-0]",
    ),
    Mutant(
        "measures: slack of a bound that must be attained",
        "companion/audits/measures.py",
        "REACH if case.reaches else SLACK",
        "SLACK",
        "audits/test_measures.py::test_a_promise_may_exceed_what_is_found_by_what_its_case_says",
    ),
    # arena
    Mutant(
        "inference: the half that chose judges",
        "companion/arena/inference.py",
        "return finals[len(finals) // 2 :]",
        "return finals[: len(finals) // 2]",
        "arena/test_inference.py::test_a_leader_is_chosen_by_one_half_and_judged_by_the_other",
    ),
    Mutant(
        "inference: no correction for the rivals",
        "companion/arena/inference.py",
        "level = 1 - 0.05 / (looks * max(len(rivals), 1))",
        "level = 0.95",
        "arena/test_inference.py::test_bonferroni_over_rivals_and_looks",
    ),
    Mutant(
        "contest: tuned on the seeds that judge",
        "companion/arena/contest.py",
        "tune(several, env, short, repetitions(seed, tune_reps, 1))",
        "tune(several, env, short, repetitions(seed, tune_reps, 2))",
        "arena/test_contest.py::test_tuning_has_seeds_that_nothing_else_uses",
    ),
    Mutant(
        "decision: joint privacy is enough for those who trust nobody",
        "companion/arena/decision.py",
        "enough = order[: order.index(trust) + 1]",
        "enough = order",
        "arena/test_decision.py::test_the_decision_takes_any_private_guarantee_that_is_enough",
    ),
    Mutant(
        "worlds: a weaker guarantee plays",
        "companion/arena/worlds.py",
        "g.epsilon <= epsilon * (1 + 1e-9) and",
        "",
        "arena/test_worlds.py::test_a_weaker_guarantee_is_refused",
    ),
    Mutant(
        "rates: the exponent of all rounds",
        "companion/arena/rates.py",
        "late = game.rounds >= 0.099 * game.rounds[-1]",
        "late = game.rounds >= 0.0 * game.rounds[-1]",
        "arena/test_rates.py::test_a_slope_is_that_of_the_last_decade",
    ),
    # judge
    Mutant(
        "judging: another package has the same key",
        "companion/judge/judging.py",
        "[subject.digest(what), digest_of_package(), limit]",
        "[subject.digest(what), 0, limit]",
        "judge/test_judging.py::test_what_another_package_found_is_asked_again",
    ),
    Mutant(
        "attack: a bound errs every second time",
        "companion/judge/attack.py",
        "trials=n.trials, seed=seed + 1, level=LEVEL)",
        "trials=n.trials, seed=seed + 1, level=0.5)",
        "judge/test_attack.py::test_fresh_runs_count_without_the_arm_of_the_user_who_is_attacked",
    ),
    Mutant(
        "attack: the runs that count are those of the pilot",
        "companion/judge/attack.py",
        "trials=n.trials, seed=seed + 1,",
        "trials=n.trials, seed=seed + 2,",
        "judge/test_attack.py::test_fresh_runs_count_without_the_arm_of_the_user_who_is_attacked",
    ),
    Mutant(
        "attack: the attacked user's own arm is seen",
        "companion/judge/attack.py",
        "one = audit.Attack(audit.playing(policy, user=user), a, b, statistic",
        "one = audit.Attack(audit.playing(policy, user=None), a, b, statistic",
        "judge/test_attack.py::test_fresh_runs_count_without_the_arm_of_the_user_who_is_attacked",
    ),
    Mutant(
        "guarantee: a promise above the interval is refuted nowhere",
        "companion/judge/guarantee.py",
        "    if found.low > epsilon + 1e-9:",
        "    if found.low > 2.0 * epsilon + 1e-9:",
        "judge/test_guarantee.py::test_a_verdict_needs_bounds_the_law_and_the_interval",
    ),
    Mutant(
        "guarantee: another law of noise passes",
        "companion/judge/guarantee.py",
        "    if not found.chance > ALARM:",
        "    if found.chance > 1.0:",
        "judge/test_guarantee.py::test_a_verdict_needs_bounds_the_law_and_the_interval",
    ),
    Mutant(
        "guarantee: a promise typed by hand follows",
        "companion/judge/guarantee.py",
        "    if len(set(got)) == 1:",
        "    if not got:",
        "judge/test_guarantee.py::test_a_guarantee_that_no_budget_changes_is_found",
    ),
    Mutant(
        "in play: a state is compared with itself",
        "companion/judge/in_play.py",
        'need(same_state(state, one.state), "select',
        'need(same_state(state, state), "select',
        "judge/test_in_play.py::test_a_live_run_that_ends_in_another_state_is_named",
    ),
    Mutant(
        "in play: data are compared with themselves",
        "companion/judge/in_play.py",
        "before = X.copy(), R.copy()",
        "before = X, R",
        "judge/test_contract.py::test_a_fault_is_found_by_its_point",
    ),
    Mutant(
        "in play: references to the caller's arrays pass",
        "companion/judge/in_play.py",
        'need(same_state(found, other.state), "the',
        'need(True, "the',
        "judge/test_contract.py::test_a_fault_is_found_by_its_point",
    ),
    Mutant(
        "standing: intervals are not widened for the looks",
        "companion/judge/standing.py",
        "looks * len(shown))",
        "1)",
        "judge/test_standing.py::test_verdicts_are_widened_for_all_that_is_looked_at",
    ),
    Mutant(
        "on paper: an incomplete guarantee passes",
        "companion/judge/on_paper.py",
        "need(g.model in MODELS,",
        "need(bool(g.model),",
        "judge/test_contract.py::test_a_fault_is_found_by_its_point",
    ),
    # report: claims, lock
    Mutant(
        "claims: a bound that fails was not reproduced",
        "companion/report/claims.py",
        'if "fails" in outcomes and not bound:',
        'if "fails" in outcomes:',
        "report/test_claims.py::test_the_verdict_follows_from_the_rows",
    ),
    Mutant(
        "claims: a rule that rejects nothing reproduces",
        "companion/report/claims.py",
        "if bound or not all(row.severe for row in rows):",
        "if bound:",
        "report/test_claims.py::test_a_rule_that_rejects_no_control_makes_nothing_reproduced",
    ),
    Mutant(
        "claims: an undecided row is passed over",
        "companion/report/claims.py",
        'if not outcomes or set(outcomes) != {"holds"}:',
        'if not outcomes or "holds" not in outcomes:',
        "report/test_claims.py::test_the_verdict_follows_from_the_rows",
    ),
    Mutant(
        "claims: a smoke run is a test",
        "companion/report/claims.py",
        "said = said if self._at_scale else UNTESTED",
        "said = said",
        "report/test_claims.py::test_a_smoke_run_tests_nothing",
    ),
    Mutant(
        "evidence: an interval across the limit holds",
        "companion/report/evidence.py",
        "if interval.low >= self.low and interval.high <= self.high:",
        "if self.low <= interval.value <= self.high:",
        "report/test_claims.py::test_an_audit_below_the_claim_proves_nothing",
    ),
    Mutant(
        "evidence: a control that passes is severe",
        "companion/report/evidence.py",
        'self.control.outcome == "fails")',
        'self.control.outcome != "holds")',
        "report/test_claims.py::test_a_rule_that_rejects_no_control_makes_nothing_reproduced",
    ),
    Mutant(
        "rules: what cannot be computed holds",
        "companion/report/rules.py",
        "        return False\n",
        "        return True\n",
        "report/test_rules.py::test_rules_say_what_python_says",
    ),
    Mutant(
        "lock: a number outside its interval is the same",
        "tools/lock.py",
        "return (low is not None and value < low) or (high is not None and value > high)",
        "return low is not None and value < low",
        "test_lock.py::test_a_change_fails_until_it_is_accepted_with_a_reason",
    ),
    Mutant(
        "lock: an exact number may move by a tenth",
        "tools/lock.py",
        "> 1e-3 * abs(value)",
        "> 1e-1 * abs(value)",
        "test_lock.py::test_an_exact_number_may_move_by_a_thousandth",
    ),
    Mutant(
        "lock: another rule passes",
        "tools/lock.py",
        'for field in ("rule", "control"):',
        'for field in ("control",):',
        "test_lock.py::test_each_change_is_said",
    ),
    # tools
    Mutant(
        "cache: what a chapter reads is not in its key",
        "tools/cache.py",
        "digest([ran, parameters, depends, inputs])",
        "digest([ran, parameters, depends])",
        "test_runner.py::test_what_a_chapter_reads_is_part_of_its_key",
    ),
    Mutant(
        "cache: parameters are not in the key",
        "tools/cache.py",
        "digest([ran, parameters, depends, inputs])",
        "digest([ran, depends, inputs])",
        "test_runner.py::test_what_a_chapter_reads_is_part_of_its_key",
    ),
    Mutant(
        "cache: a chapter with an error is whole",
        "tools/cache.py",
        'any(o["output_type"] == "error" for',
        'any(o["output_type"] == "never" for',
        "test_runner.py::test_an_execution_with_an_error_is_not_whole_even_if_it_is_sealed",
    ),
    Mutant(
        "closure: claims.toml is no data",
        "companion/_closure.py",
        'DATA = {".json", ".toml"}',
        'DATA = {".json"}',
        "test_closure.py::test_data_beside_the_modules_of_a_closure_are_found",
    ),
    Mutant(
        "closure: imports inside functions are no dependence",
        "companion/_closure.py",
        "        for node in ast.walk(tree):\n            if isinstance(node, ast.Import):",
        "        for node in tree.body:\n            if isinstance(node, ast.Import):",
        "test_closure.py::test_the_closure_reads_every_kind_of_import",
    ),
    Mutant(
        "accept: a reason may be empty",
        "tools/accept.py",
        "if len(why.strip()) < SHORTEST:",
        "if len(why) < 0:",
        "test_lock.py::test_a_change_fails_until_it_is_accepted_with_a_reason",
    ),
]


def wrong(m):
    """Why a row is no fault of this project, or ""."""
    missing = [
        f for f in (m.file, *(t.partition("::")[0] for t in tests(m))) if not (ROOT / f).is_file()
    ]
    if missing:
        return f"there is no {', '.join(missing)}"
    count = (ROOT / m.file).read_text("utf8").count(m.old)
    return "" if count == 1 else f"the old text stands {count} times in {m.file}"


def tests(m):
    """The tests of a mutant as pytest takes them."""
    return [f"tests/{test}" for test in m.tests.split()]


def pytest(root, compiled, names, *options, seconds=SECONDS):
    """(exit code, or None after so many seconds; output) of tests in a copy of the project."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FAST, *options]
    told = {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    told |= {} if compiled else {"NUMBA_DISABLE_JIT": "1"}
    with tempfile.TemporaryFile("w+") as log:
        run = subprocess.Popen([*command, *names], cwd=root, env=os.environ | told, stdout=log,
                               stderr=subprocess.STDOUT, start_new_session=True)  # fmt: skip
        try:
            code = run.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            code = run.wait() and None
        log.seek(0)
        return code, log.read()


def failing(root, mutants):
    """Tests that fail, or are not there, in a copy without any fault: they catch nothing."""
    found = set()
    for compiled in {m.compiled for m in mutants}:
        names = {t for m in mutants if m.compiled == compiled for t in tests(m)}
        _, said = pytest(root, compiled, ["--collect-only", *names])
        gone = {t for t in names if re.search(rf"not found: \S*{re.escape(t)}$", said, re.M)}
        code, said = pytest(root, compiled, sorted(names - gone), seconds=WHOLE)
        failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.M)
        if code not in (0, 1) or bool(failed) != bool(code):
            sys.exit(f"without a fault pytest ends with {code}:\n{said[-2000:]}")
        found |= gone | {t for t in names if any(f.startswith(t) for f in failed)}
    return found


def tried(m, root):
    """(whether a fault is caught, by what) in a copy of the project, which is left as it was."""
    text = (root / m.file).read_text("utf8")
    (root / m.file).write_text(text.replace(m.old, m.new), "utf8")
    try:
        code, said = pytest(root, m.compiled, tests(m), "-x")
    finally:
        (root / m.file).write_text(text, "utf8")
    if code is None:
        return True, f"no end within {SECONDS} s: it hangs"
    if code in (0, 1):
        failed = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", said, re.M)
        return code == 1, " ".join(failed) or "all tests pass"
    return False, f"no test ran, pytest ends with {code}:\n{said[-2000:]}"


def main(arguments=None):
    """Plant the faults and print a line for each; 1 if one survives or a row is wrong, else 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="part of a mutant's name or file")
    parser.add_argument("--jobs", type=int, default=1, help="copies in which faults are planted")
    told = parser.parse_args(arguments)
    chosen = [m for m in MUTANTS if told.only in f"{m.name} {m.file}"]
    sound, copies, alive = [m for m in chosen if not wrong(m)], queue.Queue(), 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(told.jobs) as pool:
        for i in range(told.jobs):
            copies.put(shutil.copytree(ROOT, Path(folder, str(i)), ignore=LEFT_OUT))
        bad = failing(Path(folder, "0"), sound)

        def one(m):
            if why := wrong(m) or ", ".join(f"{t} fails without it" for t in tests(m) if t in bad):
                return False, why, 0.0
            root, begin = copies.get(), time.perf_counter()
            try:
                return *tried(m, root), time.perf_counter() - begin
            finally:
                copies.put(root)

        for m, (caught, by, seconds) in zip(chosen, pool.map(one, chosen), strict=True):
            said = "caught" if caught else "SURVIVES"
            print(f"{said:8} {seconds:5.1f} s  {m.name} ({m.file}): {by}", flush=True)
            alive += not caught
    print(f"{len(chosen) - alive} of {len(chosen)} faults are caught")
    return 1 if alive or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
