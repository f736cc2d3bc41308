"""What is promised and what can be measured of it: guarantees, calibration, audits,
disclosures."""
